package cloud_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ecs"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const pageSize = 5

// operations are the requests of each verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "DescribeInstances", providertest.List: "DescribeInstances", providertest.Create: "RunInstances", providertest.Delete: "DeleteInstance",
	providertest.Maintain: "TagResources", providertest.Power: "StopInstance",
}

func (w *world) inject(verb providertest.Verb, f providertest.Fault) error {
	fault := double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operations[verb], Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	}
	switch {
	case f.Duplicate:
		return providertest.Skip("ECS creates no two instances of one token")
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

// plant creates an instance as this provider does, or as the originals do: with their tags, and none of ours.
func (w *world) plant(class provider.Class, i provider.Instance) error {
	tags := map[string]string{"kubernetes.io/cluster/" + class.Cluster: "1", "kubernetes.io/role/worker": "1"}
	if class.API == provider.OpenShift {
		tags = map[string]string{"Name": i.Name, "kubernetes.io/cluster/" + class.Cluster: "owned", "GISV": "ocp"}
	}
	if i.UID != "" {
		tags["millwright.dev/machine-uid"] = i.UID
		tags["millwright.dev/machine-namespace"] = i.Namespace
		if class.Owner != "" {
			tags["millwright.dev/owner"] = class.Owner
		}
	}
	parameters := map[string]string{
		"ImageId": "m-bp1example00000000001", "InstanceType": "ecs.g7.large", "VSwitchId": "vsw-bp1example0000000000h", "SecurityGroupId": "sg-bp1example00000000001",
		"InstanceName": i.Name,
	}
	if len(i.Name) < 2 { // ECS has no such names
		delete(parameters, "InstanceName")
		tags["millwright.dev/machine-name"] = i.Name
	}
	_, err := w.Plant(parameters, tags)
	return err
}

func (w *world) count(class provider.Class) (instances, dependants int, err error) {
	key := "kubernetes.io/cluster/" + class.Cluster
	for _, i := range w.Instances() {
		if i.Tags[key] == "" {
			continue
		}
		instances++
		dependants += len(i.Dependants)
	}
	return instances, dependants + len(w.Orphans()), nil
}

func (w *world) harness(t *testing.T) providertest.Harness {
	return providertest.Harness{
		Start: func() provider.Provider { return w.start() },
		Class: classOf,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`^alicloud://cn-hangzhou\.i-[0-9a-z]{20}$`),
			provider.Gardener:  regexp.MustCompile(`^cn-hangzhou\.i-[0-9a-z]{20}$`),
		},
		PageSize: pageSize,
		Prompt:   2 * time.Second,
		BadSpecs: badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{"AliCloud://CN-Hangzhou." + strings.ToUpper(i.ID)}
		},
		Changed: func(class provider.Class) provider.Class { return with(class, `"ecs.g7.large"`, `"ecs.g7.xlarge"`) },
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
			Strip: func(_ provider.Class, id string) error { return w.Do("untag", id+"=millwright.dev/machine-namespace") },
			GiveUp: func(provider.Class, string) error {
				return providertest.Skip("ECS checks its stock before it answers RunInstances, and shows no instance that it has failed")
			},
			Leave: func(provider.Class, provider.Ref) error {
				return providertest.Skip("RunInstances creates all or nothing")
			},
			Count:  w.count,
			Rotate: w.rotate,
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				o := ecs.Options{Inventory: ecs.Sample()}
				o.Inventory.Account = "6543210987654321"
				return newWorld(t, o).start().Open(ctx, class)
			},
		},
	}
}

func (w *world) rotate(class provider.Class) (provider.Class, error) {
	keys := ecs.Credential{AccessKeyID: "LTAI5tExampleKeyAfterRotate", AccessKeySecret: "ExampleSecretOfMachines0000002"}
	w.SetCredentials(keys)
	class.Credentials = secretOf(class.API, keys)
	return class, nil
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return newWorld(t, ecs.Options{Inventory: ecs.Sample(), PageSize: pageSize}).harness(t)
	})
}

// badSpecs have one fault each.
var badSpecs = slices.Concat(
	bad(provider.OpenShift, machine,
		row{"an image is required", `"m-bp1example00000000001"`, `""`, "imageId"},
		row{"a region is required", `"regionId":"cn-hangzhou"`, `"regionId":""`, "regionId"},
		row{"a tenancy is one of two", `"zoneId"`, `"tenancy":"mine","zoneId"`, "tenancy"},
		row{"a vSwitch has a reference", `"vSwitch":{"type":"Tags"`, `"vSwitch":{"type":"Name"`, "vSwitch.type"},
		row{"a security group by ID has an ID", `{"type":"Tags","tags":[{"Key":"Name","Value":"c1-worker"}]}`, `{"type":"ID"}`, "securityGroups[0].id"},
		row{"a number is no text", `"size":120`, `"size":"large"`, "systemDisk.size"},
	),
	bad(provider.Gardener, fmt.Sprintf(machineClass, "c1"),
		row{"an image is required", `"m-bp1example00000000001"`, `""`, "imageID"},
		row{"a vSwitch is required", `"vSwitchID":"vsw-bp1example0000000000h",`, ``, "vSwitchID"},
		row{"a spot strategy is one of three", `"NoSpot"`, `"Cheap"`, "spotStrategy"},
		row{"a disk has a size", `"size":20`, `"size":-1`, "dataDisks[0].size"},
	),
)

type row struct{ reason, old, text, field string }

func bad(api, spec string, rows ...row) (out []providertest.BadSpec) {
	for _, r := range rows {
		out = append(out, providertest.BadSpec{Reason: r.reason, API: api, Field: r.field, Spec: string(with(provider.Class{Spec: []byte(spec)}, r.old, r.text).Spec)})
	}
	return out
}
