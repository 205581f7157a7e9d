package remote_test

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/provider/remote"
	"github.com/millwright-dev/millwright/providers/kubemark"
	"github.com/millwright-dev/millwright/providers/kubemark/kubemarktest"
)

// The patterns for the provider IDs of the simulators.
var (
	exampleIDs  = []remote.Identity{{Pattern: `(?is)example:/*(.*)`, Name: "$1", FoldCase: true}}
	kubemarkIDs = []remote.Identity{{Pattern: `(?is)kubemark:///*(.*)`, Name: "$1", FoldCase: true}}
)

// world is a reference cloud behind a socket.
type world struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	cloud  *providertest.Cloud
	faults *providertest.Faults
	cuts   *cuts
}

func newWorld(t *testing.T) *world {
	c := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &world{t: t, clock: c, cloud: providertest.NewCloud(c), faults: providertest.NewFaults(c, rand.New(rand.NewPCG(1, 1))), cuts: &cuts{}}
}

// start starts a new process of the provider, and a new controller.
func (w *world) start() provider.Provider {
	path := socket(w.t)
	w.cuts.process = served(w.t, path, remote.Served{Provider: w.cloud.Provider(), Identities: exampleIDs}, w.cuts.options()...)
	return w.faults.Wrap(dial(w.t, "example", path))
}

// harness lets reads lag on this side of the wire: the read lag is transmitted when a session is opened,
// and the suite begins to lag later.
func (w *world) harness() providertest.Harness {
	c := w.cloud
	return providertest.Harness{
		Start: w.start,
		Class: c.Class,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`^example://i-[0-9a-f]+$`), provider.Gardener: regexp.MustCompile(`^example:///i-[0-9a-f]+$`),
		},
		PageSize: c.Page,
		Prompt:   2 * time.Second,
		BadSpecs: []providertest.BadSpec{
			{Reason: "an unknown field", Spec: `{"size":"small","color":"red"}`, Field: "color"},
			{Reason: "a value out of range", Spec: `{"size":"huge"}`, Field: "size"},
		},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), "small", "large", 1))
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Spec = []byte(`{"size":"small","zone":"a","zones":["b"]}`)
			return class
		},
		Spellings: func(i provider.Instance) []string { return []string{"example:" + strings.ToUpper(i.ID)} },
		Knobs: providertest.Knobs{
			Advance: w.clock.Step,
			Inject:  c.Inject, Lag: w.faults.Lag, Plant: c.Plant, Remove: c.Remove, GiveUp: c.GiveUp,
			Strip: providertest.Strip(c), Leave: c.Leave, Count: c.Count, Rotate: c.Rotate,
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				return newWorld(w.t).start().Open(ctx, class)
			},
		},
	}
}

// TestConformance: the provider meets the contract over the wire, every optional interface included.
func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newWorld(t).harness() })
}

// TestConformanceOverCutConnections: the connection fails in place of the infrastructure: calls that never
// arrive, and replies that are lost.
func TestConformanceOverCutConnections(t *testing.T) {
	var all []*cuts
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		w := newWorld(t)
		all = append(all, w.cuts)
		h := w.harness()
		h.Inject = func(v providertest.Verb, f providertest.Fault) error {
			if w.cuts.arm(v, f) {
				return nil
			}
			return w.cloud.Inject(v, f)
		}
		return h
	})
	fired := 0
	for _, c := range all {
		fired += c.fired
	}
	if fired == 0 {
		t.Error("no connection was cut")
	}
}

// TestConformanceOfKubemark tests the example of the documentation.
func TestConformanceOfKubemark(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return kubemarkHarness(t) })
}

const slow = `"createLatency":"3s","bootLatency":"2s","deleteLatency":"4s","zones":["a","b"],"initialize":true}`

var kubemarkSpecs = map[string]string{
	provider.OpenShift: `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig",` + slow,
	provider.Gardener:  `{` + slow,
}

func kubemarkHarness(t *testing.T) providertest.Harness {
	c := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	dir := t.TempDir()
	open := func(dir string) *kubemark.Provider {
		p, err := kubemark.New(kubemark.Config{Clock: c, Dir: dir, PageSize: 5})
		if err != nil {
			panic(err) // the suite starts providers on goroutines of its own
		}
		return p
	}
	faults := providertest.NewFaults(c, rand.New(rand.NewPCG(1, 1)))
	start := func(dir string) provider.Provider {
		path := socket(t)
		served(t, path, remote.Served{Provider: open(dir), Identities: kubemarkIDs})
		return faults.Wrap(dial(t, "kubemark", path))
	}
	format := regexp.MustCompile(`^kubemark://[a-z0-9.-]+$`)
	return providertest.Harness{
		Start: func() provider.Provider { return start(dir) },
		Class: func(api, cluster string) provider.Class {
			return provider.Class{API: api, Cluster: cluster, Spec: []byte(kubemarkSpecs[api])}
		},
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: format, provider.Gardener: format},
		PageSize:   5,
		Prompt:     2 * time.Second,
		Spellings:  func(i provider.Instance) []string { return []string{"Kubemark:///" + strings.ToUpper(i.NodeName)} },
		BadSpecs:   []providertest.BadSpec{{Reason: "an unknown field", API: provider.Gardener, Spec: `{"colour":"red"}`, Field: "colour"}},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), `["a","b"]`, `["c"]`, 1))
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), `"zones":["a","b"]`, `"instanceType":"big","zones":["a","b"]`, 1))
			return class
		},
		Knobs: kubemarktest.Knobs(c, faults, func() kubemark.Console { return open(dir).Console() }, func() (provider.Provider, error) {
			return start(t.TempDir()), nil
		}),
	}
}
