package cloud_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3"
	"github.com/millwright-dev/millwright/provider"
)

// TestOneHostForTwo: of two concurrent machines for one host, one gets it, and the error of the other says
// why no host is free.
func TestOneHostForTwo(t *testing.T) {
	b := newBench(t, hosts(one(worker), one(storage)))
	class := b.class(provider.OpenShift, "c1")
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() { _, errs[n] = b.create(class, machineRef(fmt.Sprint("m-", n)), "x") })
	}
	wg.Wait()
	lost := errs[0]
	if lost == nil {
		lost = errs[1]
	}
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("errors %v and %v, want one", errs[0], errs[1])
	}
	const text = "no host of namespace demo is free: 1 is not chosen by hostSelector, 1 is taken"
	if after := provider.AfterOf(lost); after != 30*time.Second {
		t.Errorf("the other looks again after %v", after)
	}
	if provider.KindOf(lost) != provider.Exhausted || provider.ScopeOf(lost) != provider.ScopeType || !strings.Contains(lost.Error(), text) {
		t.Errorf("the other is told %v", lost)
	}
}

// TestManyAtOnce: each of many concurrent machines gets one host, and none gets two, with any number of
// processes.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.Gardener, "c1")
	var wg sync.WaitGroup
	for n := range worker.Count {
		for range 2 {
			wg.Go(func() {
				for range 50 {
					if _, err := b.create(class, machineRef(fmt.Sprint("m-", n)), "x"); provider.KindOf(err) != provider.Conflict {
						if err != nil {
							t.Error(err)
						}
						return
					}
				}
				t.Error("it is a conflict for ever")
			})
		}
	}
	wg.Wait()
	has := map[string]int{}
	for _, i := range b.cloud.Instances() {
		has[i.Name]++
	}
	if len(has) != worker.Count || len(b.cloud.Instances()) != worker.Count || len(b.cloud.Secrets()) != worker.Count {
		t.Errorf("machines have %v, and there are %d secrets", has, len(b.cloud.Secrets()))
	}
}

// TestMeant: the host in the secret is claimed if it is free, and otherwise another one.
func TestMeant(t *testing.T) {
	for _, taken := range []bool{false, true} {
		b := newBench(t)
		class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
		if err := b.leave(class, ref); err != nil {
			t.Fatal(err)
		}
		secret := func() kubeapi.Object {
			return b.cloud.Object("secrets", "demo", b.cloud.Secrets()[0].Name)
		}
		meant, _ := under(secret(), "metadata.ownerReferences[0].name").(string)
		if taken {
			b.change(meant, map[string]any{"spec": map[string]any{"consumerRef": map[string]any{"kind": "Other", "name": "x"}}})
		}
		i, err := b.create(class, ref, "second")
		if err != nil {
			t.Fatal(err)
		}
		if (i.ID == "demo/"+meant) == taken || under(secret(), "metadata.ownerReferences[0].name") != strings.TrimPrefix(i.ID, "demo/") {
			t.Errorf("taken %t: meant was %s, it got %s, and the secret is %v", taken, meant, i.ID, secret())
		}
		if raw, _ := base64.StdEncoding.DecodeString(secret().Text("data", "userData")); string(raw) != "second" || len(b.cloud.Secrets()) != 1 {
			t.Errorf("taken %t: it is given %q", taken, raw)
		}
		if under(b.host(i.ID), "spec.userData.name") != secret().Name() || under(b.host(i.ID), "spec.userData.namespace") != "demo" {
			t.Errorf("taken %t: the host has %v", taken, under(b.host(i.ID), "spec.userData"))
		}
	}
}

// TestUnfit: the hosts that a new machine does not get, with the reasons.
func TestUnfit(t *testing.T) {
	note := func(key string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: ""}}}
	}
	for _, r := range []struct {
		reason string
		change map[string]any
		verb   string
		why    string
	}{
		{"another has it", map[string]any{"spec": map[string]any{"consumerRef": map[string]any{"kind": "Metal3Machine", "name": "x"}}}, "", "taken"},
		{"people want it left alone", note("baremetalhost.metal3.io/paused"), "", "paused or detached"},
		{"people have taken it out", note("baremetalhost.metal3.io/detached"), "", "paused or detached"},
		{"people write their own image", map[string]any{"spec": map[string]any{"image": map[string]any{"url": "u"}}}, "", "provisioned by something else"},
		{"something else has written its disk", map[string]any{"spec": map[string]any{"externallyProvisioned": true}}, "", "provisioned by something else"},
		{"it is broken", nil, "break-servicing", "in error"},
		{"it is not ready yet", map[string]any{"status": map[string]any{"provisioning": map[string]any{"state": "inspecting"}}, "metadata": map[string]any{"annotations": map[string]any{"baremetalhost.metal3.io/paused": nil}}}, "", "not available yet"},
		{"its label is another", map[string]any{"metadata": map[string]any{"labels": map[string]any{"role": "x"}}}, "", "not chosen by hostSelector"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t, hosts(one(worker)), func(o *metal3.Options) { o.Knobs.Step = time.Hour })
			if r.change != nil {
				b.change("worker-1", r.change)
			} else if err := b.cloud.Do(r.verb, "worker-1"); err != nil {
				t.Fatal(err)
			}
			_, err := b.create(b.class(provider.OpenShift, "c1"), machineRef("m"), "x")
			if provider.KindOf(err) != provider.Exhausted || !strings.Contains(errorText(err), "free: 1 is "+r.why) {
				t.Errorf("says %v, want that it is %s", err, r.why)
			}
		})
	}
	b := newBench(t, hosts())
	if _, err := b.create(b.class(provider.OpenShift, "c1"), machineRef("m"), "x"); !strings.Contains(errorText(err), "it has no hosts") {
		t.Errorf("says %v", err)
	}
}
