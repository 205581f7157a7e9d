package cloud_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// TestConformance runs the suite against the simulator, whose answers the SDK reads.
func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newWorld(t).harness() })
}

// operations are the requests that serve the verbs.
var operations = map[providertest.Verb]string{
	providertest.Find: "LIST virtualMachines", providertest.Create: "PUT virtualMachines", providertest.Delete: "DELETE virtualMachines", providertest.List: "LIST virtualMachines",
	providertest.Power: "POST virtualMachines/*", providertest.Leftovers: "LIST networkInterfaces",
}

// elsewhere is another subscription of the same directory.
const elsewhere = "44444444-4444-4444-4444-444444444444"

func (w *world) harness() providertest.Harness {
	location, secret := `azure:///eastus/[a-z0-9-]+`, 0
	// Calls without an answer are stalled around the provider: the suite stops after 50 ms, and a Create is
	// several requests, of which the last would have to arrive by then. TestNoAnswer stalls the request
	// itself.
	stalls := providertest.NewFaults(clock.RealClock{}, rand.New(rand.NewPCG(1, 1)))
	return providertest.Harness{
		Start: func() provider.Provider { return stalls.Wrap(w.start()) }, Class: class, PageSize: pageSize,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`azure:///subscriptions/[0-9a-f-]+/resourceGroups/[a-z0-9-]+/providers/Microsoft\.Compute/virtualMachines/[a-z0-9-]+`),
			provider.Gardener:  regexp.MustCompile(location),
		},
		Spellings: func(i provider.Instance) []string {
			return []string{
				"azure://" + strings.Replace(strings.ToUpper(i.ID), "/RESOURCEGROUPS/", "/resourceGroups/", 1),
				"AZURE:///eastus/" + strings.ToUpper(i.Name),
				"azure://" + i.ID,
			}
		},
		Changed: func(c provider.Class) provider.Class {
			c.Spec = bytes.ReplaceAll(c.Spec, []byte("Standard_D4s_v3"), []byte("Standard_D8s_v3"))
			return c
		},
		Choices: func(c provider.Class) provider.Class {
			return patched(w.t, c, `{"choices":[{"zone":"1"},{"zone":"2"},{"zone":"1","vmSize":"Standard_D8s_v3"}]}`)
		},
		BadSpecs: badSpecs(),
		Knobs: providertest.Knobs{
			Advance: w.clock.Advance,
			Inject: func(v providertest.Verb, f providertest.Fault) error {
				if f.Stall {
					return stalls.Inject(v, f)
				}
				return w.inject(v, f)
			},
			Lag: func(d time.Duration) error {
				w.cloud.SetLag(d)
				return nil
			},
			Plant: func(c provider.Class, i provider.Instance) error {
				w.cloud.Plant(w.seed(c, i.UID, i.Namespace, i.Name))
				return nil
			},
			Remove: func(_ provider.Class, id string) error { return w.cloud.Do("terminate", id) },
			GiveUp: func(_ provider.Class, id string) error { return w.cloud.Do("fail", id) },
			Strip:  w.strip,
			Leave: func(c provider.Class, ref provider.Ref) error {
				w.cloud.Leave(w.seed(c, ref.UID, ref.Namespace, ref.Name))
				return nil
			},
			Count: func(c provider.Class) (int, int, error) {
				key, value := ownerTag(c)
				instances, dependants := w.cloud.Holds(key, value)
				return instances, dependants, nil
			},
			Rotate: func(c provider.Class) (provider.Class, error) {
				secret++
				c.Credentials = secrets(c.API, fmt.Sprintf("sesame-%d", secret))
				w.cloud.SetSecret(arm.SampleClient, fmt.Sprintf("sesame-%d", secret))
				return c, nil
			},
			Elsewhere: w.elsewhere,
		},
	}
}

// ownerTag is the tag by which the original of the class's API records the cluster.
func ownerTag(c provider.Class) (key, value string) {
	if c.API == provider.OpenShift {
		return "kubernetes.io_cluster." + c.Cluster, "owned"
	}
	return "kubernetes.io-cluster-" + c.Cluster, "1"
}

// seed is a machine of another creator: the original or, with a UID, a user who has restored a machine from
// a backup, with its tags, under another name, since names are unique in a resource group.
func (w *world) seed(c provider.Class, uid, namespace, name string) arm.Seed {
	key, value := ownerTag(c)
	s := arm.Seed{
		Subscription: arm.SampleSubscription, Group: group, Name: name, Location: "eastus", Zone: "1", Size: "Standard_D4s_v3",
		NIC: name + "-nic", Disk: name + "_OSDisk", Tags: map[string]string{key: value, "kubernetes.io-role-node": "1"},
	}
	if c.API == provider.Gardener {
		s.Disk = name + "-os-disk"
	}
	if uid == "" {
		return s
	}
	s.Tags["millwright.dev_machine-uid"], s.Tags["millwright.dev_cluster"] = uid, c.Cluster
	if namespace != "" {
		s.Tags["millwright.dev_machine-namespace"] = namespace
	}
	if c.Owner != "" {
		s.Tags["millwright.dev_owner"] = c.Owner
	}
	restored++
	s.Name = fmt.Sprintf("%s-restored-%d", name, restored)
	s.Disk, s.Cascade = s.Name+"_OSDisk", true
	s.NIC = s.Name + "-nic"
	return s
}

var restored int

func (w *world) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	switch {
	case !ok:
		return providertest.Skip("no request serves " + string(v) + " alone")
	case f.Scope == provider.ScopeZone:
		return providertest.Skip("Azure counts capacity by size: it has no word for a zone that has no room for anything")
	case f.Duplicate:
		return providertest.Skip("there is one machine of a name")
	case f.Partial > 0:
		w.server.Inject(double.Fault{Operation: operation, Times: 1}) // the first page arrives
	}
	w.server.Inject(double.Fault{
		Failure: double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)}, Operation: operation, Times: 1, Done: f.Done, Delay: f.Slow,
	})
	return nil
}

func (w *world) elsewhere(ctx context.Context, c provider.Class) (provider.Session, error) {
	o := arm.Options{Inventory: arm.Sample()}
	o.Inventory.Accounts[0].Subscription = elsewhere
	other := newWorld(w.t, func(to *arm.Options) { *to = o })
	c.Credentials = secrets(c.API, arm.SampleSecret)
	for _, key := range []string{"subscriptionID", "azure_subscription_id"} {
		if _, ok := c.Credentials[key]; ok {
			c.Credentials[key] = []byte(elsewhere)
		}
	}
	return other.start().Open(ctx, c)
}

func badSpecs() []providertest.BadSpec {
	openshift, gardener := provider.OpenShift, provider.Gardener
	return []providertest.BadSpec{
		{Reason: "no size", API: openshift, Field: "vmSize", Spec: `{"location":"eastus","subnet":"s","vnet":"v","image":{"resourceID":"/x"}}`},
		{Reason: "no subnet", API: openshift, Field: "subnet", Spec: `{"location":"eastus","vmSize":"x","vnet":"v","image":{"resourceID":"/x"}}`},
		{Reason: "no image", API: openshift, Field: "image", Spec: `{"location":"eastus","vmSize":"x","vnet":"v","subnet":"s"}`},
		{Reason: "a key that is no base64", API: openshift, Field: "sshPublicKey", Spec: `{"location":"eastus","vmSize":"x","vnet":"v","subnet":"s","image":{"resourceID":"/x"},"sshPublicKey":"ssh-rsa x"}`},
		{Reason: "a tag twice", API: openshift, Field: "tags", Spec: `{"location":"eastus","vmSize":"x","vnet":"v","subnet":"s","image":{"resourceID":"/x"},"tags":{"a":"1","A":"2"}}`},
		{Reason: "a value of the wrong type", API: openshift, Field: "natRule", Spec: `{"natRule":"x"}`},
		{Reason: "no location", API: gardener, Field: "location", Spec: `{"resourceGroup":"x"}`},
		{Reason: "neither zone nor set", API: gardener, Field: "properties.zone", Spec: `{}`},
		{Reason: "a URN of three parts", API: gardener, Field: "properties.storageProfile.imageReference.urn", Spec: `{"properties":{"storageProfile":{"imageReference":{"urn":"a:b:c"}}}}`},
		{Reason: "no tag that says whose it is", API: gardener, Field: "tags", Spec: `{"tags":{"kubernetes.io-cluster-x":"1"}}`},
		{Reason: "a cloud that there is not", API: gardener, Field: "cloudConfiguration.name", Spec: `{"cloudConfiguration":{"name":"AzureGermany"}}`},
	}
}

// strip removes the tag of the namespace, and the tags of the spec.
func (w *world) strip(c provider.Class, id string) error {
	tags := []string{"millwright.dev_machine-namespace"}
	if c.API == provider.Gardener {
		tags = append(tags, "Name")
	}
	for _, tag := range tags {
		if err := w.cloud.Do("untag", id+" "+tag); err != nil {
			return err
		}
	}
	return nil
}
