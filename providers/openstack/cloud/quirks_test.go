package cloud_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// The originals' quirks about OpenStack, each with a test that this provider does not have it. See "Quirks
// found upstream that must not be copied" in the notes about providers.

// TestQuirkOpenShiftUpdateIsCreate: the machine-api actuator repeats its creation on a live machine. Here
// nothing is created or written for a machine that has its server.
func TestQuirkOpenShiftUpdateIsCreate(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	_, before := b.counted(nil)
	for range 3 {
		if again, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err != nil || again.ID != i.ID {
			t.Fatalf("%s, %v", again.ID, err)
		}
		if found, err := s.Find(t.Context(), ref("m")); err != nil || len(found) != 1 || s.(provider.Maintainer).Unkept(ref("m"), found[0]) {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	if delta, _ := b.counted(before); len(writes(delta)) > 0 {
		t.Errorf("a machine that lives was written: %v", writes(delta))
	}
}

// TestQuirkOpenShiftFloatingIP: the actuator assigns the address once the server runs, by a removed API of
// Nova, and takes it from another server. Here the port has it before the server is requested, and no
// server loses one.
func TestQuirkOpenShiftFloatingIP(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"floatingIP":"203.0.113.10"}`)
	s := b.session(class)
	b.running(s, ref("m"))
	given, asked := -1, -1
	for n, sent := range b.sent.With("") {
		if strings.HasPrefix(sent, "PUT /network/v2.0/floatingips/") {
			given = n
		}
		if strings.HasPrefix(sent, servers) {
			asked = n
		}
	}
	if given < 0 || given > asked {
		t.Errorf("the address was given by request %d, the server asked for by %d", given, asked)
	}
	second := ref("second")
	second.UID = "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e"
	if _, err := s.Create(t.Context(), second, provider.Want{UserData: boot}); provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "floatingIP") {
		t.Errorf("the second machine with the address: %v", err)
	}
	found, err := s.Find(t.Context(), ref("m"))
	if err != nil || !slices.ContainsFunc(found[0].Addresses, func(a corev1.NodeAddress) bool { return a.Address == "203.0.113.10" }) {
		t.Errorf("the first has lost it: %v, %v", found[0].Addresses, err)
	}
}

// TestQuirkGardenerStatusUnimplemented: the plug-in cannot report whether there is a server, so that a
// retry creates another. Here the provider finds it by UID, by provider ID and by name.
func TestQuirkGardenerStatusUnimplemented(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.Gardener, "c1"))
	i := b.running(s, ref("m"))
	byID := provider.Ref{UID: "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e", Name: "renamed", ProviderID: i.ProviderID}
	for _, r := range []provider.Ref{ref("m"), ref("renamed"), byID} {
		if found, err := s.Find(t.Context(), r); err != nil || len(found) != 1 || found[0].ID != i.ID {
			t.Errorf("%+v: %+v, %v", r, found, err)
		}
	}
}

// TestQuirkGardenerSessionPerCall: the plug-ins request a token in every call. Here all calls, and all
// classes of the credentials, share one.
func TestQuirkGardenerSessionPerCall(t *testing.T) {
	b := newBench(t)
	p := b.start()
	for range 5 {
		for _, cluster := range []string{"c1", "c2"} {
			s, err := p.Open(t.Context(), b.class(provider.Gardener, cluster))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Find(t.Context(), ref("m")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := b.server.Counts()["keystone.POST.auth.tokens"]; n != 1 {
		t.Errorf("%d tokens were asked for", n)
	}
}

// TestQuirkGardenerBlocks: the plug-in waits in one call for volumes, for the server, and for its end. Here
// each call returns at once, and reports the pending operation.
func TestQuirkGardenerBlocks(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.Boot, o.Volume, o.Delete = time.Hour, time.Hour, time.Hour })
	class := b.class(provider.Gardener, "c1")
	class.Spec = merged(t, string(class.Spec), `{"spec":{"rootDiskSize":10,"rootDiskType":"fast"}}`)
	s := b.session(class)
	began := time.Now()
	_, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot})
	if provider.KindOf(err) != provider.Conflict || provider.AfterOf(err) == 0 || !strings.Contains(err.Error(), "waiting for volumes: m is being made") {
		t.Errorf("while the volume is made: %v", err)
	}
	b.clock.Advance(time.Hour)
	i, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot})
	if err != nil || i.State != provider.Pending {
		t.Errorf("while the server is made: %+v, %v", i, err)
	}
	if done, err := s.Delete(t.Context(), ref("m"), []provider.Instance{i}); done || err != nil {
		t.Errorf("while the server goes: done %t, %v", done, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("three calls took %v", took)
	}
}

// TestQuirk4xxIsTerminal: actuators treat any refusal as a permanently invalid spec. Here quotas, rate
// limits and denials are distinguished.
func TestQuirk4xxIsTerminal(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	for _, kind := range []provider.Kind{provider.Exhausted, provider.Throttled, provider.Denied, provider.Conflict} {
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: string(kind)}, Operation: "nova.POST.servers", Times: 1})
		if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) != kind {
			t.Errorf("%s comes out as %s: %v", kind, provider.KindOf(err), err)
		}
	}
}
