package cloud_test

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const pageSize = 5

// operations are the requests of each verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "DescribeInstances", providertest.List: "DescribeInstances", providertest.Create: "RunInstances",
	providertest.Delete: "TerminateInstances", providertest.Initialize: "ModifyNetworkInterfaceAttribute", providertest.Leftovers: "DescribeHosts",
	providertest.Power: "StopInstances",
}

func (w *world) inject(verb providertest.Verb, f providertest.Fault) error {
	fault := double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operations[verb], Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	}
	switch {
	case f.Duplicate:
		return providertest.Skip("EC2 makes no two instances of one token")
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

// plant creates an instance as this provider does, or as the originals do: with their tags, and none of
// ours.
func (w *world) plant(class provider.Class, i provider.Instance) error {
	value := map[string]string{provider.OpenShift: "owned", provider.Gardener: "1"}[class.API]
	tags := map[string]string{"Name": i.Name, "kubernetes.io/cluster/" + class.Cluster: value, "kubernetes.io/role/node": "1"}
	if i.UID != "" {
		tags["millwright.dev/machine-uid"] = i.UID
		tags["millwright.dev/machine-namespace"] = i.Namespace
		if class.Owner != "" {
			tags["millwright.dev/owner"] = class.Owner
		}
	}
	_, err := w.Plant(map[string]string{
		"ImageId": "ami-0123456789abcdef0", "InstanceType": "m5.large", "NetworkInterface.1.SubnetId": "subnet-0a00000000000000a", "NetworkInterface.1.DeviceIndex": "0",
	}, tags)
	return err
}

func (w *world) count(class provider.Class) (instances, dependants int, err error) {
	key := "kubernetes.io/cluster/" + class.Cluster
	for _, i := range w.Instances() {
		if i.Tags[key] == "" || i.State == "terminated" {
			continue
		}
		instances++
		dependants += len(i.Dependants)
	}
	for _, tags := range w.Hosts() {
		if tags[key] != "" {
			dependants++
		}
	}
	return instances, dependants + len(w.Orphans()), nil
}

func (w *world) harness(t *testing.T) providertest.Harness {
	api := path.Base(t.Name())
	h := providertest.Harness{
		Start: func() provider.Provider { return w.start() },
		Class: classOf,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`^aws:///us-east-1[a-c]/i-[0-9a-f]{17}$`),
			provider.Gardener:  regexp.MustCompile(`^aws:///us-east-1/i-[0-9a-f]{17}$`),
		},
		PageSize: pageSize,
		Prompt:   2 * time.Second,
		BadSpecs: badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{"aws:///" + i.ID, "aws://" + i.Zone + "/" + i.ID, "AWS:///us-east-1/" + strings.ToUpper(i.ID)}
		},
		Changed: func(class provider.Class) provider.Class { return with(class, `"m5.large"`, `"m5.xlarge"`) },
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
				return providertest.Skip("RunInstances makes all or nothing: only specs with a host of their own leave something")
			},
			Count:  w.count,
			Rotate: w.rotate,
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				o := ec2.Options{Inventory: ec2.Sample()}
				o.Inventory.Account = "210987654321"
				other := newWorld(t, o)
				return other.start().Open(ctx, class)
			},
		},
	}
	if api == provider.OpenShift {
		h.Choices = func(class provider.Class) provider.Class {
			class = with(class, `"availabilityZone":"us-east-1a"`, `"tenancy":"default"`)
			return with(class, `"filters":[{"name":"tag:tier"`, `"filters":[{"name":"availability-zone","values":["us-east-1a","us-east-1b"]},{"name":"tag:tier"`)
		}
	}
	return h
}

func (w *world) rotate(class provider.Class) (provider.Class, error) {
	keys := ec2.Credential{AccessKeyID: "AKIAI44QH8DHBEXAMPLE", SecretAccessKey: "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"}
	w.SetCredentials(keys)
	class.Credentials = secretOf(class.API, keys)
	return class, nil
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return newWorld(t, ec2.Options{Inventory: ec2.Sample(), PageSize: pageSize}).harness(t)
	})
}

// onHosts is the class of machine.openshift.io whose instances have dedicated hosts of their own.
func onHosts(api, cluster string) provider.Class {
	return with(classOf(api, cluster), `"availabilityZone":"us-east-1a"`,
		`"availabilityZone":"us-east-1a","tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"allocationStrategy":"Dynamic"}}`)
}

func TestConformanceWithDedicatedHosts(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		w := newWorld(t, ec2.Options{Inventory: ec2.Sample(), PageSize: pageSize})
		h := w.harness(t)
		h.APIs, h.Class, h.Choices = []string{provider.OpenShift}, onHosts, nil
		h.Leave = func(class provider.Class, ref provider.Ref) error {
			tags := map[string]string{
				"kubernetes.io/cluster/" + class.Cluster: "owned", "Name": ref.Name, "millwright.dev/machine-uid": ref.UID, "millwright.dev/machine-namespace": ref.Namespace,
			}
			if class.Owner != "" {
				tags["millwright.dev/owner"] = class.Owner
			}
			w.Allocate("us-east-1a", "m5.large", tags)
			return nil
		}
		return h
	})
}

// badSpecs have one fault each.
var badSpecs = slices.Concat(
	bad(provider.OpenShift, machine,
		row{"an image is found by an ID or by filters", `"ami":{"id":"ami-0123456789abcdef0"}`, `"ami":{}`, "ami"},
		row{"a tenancy is one of three", `"availabilityZone":"us-east-1a"`, `"tenancy":"mine"`, "placement.tenancy"},
		row{"a reservation has the form of one", `"deviceIndex":0`, `"capacityReservationId":"cr-1"`, "capacityReservationId"},
		row{"a capacity block is reserved", `"deviceIndex":0`, `"marketType":"CapacityBlock"`, "marketType"},
		row{"a number is no text", `"deviceIndex":0`, `"deviceIndex":"first"`, "deviceIndex"},
	),
	bad(provider.Gardener, fmt.Sprintf(machineClass, "c1"),
		row{"an image is required", `"ami":"ami-0123456789abcdef0"`, `"ami":""`, "ami"},
		row{"a profile has a name or an ARN", `"iam":{"name":"nodes"}`, `"iam":{"name":"nodes","arn":"arn"}`, "iam"},
		row{"a network interface is in a subnet", `"subnetID":"subnet-0a00000000000000a",`, ``, "networkInterfaces[0].subnetID"},
		row{"a disk has a size", `"volumeSize":50`, `"volumeSize":0`, "blockDevices[0].ebs.volumeSize"},
		row{"a disk is of a type that there is", `"gp3"`, `"gp9"`, "blockDevices[0].ebs.volumeType"},
	),
)

type row struct{ reason, old, text, field string }

func bad(api, spec string, rows ...row) (out []providertest.BadSpec) {
	for _, r := range rows {
		out = append(out, providertest.BadSpec{Reason: r.reason, API: api, Field: r.field, Spec: string(with(provider.Class{Spec: []byte(spec)}, r.old, r.text).Spec)})
	}
	return out
}
