package kubemark_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

const pageSize = 5

// spec is a valid spec of each API, slow enough that every pending state shows.
var spec = map[string]string{
	provider.OpenShift: `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig",` + slow,
	provider.Gardener:  `{` + slow,
}

const slow = `"createLatency":"3s","bootLatency":"2s","deleteLatency":"4s","zones":["a","b"],"initialize":true}`

func class(api, cluster string) provider.Class {
	return provider.Class{API: api, Cluster: cluster, Spec: []byte(spec[api])}
}

// cloud is one infrastructure under test: what outlives a provider process.
type cloud struct {
	clock *clocktesting.FakeClock
	start func() *kubemark.Provider
}

// inMemory is a cloud that is gone with its provider, which is therefore never
// restarted.
func inMemory(t *testing.T) cloud {
	t.Helper()
	c := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p, err := kubemark.New(kubemark.Config{Clock: c, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	return cloud{clock: c, start: func() *kubemark.Provider { return p }}
}

// inDirectory is a cloud on disk; every start is that of a fresh process.
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
	ctx := context.Background()
	faults := providertest.NewFaults(c.clock, rand.New(rand.NewPCG(1, 1)))
	console := func() kubemark.Console { return c.start().Console() }
	with := func(class provider.Class, id string, do func(provider.Instance) error) error {
		all, err := console().Instances(ctx, class.Cluster)
		for _, i := range all {
			if i.ID == id {
				return do(i)
			}
		}
		return fmt.Errorf("no instance %s: %w", id, err)
	}
	return providertest.Harness{
		Start:      func() provider.Provider { return faults.Wrap(c.start()) },
		Class:      class,
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: format, provider.Gardener: format},
		PageSize:   pageSize,
		Prompt:     time.Second,
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
		Knobs: providertest.Knobs{
			Advance: c.clock.Step,
			Inject:  faults.Inject,
			Lag:     faults.Lag,
			Plant: func(class provider.Class, i provider.Instance) error {
				_, err := console().Plant(ctx, class, i)
				return err
			},
			Remove: func(class provider.Class, id string) error {
				return with(class, id, func(i provider.Instance) error { return console().Remove(ctx, class.Cluster, i) })
			},
			GiveUp: func(class provider.Class, id string) error {
				return with(class, id, func(i provider.Instance) error {
					return console().GiveUp(ctx, class.Cluster, i, provider.Exhausted)
				})
			},
			Rotate: func(class provider.Class) (provider.Class, error) {
				class.Credentials = map[string][]byte{"password": []byte("rotated")}
				return class, console().SetPassword("rotated")
			},
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				other, err := kubemark.New(kubemark.Config{Clock: c.clock})
				if err != nil {
					return nil, err
				}
				return faults.Wrap(other).Open(ctx, class)
			},
			Leave: func(class provider.Class, ref provider.Ref) error { return console().Leave(class, ref) },
			Count: func(class provider.Class) (instances, dependants int, err error) {
				all, err := console().Instances(ctx, class.Cluster)
				if err != nil {
					return 0, 0, err
				}
				dependants, err = console().Dependants(class.Cluster)
				return len(all), dependants, err
			},
		},
	}
}

func TestConformanceInMemory(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return inMemory(t).harness() })
}

// TestConformanceOfZones: zones are choices as well, in an order of each machine's own.
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
