package cloud_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	knows := func(want int) {
		t.Helper()
		for _, group := range []string{"c1-aext", "c1-aint", "c1-sint", "c1-classic"} {
			if got := w.Targets(group); len(got) != want {
				t.Errorf("%s knows %v, want %d", group, got, want)
			}
		}
	}
	keep := func() {
		t.Helper()
		if err := maintain(t, s, ref, w.found(t, s, ref)); err != nil {
			t.Error(err)
		}
	}
	keep()
	knows(1)
	if err := w.Do("deregister", i.ID); err != nil {
		t.Fatal(err)
	}
	knows(0)
	w.clock.Advance(10 * time.Minute)
	if i = w.found(t, s, ref); i.Uninitialized {
		t.Error("a running machine that load balancers have lost is thrown back to its beginning")
	}
	keep()
	knows(1)
	before := w.server.Counts()
	w.clock.Advance(10 * time.Minute)
	keep()
	after := w.server.Counts()
	if after["elbv2.RegisterTargets"] != before["elbv2.RegisterTargets"] || after["elb.RegisterInstancesWithLoadBalancer"] != before["elb.RegisterInstancesWithLoadBalancer"] {
		t.Errorf("what is known is registered again: %v, then %v", before, after)
	}
	w.deleted(t, s, ref, i)
	knows(0)
}

func TestLoadBalancersThatFailAreTold(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"gone","type":"network"},{"name":"c1-int","type":"network"}]}`)
	s, ref := w.open(t, class), refOf("master-0")
	i := w.running(t, s, ref)
	if err := maintain(t, s, ref, i); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a load balancer that is not there: %v", err)
	}
	if got := w.Targets("c1-aint"); len(got) != 1 {
		t.Errorf("it holds up another one, which knows %v", got)
	}
	if err := w.Do("stop", i.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	if err := maintain(t, s, ref, i); provider.KindOf(err) != provider.Conflict {
		t.Errorf("an instance that has been stopped meanwhile: %v", err)
	}
}

// An instance that ended outside is not passed to Delete, and EC2 no longer reports its address.
func TestEndedOutsideLeavesNoAddressInLoadBalancers(t *testing.T) {
	inventory := ec2.Sample()
	inventory.Networks = append(inventory.Networks, ec2.Network{ID: "vpc-0fedcba9876543210", CIDR: "10.0.0.0/16"})
	inventory.Subnets = append(inventory.Subnets, ec2.Subnet{ID: "subnet-0d00000000000000d", Network: "vpc-0fedcba9876543210", Zone: "us-east-1a", CIDR: "10.0.0.0/20"})
	w := newWorld(t, ec2.Options{Inventory: inventory})
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"c1-ext","type":"network"}]}`)
	s := w.open(t, class)
	ref := refOf("master-0")
	i := w.running(t, s, ref)
	if err := maintain(t, s, ref, i); err != nil {
		t.Fatal(err)
	}
	w.Vanish(i.ID)
	if got := w.Targets("c1-aext"); len(got) != 1 {
		t.Fatalf("groups of addresses do not notice that: %v", got)
	}
	// The address is another machine's by now: it stays.
	other := w.running(t, s, refOf("master-1"))
	if other.Addresses[0] != i.Addresses[0] {
		t.Fatalf("the address was not given again: %v, %v", other.Addresses, i.Addresses)
	}
	w.deleted(t, s, ref)
	if got := w.Targets("c1-aext"); len(got) != 1 {
		t.Errorf("the address of a living machine was taken out: %v", got)
	}
	w.Vanish(other.ID)
	w.clock.Advance(2 * time.Minute)
	// An instance of another network has the same address: the group does not concern it.
	stranger, err := w.Plant(map[string]string{"ImageId": "ami-0123456789abcdef0", "InstanceType": "m5.large", "NetworkInterface.1.SubnetId": "subnet-0d00000000000000d"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.deleted(t, s, refOf("master-1"))
	if got := w.Targets("c1-aext"); len(got) != 0 {
		t.Errorf("an address is left: %v, as that of %s", got, stranger)
	}
}

// The address of a machine that was never read since its registration is stored as well.
func TestAnAddressIsRememberedFromItsRegistration(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"c1-ext","type":"network"}]}`)
	ref := refOf("master-0")
	i := w.running(t, w.open(t, class), ref)
	s := w.open(t, class) // of another process
	if err := maintain(t, s, ref, i); err != nil {
		t.Fatal(err)
	}
	w.Vanish(i.ID)
	w.clock.Advance(2 * time.Minute)
	w.deleted(t, s, ref)
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
	if unkept(s, ref, i) {
		t.Error("there is something to do to an instance that has all tags")
	}
	infrastructure.Status.PlatformStatus.AWS.ResourceTags[0].Value = "8"
	s = w.open(t, class)
	if err := maintain(t, s, ref, w.found(t, s, ref)); err != nil {
		t.Fatal(err)
	}
	if i = w.found(t, s, ref); unkept(s, ref, i) || i.Uninitialized || i.Tags["cost"] != "8" || i.Tags["team"] != "blue" {
		t.Errorf("repaired: %v", i.Tags)
	}
}

// Missing tags that identify an instance are written, also on one of another implementation. The tags of
// another owner stay.
func TestTagsOfIdentityAreMended(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := sample(t)
		class := classOf(api, "c1")
		class.Owner = "0b6c1a4e-0000-4000-8000-0000000000ff"
		s, ref := w.open(t, class), refOf("m")
		if err := w.plant(class, provider.Instance{Name: ref.Name}); err != nil {
			t.Fatal(err)
		}
		i := w.found(t, s, ref)
		if i.UID != "" {
			t.Fatalf("%s: it was made by another implementation, and has UID %s", api, i.UID)
		}
		if err := maintain(t, s, ref, i); err != nil {
			t.Fatal(err)
		}
		i = w.found(t, s, ref)
		if i.UID != ref.UID || i.Namespace != ref.Namespace || i.Owner != class.Owner || unkept(s, ref, i) {
			t.Errorf("%s: an instance that was adopted: %+v", api, i.Tags)
		}
		for _, key := range []string{"Name", "millwright.dev/machine-namespace", "millwright.dev/owner", "millwright.dev/machine-uid"} {
			if err := w.Do("untag", i.ID+"="+key); err != nil {
				t.Fatal(err)
			}
			withID := ref
			withID.ProviderID = i.ProviderID
			if err := maintain(t, s, ref, w.found(t, s, withID)); err != nil {
				t.Errorf("%s: without tag %s: %v", api, key, err)
			}
			if i = w.found(t, s, ref); unkept(s, ref, i) {
				t.Errorf("%s: tag %s is not written again: %v", api, key, i.Tags)
			}
		}
		class.Owner = "0b6c1a4e-0000-4000-8000-0000000000aa"
		restored := refOf("restored")
		restored.Name = ref.Name
		if other := w.open(t, class); unkept(other, restored, i) {
			t.Errorf("%s: an instance loses UID and owner to those that took it over", api)
		}
	}
}

// Machines that lack the same tags get them together; a deleted one does not delay the others.
func TestTagsAreWrittenTogether(t *testing.T) {
	const machines = 60
	w := sample(t)
	p := w.start()
	open := func(patch string) provider.Session {
		class := classOf(provider.Gardener, "c1")
		class.Spec = merged(t, class.Spec, patch)
		s, err := p.Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(`{}`)
	all := make([]provider.Instance, machines)
	each(t, machines, func(ctx context.Context, n int) (err error) {
		all[n], err = s.Create(ctx, refOf(fmt.Sprintf("m-%d", n)), want)
		return err
	})
	w.clock.Advance(time.Minute)
	keep := func(team string) {
		m, _ := provider.As[provider.Maintainer](open(`{"tags":{"team":"` + team + `"}}`))
		each(t, len(all), func(ctx context.Context, n int) error {
			err := m.Maintain(ctx, refOf(fmt.Sprintf("m-%d", n)), all[n])
			if n == machines && err == nil {
				t.Error("tags of an instance that is not there are said to be written")
			}
			if n == machines {
				return nil
			}
			return err
		})
		for _, i := range w.Instances() {
			if i.Tags["team"] != team {
				t.Errorf("%s has tags %v, want team %s", i.Name, i.Tags, team)
			}
		}
	}
	keep("blue")
	if n := w.server.Counts()["CreateTags"]; n > machines/2 {
		t.Errorf("%d requests for tags of %d machines", n, machines)
	}
	all = slices.Concat(all, []provider.Instance{{ID: "i-00000000000000000", Tags: all[0].Tags}})
	keep("green")
}

func TestTagsThatMayNotBeWrittenHoldUpNothing(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	ref := refOf("m")
	w.running(t, s, ref)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"tags":[{"name":"team","value":"blue"}]}`)
	keys := ec2.Sample().Credentials[0]
	keys.Deny = []string{"CreateTags"}
	w.SetCredentials(keys)
	p := w.start()
	open := func() provider.Session {
		s, err := p.Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for range 5 {
		err := maintain(t, open(), ref, w.found(t, open(), ref))
		if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "ec2:CreateTags") {
			t.Errorf("a right that is missing: %v", err)
		}
		w.clock.Advance(time.Minute)
	}
	if n := w.server.Counts()["CreateTags"]; n != 1 {
		t.Errorf("what may not be done was asked for %d times in five minutes", n)
	}
	if i := w.found(t, open(), ref); i.Uninitialized || i.State != provider.Running {
		t.Errorf("the machine is harmed: %+v", i)
	}
	w.SetCredentials(ec2.Sample().Credentials[0])
	w.clock.Advance(10 * time.Minute)
	if err := maintain(t, open(), ref, w.found(t, open(), ref)); err != nil {
		t.Errorf("once it is permitted: %v", err)
	}
}
