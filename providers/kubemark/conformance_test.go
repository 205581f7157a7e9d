package kubemark_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/kubemark"
	"github.com/millwright-dev/millwright/providers/kubemark/kubemarktest"
)

const pageSize = 5

// spec is a valid spec of each API, slow enough to show every pending state.
var spec = map[string]string{
	provider.OpenShift: `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig",` + slow,
	provider.Gardener:  `{` + slow,
}

const slow = `"createLatency":"3s","bootLatency":"2s","deleteLatency":"4s","zones":["a","b"],"initialize":true}`

func class(api, cluster string) provider.Class {
	return provider.Class{API: api, Cluster: cluster, Spec: []byte(spec[api])}
}

// cloud is one infrastructure under test, which outlives a provider process.
type cloud struct {
	clock *clocktesting.FakeClock
	start func() *kubemark.Provider
}

// inMemory is a cloud that ends with its provider, which is therefore never restarted.
func inMemory(t *testing.T) cloud {
	t.Helper()
	c := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p, err := kubemark.New(kubemark.Config{Clock: c, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	return cloud{clock: c, start: func() *kubemark.Provider { return p }}
}

// inDirectory is a cloud on disk; every start is that of a new process.
func inDirectory(t *testing.T) cloud {
	t.Helper()
	c := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	dir := t.TempDir()
	return cloud{clock: c, start: func() *kubemark.Provider {
		p, err := kubemark.New(kubemark.Config{Clock: c, Dir: dir, PageSize: pageSize})
		if err != nil {
			panic(err) // the suite starts providers on goroutines of its own
		}
		return p
	}}
}

func (c cloud) harness() providertest.Harness {
	format := regexp.MustCompile(`^kubemark://[a-z0-9.-]+$`)
	faults := providertest.NewFaults(c.clock, rand.New(rand.NewPCG(1, 1)))
	console := func() kubemark.Console { return c.start().Console() }
	return providertest.Harness{
		Start:      func() provider.Provider { return faults.Wrap(c.start()) },
		Class:      class,
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: format, provider.Gardener: format},
		PageSize:   pageSize,
		BadSpecs:   badSpecs(),
		Spellings: func(i provider.Instance) []string {
			return []string{"kubemark:///" + i.NodeName, "Kubemark://" + strings.ToUpper(i.NodeName)}
		},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), `["a","b"]`, `["c"]`, 1))
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), `"zones":["a","b"]`, `"choices":[{"zone":"a","instanceType":"big"},{"zone":"b","instanceType":"small"}]`, 1))
			return class
		},
		Knobs: kubemarktest.Knobs(c.clock, faults, console, func() (provider.Provider, error) {
			other, err := kubemark.New(kubemark.Config{Clock: c.clock})
			return faults.Wrap(other), err
		}),
	}
}

func TestConformanceInMemory(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return inMemory(t).harness() })
}

// TestConformanceOfZones: zones are choices too, in an individual order for each machine.
func TestConformanceOfZones(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		h := inMemory(t).harness()
		h.Choices = func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), `"zones":["a","b"]`, `"instanceType":"big","zones":["a","b"]`, 1))
			return class
		}
		return h
	})
}

func TestConformanceInDirectory(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return inDirectory(t).harness() })
}
