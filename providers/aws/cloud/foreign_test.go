package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

// TestUnknownRegion: the error of a simulator in another region says so, and does not blame the
// credentials.
func TestUnknownRegion(t *testing.T) {
	w := sample(t)
	class := with(classOf(provider.OpenShift, "c1"), `"region":"us-east-1","availabilityZone":"us-east-1a"`, `"region":"eu-west-1","availabilityZone":"eu-west-1a"`)
	_, err := w.open(t, class).Find(t.Context(), refOf("m"))
	if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "Invalid region: [eu-west-1]") || !strings.Contains(err.Error(), "the only region us-east-1") {
		t.Errorf("%v: %v", provider.KindOf(err), err)
	}
}

// TestForeignSpecs: a simulator that accepts everything creates instances of unknown images and types, in
// each region separately, and refuses every client once it is configured to.
func TestForeignSpecs(t *testing.T) {
	w := newWorld(t, ec2.Options{Inventory: ec2.Sample(), AcceptAny: true, AcceptFilters: true})
	of := func(region string) provider.Class {
		c := with(classOf(provider.OpenShift, "c1"), `"region":"us-east-1","availabilityZone":"us-east-1a"`, `"region":"`+region+`","availabilityZone":"`+region+`b"`)
		c = with(c, `{"name":"tag:tier","values":["private"]}`, `{"name":"tag:Name","values":["x-private-*"]},{"name":"map-public-ip-on-launch","values":["false"]}`)
		c = with(c, "c1-worker-sg", "x-worker-sg")
		c.Credentials = secretOf(provider.OpenShift, ec2.Credential{AccessKeyID: "AKIAOFSOMEBODYELSE00", SecretAccessKey: "unknown"})
		return c
	}
	there, here := w.open(t, of("eu-west-1")), w.open(t, of("us-gov-west-1"))
	first := w.running(t, there, refOf("m"))
	if g := w.Guests()[0]; first.Zone != "eu-west-1b" || g.Region != "eu-west-1" || !strings.HasSuffix(g.NodeName, ".eu-west-1.compute.internal") {
		t.Errorf("it is in zone %s of %s, and its node is called %s", first.Zone, g.Region, g.NodeName)
	}
	if all, err := here.Find(t.Context(), refOf("m")); err != nil || len(all) != 0 {
		t.Errorf("another region shows it: %v, %v", all, err)
	}
	w.running(t, here, refOf("m-2"))
	asked := w.Received("RunInstances")
	if asked[0].Get("NetworkInterface.1.SubnetId") == asked[1].Get("NetworkInterface.1.SubnetId") {
		t.Error("two regions have one subnet")
	}
	if all := w.Guests(); len(all) != 2 || all[0].Addresses[0] == all[1].Addresses[0] {
		t.Errorf("two instances have one address: %+v", all)
	}
	again := w.running(t, w.open(t, of("eu-west-1")), refOf("m"))
	if again.ID != first.ID {
		t.Error("what was made up is another thing the second time")
	}
	if _, err := there.Delete(t.Context(), refOf("m"), []provider.Instance{first}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	if got := w.found(t, there, refOf("m")); got.State != provider.Terminated {
		t.Errorf("it is %s after it was ended", got.State)
	}
	ec2.Administered{Cloud: w.Cloud}.Revoke()
	if _, err := w.open(t, of("eu-west-1")).Find(t.Context(), refOf("m")); provider.KindOf(err) != provider.Denied {
		t.Errorf("after all credentials were taken back: %v", err)
	}
}
