package cloud_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const pageSize = 5

// operations are the requests of each verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "POST vms/list", providertest.List: "POST vms/list", providertest.Create: "POST vms", providertest.Delete: `DELETE vms/\*`,
	providertest.Maintain: `PUT vms/\*`, providertest.Power: `PUT vms/\*`,
}

func (w *world) inject(verb providertest.Verb, f providertest.Fault) error {
	fault := double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operations[verb], Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	}
	switch {
	case f.Duplicate:
		return providertest.Skip("Prism Central creates no two virtual machines of one UUID")
	case verb == providertest.Open:
		return providertest.Skip("opening calls nothing")
	case f.Partial > 0:
		fault.Operation += "+"       // the page after the first
		w.clock.Advance(time.Minute) // a listing has no virtual machine that is being created
	}
	if f.Stall { // callers stop after 50 ms. On a busy machine they have not reached that call by then, and the next one is only slow
		fault.Stall, fault.Done, fault.Delay = false, false, 2*time.Second
	}
	w.server.Inject(fault)
	return nil
}

func (w *world) count(class provider.Class) (instances, dependants int, err error) {
	for _, i := range w.Instances() {
		if i.Tags["millwright.dev/cluster"] != class.Cluster && i.Tags["kubernetes-io-cluster-"+class.Cluster] != "owned" {
			continue
		}
		instances++
		dependants += len(i.Dependants)
	}
	return instances, dependants, nil
}

// inventory is the sample with a category for each cluster.
func inventory() prism.Inventory {
	v := prism.Sample()
	v.Categories["kubernetes-io-cluster-*"] = []string{"owned"}
	return v
}

func (w *world) harness(t *testing.T) providertest.Harness {
	return providertest.Harness{
		Start:      func() provider.Provider { return w.start() },
		Class:      classOf,
		APIs:       []string{provider.OpenShift},
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: regexp.MustCompile(`^nutanix://[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)},
		PageSize:   pageSize,
		Prompt:     2 * time.Second,
		BadSpecs:   badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{"Nutanix://" + strings.ToUpper(i.ID), "nutanix:///" + i.ID}
		},
		Changed: func(class provider.Class) provider.Class { return with(class, `"16Gi"`, `"32Gi"`) },
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
			Strip:  func(_ provider.Class, id string) error { return w.Do("untag", id+"=millwright.dev/machine-namespace") },
			GiveUp: func(_ provider.Class, id string) error { return w.Do("fail", id) },
			Leave: func(provider.Class, provider.Ref) error {
				return providertest.Skip("Prism Central creates disks and network interfaces with their virtual machine")
			},
			Count:  w.count,
			Rotate: w.rotate,
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				o := prism.Options{Inventory: inventory()}
				o.Inventory.Account = "0005f1a0-0000-4000-8000-00000000000f"
				return newWorld(t, o).start().Open(ctx, class)
			},
		},
	}
}

func (w *world) rotate(class provider.Class) (provider.Class, error) {
	user := prism.Credential{Username: "machines", Password: "another-example-password"}
	w.SetCredentials(user)
	class.Credentials = secretOf(user)
	return class, nil
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return newWorld(t, prism.Options{Inventory: inventory(), PageSize: pageSize}).harness(t)
	})
}

// badSpecs have one fault each.
var badSpecs = bad(
	row{"an image is required", `"image":{"type":"name","name":"c1-rhcos"}`, `"image":{"type":"name"}`, "image.name"},
	row{"a cluster is required", `"cluster":{"type":"name","name":"cluster-a"},`, ``, "cluster.type"},
	row{"a subnet is required", `[{"type":"name","name":"machines-a"}]`, `[]`, "subnets"},
	row{"a virtual machine has a socket", `"vcpuSockets":4`, `"vcpuSockets":0`, "vcpuSockets"},
	row{"the least memory is 2Gi", `"16Gi"`, `"1Gi"`, "memorySize"},
	row{"a quantity is a number", `"120Gi"`, `"large"`, "systemDiskSize"},
	row{"a category has a value", `"value":"Web"`, `"value":""`, "categories[0].value"},
)

type row struct{ reason, old, text, field string }

func bad(rows ...row) (out []providertest.BadSpec) {
	for _, r := range rows {
		out = append(out, providertest.BadSpec{
			Reason: r.reason, API: provider.OpenShift, Field: r.field, Spec: string(with(provider.Class{Spec: []byte(machine)}, r.old, r.text).Spec),
		})
	}
	return out
}
