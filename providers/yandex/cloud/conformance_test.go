package cloud_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const (
	pageSize = 5
	second   = time.Second
	minute   = time.Minute
)

// operations are the requests of each verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "Instance.[GL]*t", providertest.List: "Instance.List", providertest.Create: "Instance.Create", providertest.Delete: "Instance.Delete",
	providertest.Maintain: "Instance.Update", providertest.Power: "Instance.Stop",
}

func (w *world) inject(verb providertest.Verb, f providertest.Fault) error {
	fault := double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operations[verb], Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	}
	switch {
	case f.Duplicate:
		return providertest.Skip("a folder has no two instances of one name")
	case f.Scope == provider.ScopeZone:
		return providertest.Skip("no answer of Compute Cloud is known that concerns a whole zone")
	case verb == providertest.Open:
		return providertest.Skip("opening calls nothing")
	case f.Partial > 0:
		fault.Operation += "+" // the page after the first
	}
	if f.Stall { // callers stop after 50 ms. On a busy machine they have not reached that call by then, and the next one is only slow
		fault.Stall, fault.Done, fault.Delay = false, false, 2*time.Second
	}
	w.server.Inject(fault)
	return nil
}

func (w *world) count(class provider.Class) (instances, dependants int, err error) {
	for _, i := range w.Instances() {
		if i.Tags["kubernetes-io-cluster-"+class.Cluster] == "" {
			continue
		}
		instances++
		dependants += len(i.Dependants)
	}
	return instances, dependants + len(w.Orphans()), nil
}

func (w *world) harness(t *testing.T) providertest.Harness {
	return providertest.Harness{
		Start:      func() provider.Provider { return w.start() },
		Class:      func(_, cluster string) provider.Class { return w.class(cluster) },
		APIs:       []string{provider.Gardener},
		ProviderID: map[string]*regexp.Regexp{provider.Gardener: regexp.MustCompile(`^yandex://ru-central1-a/fhm[0-9a-z]{17}$`)},
		PageSize:   pageSize,
		Prompt:     2 * time.Second,
		BadSpecs:   w.badSpecs(),
		Spellings: func(i provider.Instance) []string {
			return []string{"yandex://" + i.ID, "Yandex://RU-Central1-B/" + strings.ToUpper(i.ID)}
		},
		Changed: func(class provider.Class) provider.Class { return with(class, `"cores":2`, `"cores":4`) },
		Knobs: providertest.Knobs{
			Advance: w.clock.Advance,
			Inject:  w.inject,
			Lag: func(d time.Duration) error {
				w.SetLag(d)
				return nil
			},
			Plant: w.plant,
			Remove: func(_ provider.Class, id string) error {
				if !w.Vanish(id) {
					return fmt.Errorf("there is no %s", id)
				}
				return nil
			},
			Strip: func(_ provider.Class, id string) error {
				return w.Do("unlabel", id+"=millwright.dev/machine-namespace")
			},
			GiveUp: func(provider.Class, string) error {
				return providertest.Skip("Compute Cloud shows no instance that it has failed: a new process learns of it from the operation (TestLateShortage)")
			},
			Leave: func(provider.Class, provider.Ref) error {
				return providertest.Skip("one request creates all or nothing")
			},
			Count: w.count,
			Rotate: func(class provider.Class) (provider.Class, error) {
				w.RevokeKeys(yandex.SampleAccount)
				w.issue(t)
				return w.class(class.Cluster), nil
			},
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				other := newWorld(t, func(o *yandex.Options) {
					o.Inventory.Folders, o.Inventory.ServiceAccounts[0].Folder = []string{"b1gelsewhere00000001"}, "b1gelsewhere00000001"
				})
				class.Credentials = map[string][]byte{"serviceAccountJSON": other.key, "folderID": []byte("b1gelsewhere00000001")}
				return other.start().Open(ctx, class)
			},
		},
	}
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return newWorld(t, func(o *yandex.Options) { o.PageSize = pageSize }).harness(t)
	})
}

// badSpecs have one fault each.
func (w *world) badSpecs() (out []providertest.BadSpec) {
	for _, r := range []struct{ reason, old, text, field string }{
		{"an image is required", `"fd8example0000000001"`, `""`, "bootDiskSpec.imageID"},
		{"a zone is required", `"zoneID":"ru-central1-a",`, ``, "zoneID"},
		{"a platform is required", `"standard-v3"`, `""`, "platformID"},
		{"an instance has vCPUs", `"cores":2`, `"cores":0`, "resourcesSpec.cores"},
		{"an interface has a subnet", `"e9bexample0000000001"`, `""`, "networkInterfaceSpecs[0].subnetID"},
		{"a number is no text", `"cores":2`, `"cores":"two"`, "resourcesSpec.cores"},
		{"a key of a label has small letters", `"kubernetes-io-role-worker"`, `"Role"`, "labels[Role]"},
	} {
		out = append(out, providertest.BadSpec{Reason: r.reason, API: provider.Gardener, Field: r.field, Spec: string(with(w.class("c1"), r.old, r.text).Spec)})
	}
	return out
}
