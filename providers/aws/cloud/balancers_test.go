package cloud_test

import (
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

func TestLoadBalancersAreKeptUpToDate(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"c1-ext","type":"network"},{"name":"c1-int","type":"network"},{"name":"c1-classic","type":"classic"}]}`)
	s := w.open(t, class)
	ref := refOf("master-0")
	i := w.running(t, s, ref)
	if !i.Uninitialized {
		t.Fatal("no load balancer knows it, and it is initialized")
	}
	knows := func(want int) {
		t.Helper()
		for _, group := range []string{"c1-aext", "c1-aint", "c1-sint", "c1-classic"} {
			if got := w.Targets(group); len(got) != want {
				t.Errorf("%s knows %v, want %d", group, got, want)
			}
		}
	}
	initialize(t, s, ref, i)
	knows(1)
	if i = w.found(t, s, ref); i.Uninitialized {
		t.Error("it is registered, and not initialized")
	}
	if err := w.Do("deregister", i.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Minute)
	if i = w.found(t, s, ref); !i.Uninitialized {
		t.Error("that somebody has taken it out of load balancers is not seen")
	}
	initialize(t, s, ref, i)
	knows(1)
	w.deleted(t, s, ref, i)
	knows(0)
}

func TestEndedOutsideLeavesNoAddressInLoadBalancers(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"c1-ext","type":"network"}]}`)
	s := w.open(t, class)
	ref := refOf("master-0")
	i := w.running(t, s, ref)
	initialize(t, s, ref, i)
	w.Vanish(i.ID)
	if got := w.Targets("c1-aext"); len(got) != 1 {
		t.Fatalf("groups of addresses do not notice that: %v", got)
	}
	// The address is another machine's by now: it stays.
	other := w.running(t, s, refOf("master-1"))
	if other.Addresses[0] != i.Addresses[0] {
		t.Fatalf("the address was not given again: %v, %v", other.Addresses, i.Addresses)
	}
	w.deleted(t, s, ref, i)
	if got := w.Targets("c1-aext"); len(got) != 1 {
		t.Errorf("the address of a living machine was taken out: %v", got)
	}
	w.Vanish(other.ID)
	w.clock.Advance(2 * time.Minute)
	w.deleted(t, s, refOf("master-1"), other)
	if got := w.Targets("c1-aext"); len(got) != 0 {
		t.Errorf("an address is left: %v", got)
	}
}

func TestTagsAreRepaired(t *testing.T) {
	w := sample(t)
	infrastructure := w.objects["Infrastructure/cluster"].(*configv1.Infrastructure)
	infrastructure.Status.PlatformStatus.AWS.ResourceTags = []configv1.AWSResourceTag{{Key: "cost", Value: "7"}, {Key: "team", Value: "red"}}
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"tags":[{"name":"team","value":"blue"},{"name":"team","value":"green"},{"name":"Name","value":"mine"},{"name":"kubernetes.io/cluster/other","value":"owned"},{"name":"millwright.dev/machine-uid","value":"x"}]}`)
	s := w.open(t, class)
	ref := refOf("m")
	i := w.running(t, s, ref)
	for key, value := range map[string]string{"cost": "7", "team": "blue", "Name": "m", "kubernetes.io/cluster/c1": "owned", "kubernetes.io/cluster/other": "", "millwright.dev/machine-uid": ref.UID} {
		if i.Tags[key] != value {
			t.Errorf("tag %s is %q, want %q", key, i.Tags[key], value)
		}
	}
	if i.Uninitialized {
		t.Error("there is something to do to an instance that has all tags")
	}
	infrastructure.Status.PlatformStatus.AWS.ResourceTags[0].Value = "8"
	s = w.open(t, class)
	if i = w.found(t, s, ref); !i.Uninitialized {
		t.Fatal("a tag that has changed is not seen")
	}
	initialize(t, s, ref, i)
	if i = w.found(t, s, ref); i.Uninitialized || i.Tags["cost"] != "8" || i.Tags["team"] != "blue" {
		t.Errorf("repaired: %v", i.Tags)
	}
}

func TestTagsThatMayNotBeWrittenHoldUpNothing(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	ref := refOf("m")
	w.running(t, s, ref)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"tags":[{"name":"team","value":"blue"}]}`)
	s = w.open(t, class)
	keys := ec2.Sample().Credentials[0]
	keys.Deny = []string{"CreateTags"}
	w.SetCredentials(keys)
	i := w.found(t, s, ref)
	initialize(t, s, ref, i)
	if w.found(t, s, ref).Uninitialized {
		t.Error("what may not be done is asked for in each pass")
	}
}
