package cloud_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ibmcloud"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const (
	pageSize = 5
	minute   = time.Minute
)

// operations are the requests of each verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "list_instances", providertest.List: "list_instances", providertest.Create: "create_instance", providertest.Delete: "delete_instance",
	providertest.Maintain: "update_instance_volume_attachment", providertest.Power: "create_instance_action",
}

func (w *world) inject(verb providertest.Verb, f providertest.Fault) error {
	fault := double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operations[verb], Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	}
	switch {
	case f.Duplicate:
		return providertest.Skip("a region has no two volumes of one name")
	case f.Scope == provider.ScopeZone:
		return providertest.Skip("no answer of VPC is known that concerns a whole zone")
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
		if i.Tags["vpc"] == class.Cluster+"-vpc" {
			instances++
			dependants += len(i.Dependants)
		}
	}
	return instances, dependants + len(w.Orphans()), nil
}

func (w *world) harness() providertest.Harness {
	return providertest.Harness{
		Start:      func() provider.Provider { return w.start() },
		Class:      func(_, cluster string) provider.Class { return w.class(cluster) },
		APIs:       []string{provider.OpenShift},
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: regexp.MustCompile(`^ibm://[0-9a-f]{32}///[a-z0-9-]+/0717_[0-9a-f-]{36}$`)},
		PageSize:   pageSize,
		Prompt:     2 * time.Second,
		BadSpecs:   badSpecs,
		Spellings:  func(i provider.Instance) []string { return []string{strings.ToUpper(i.ProviderID)} },
		Changed:    func(class provider.Class) provider.Class { return with(class, `"bx2-4x16"`, `"bx2-8x32"`) },
		Knobs: providertest.Knobs{
			Advance: w.clock.Advance,
			Inject:  w.inject,
			Lag: func(time.Duration) error {
				return providertest.Skip("a refused name does not name the instance that has it, so a repeated creation ends in a Conflict until listings show the instance (TestLagOfListings)")
			},
			Plant: w.plant,
			Remove: func(_ provider.Class, id string) error {
				if !w.Vanish(id) {
					return fmt.Errorf("there is no %s", id)
				}
				return nil
			},
			Strip:  func(_ provider.Class, id string) error { return w.Do("unmark", id) },
			GiveUp: func(_ provider.Class, id string) error { return w.Do("fail", id) },
			Leave: func(provider.Class, provider.Ref) error {
				return providertest.Skip("one request creates all or nothing")
			},
			Count: w.count,
			Rotate: func(class provider.Class) (provider.Class, error) {
				w.SetCredentials(ibmcloud.Credential{APIKey: "AnotherKey"})
				class.Credentials = map[string][]byte{"ibmcloud_api_key": []byte("AnotherKey")}
				return class, nil
			},
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				w.Add(ibmcloud.Credential{APIKey: "KeyElsewhere", Account: "6a5b4c3d2e1f4a6b8c7d9e0f1a2b3c4e"})
				class.Credentials = map[string][]byte{"ibmcloud_api_key": []byte("KeyElsewhere")}
				return w.start().Open(ctx, class)
			},
		},
	}
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return newWorld(t, func(o *ibmcloud.Options) { o.PageSize = pageSize }).harness()
	})
}

// badSpecs have one fault each.
var badSpecs = []providertest.BadSpec{
	bad("an image is required", `"c1-rhcos"`, `""`, "image"),
	bad("a region is required", `"region":"us-south"`, `"region":""`, "region"),
	bad("a VPC is required", `"vpc":"c1-vpc"`, `"vpc":""`, "vpc"),
	bad("a subnet is required", `"subnet":"c1-subnet-compute-us-south-1"`, `"subnet":""`, "primaryNetworkInterface.subnet"),
	bad("a volume has a size", `"sizeGiB":120`, `"sizeGiB":-1`, "bootVolume.sizeGiB"),
	bad("a number is no text", `"sizeGiB":120`, `"sizeGiB":"large"`, "bootVolume.sizeGiB"),
	bad("a key has a CRN", `"sizeGiB":120`, `"encryptionKey":"mine"`, "bootVolume.encryptionKey"),
}

func bad(reason, old, text, field string) providertest.BadSpec {
	spec := with(provider.Class{Spec: fmt.Appendf(nil, machine, "c1-vpc")}, old, text).Spec
	return providertest.BadSpec{Reason: reason, API: provider.OpenShift, Field: field, Spec: string(spec)}
}
