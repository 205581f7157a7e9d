package cloud_test

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/cloud/internal/daemon"
)

var machine = provider.Ref{UID: "0f4e1c8a-5b2d-4e6f-9a7b-3c8d1e2f4a5b", Namespace: "machines", Name: "worker-1"}

const ignition = `{"ignition":{"version":"3.2.0"}}`

func create(t *testing.T, s provider.Session, ref provider.Ref, userData string) provider.Instance {
	t.Helper()
	i, err := s.Create(t.Context(), ref, provider.Want{UserData: []byte(userData)})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// volumes are the names of a pool's volumes, without the base volume.
func (b *bench) volumes(pool string) []string {
	return slices.DeleteFunc(b.host.Volumes(pool), func(name string) bool { return name == "base" })
}

// described is the description of a domain.
func (b *bench) described(name string) string {
	b.t.Helper()
	d, err := b.other.DomainLookupByName(name)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := b.other.DomainGetXMLDesc(d, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return between.ReplaceAllString(text, "><")
}

// between matches the line ends between elements.
var between = regexp.MustCompile(`>\s+<`)

func TestNameThatAnotherHas(t *testing.T) {
	b := newBench(t)
	if err := define(b.other, `<domain type='kvm'><name>worker-1</name><uuid>`+nextUUID()+`</uuid><memory>1</memory></domain>`); err != nil {
		t.Fatal(err)
	}
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := create(t, s, machine, ignition)
	if want := "worker-1-" + i.ID[:8]; !strings.Contains(b.described(want), "<uuid>"+i.ID) || i.Name != "worker-1" {
		t.Errorf("the machine's name is %q, and no domain is called %s", i.Name, want)
	}
	if done, err := s.Delete(t.Context(), machine, []provider.Instance{i}); !done || err != nil {
		t.Fatal(done, err)
	}
	if all, _, err := b.other.ConnectListAllDomains(1, 0); err != nil || len(all) != 1 {
		t.Errorf("domains %v, want the other one: %v", all, err)
	}
}

// TestBootData: each format of user data reaches the guest at the place where it reads it, and no other user
// of the host can read it.
func TestBootData(t *testing.T) {
	for _, r := range []struct{ reason, api, patch, userData, kind, content, xml string }{
		{"the spec says Ignition", provider.OpenShift, "", "anything", "ignition", "anything", `<entry name="opt/com.coreos/config" file="/pools/c1/`},
		{"the spec says cloud-init", provider.Gardener, "", "#cloud-config\n", "cidata", "#cloud-config\n", `<target dev="vdb" bus="virtio">`},
		{"the spec says neither, and it is for Ignition", provider.Gardener, `,"cloudInit":{}`, ignition, "ignition", ignition, "opt/com.coreos/config"},
		{"the spec says neither, and it is for cloud-init", provider.Gardener, `,"cloudInit":{}`, "#!/bin/sh\n", "cidata", "#!/bin/sh\n", "vdb"},
		{"there is none", provider.Gardener, `,"cloudInit":{}`, "", "", "", "vda"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t)
			class := b.class(r.api, "c1")
			class.Spec = []byte(strings.Replace(string(class.Spec), r.patch, "", 1))
			create(t, b.session(class), machine, r.userData)
			if text := b.described("worker-1"); !strings.Contains(text, r.xml) {
				t.Errorf("the domain has no %s:\n%s", r.xml, text)
			}
			all := b.volumes("c1")
			n := slices.IndexFunc(all, func(name string) bool { return r.kind != "" && strings.HasSuffix(name, "."+r.kind) })
			if r.kind == "" && len(all) == 1 {
				return
			}
			if n < 0 || len(all) != 2 {
				t.Fatalf("volumes %q, want one of kind %s", all, r.kind)
			}
			if text, data := b.host.Volume("c1", all[n]); !strings.Contains(string(data), r.content) || !strings.Contains(text, "<mode>0600</mode>") {
				t.Errorf("%s has %q", text, data)
			}
		})
	}
}

// TestAdoption: the original's domains are found, reported, and deleted with their volumes only.
func TestAdoption(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	b.host.AddVolume("c1", "worker-10")
	if err := b.plant(class, provider.Instance{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	s := b.session(class)
	found, err := s.Find(t.Context(), machine)
	if err != nil || len(found) != 1 || found[0].UID != "" || found[0].Name != "worker-1" || found[0].Uninitialized {
		t.Fatalf("found %+v, %v", found, err)
	}
	if i := create(t, s, machine, ignition); i.ID != found[0].ID {
		t.Errorf("another one was made: %s", i.ID)
	}
	if done, err := s.Delete(t.Context(), machine, found); !done || err != nil {
		t.Fatal(done, err)
	}
	if left := b.volumes("c1"); !slices.Equal(left, []string{"worker-10"}) {
		t.Errorf("volumes %q are left", left)
	}
}

// TestSharedVolume: a disk of two domains stays as long as one of them exists.
func TestSharedVolume(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := create(t, s, machine, ignition)
	copied := strings.Replace(strings.Replace(b.described("worker-1"), i.ID, nextUUID(), 1), "<name>worker-1<", "<name>copy<", 1)
	if err := define(b.other, copied); err != nil {
		t.Fatal(err)
	}
	before := b.volumes("c1")
	if done, err := s.Delete(t.Context(), provider.Ref{Name: "worker-1"}, []provider.Instance{i}); !done || err != nil {
		t.Fatal(done, err)
	}
	if after := b.volumes("c1"); !slices.Equal(before, after) {
		t.Errorf("volumes were %q, are %q", before, after)
	}
	if done, err := s.Delete(t.Context(), machine, nil); !done || err != nil {
		t.Fatal(done, err)
	}
	if after := b.volumes("c1"); len(after) > 0 {
		t.Errorf("volumes %q are left", after)
	}
}

// TestReservation: an address is reserved for a machine from its creation to its deletion, also if the
// creation ends before the domain is defined.
func TestReservation(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	s := b.session(class)
	second := machine
	second.UID, second.Name = "7c1d9e3f-2a4b-4c6d-8e0f-5b6a7c8d9e0f", "worker-2"
	addresses := map[string]bool{}
	for _, ref := range []provider.Ref{machine, second} {
		i := create(t, s, ref, ignition)
		if len(i.Addresses) == 0 || i.Addresses[0].Type != corev1.NodeInternalIP || i.NodeName != ref.Name {
			t.Fatalf("node %q at %v", i.NodeName, i.Addresses)
		}
		addresses[i.Addresses[0].Address] = true
	}
	if len(addresses) != 2 || addresses["192.168.126.0"] || addresses["192.168.126.1"] {
		t.Errorf("addresses %v", addresses)
	}
	third := machine
	third.UID, third.Name = "3e5f7a9b-1c2d-4e3f-8a5b-6c7d8e9f0a1b", "worker-3"
	if err := b.leave(class, third); err != nil {
		t.Fatal(err)
	}
	if n := len(b.host.Reserved("default")); n != 3 {
		t.Errorf("%d addresses are kept, want 3", n)
	}
	for _, ref := range []provider.Ref{machine, second, third} {
		if done, err := s.Delete(t.Context(), ref, nil); !done || err != nil {
			t.Fatal(done, err)
		}
	}
	if left := b.host.Reserved("default"); len(left) > 0 {
		t.Errorf("addresses %v are left", left)
	}
}

// TestNameThatACardHas: a network reserves a host name for one card. Another machine of the name gets its
// address without the name.
func TestNameThatACardHas(t *testing.T) {
	b := newBench(t)
	create(t, b.session(b.class(provider.OpenShift, "c1")), machine, ignition)
	i := create(t, b.session(b.class(provider.OpenShift, "c2")), machine, ignition)
	if i.NodeName != "" || len(i.Addresses) != 1 {
		t.Errorf("it is sure to be called %q, at %v", i.NodeName, i.Addresses)
	}
}

// TestNoAddressLeft: the error says what the network lacks, and nothing is left behind.
func TestNoAddressLeft(t *testing.T) {
	for _, r := range []struct {
		reason, with string
		kind         provider.Kind
	}{
		{"a range in which all is taken", "192.168.126.1/32", provider.Exhausted},
		{"a range that the network does not have", "10.0.0.0/24", provider.Invalid},
	} {
		b := newBench(t)
		class := b.class(provider.OpenShift, "c1")
		class.Spec = []byte(strings.Replace(string(class.Spec), "192.168.126.0/24", r.with, 1))
		_, err := b.session(class).Create(t.Context(), machine, provider.Want{UserData: []byte(ignition)})
		if provider.KindOf(err) != r.kind || r.kind == provider.Exhausted && len(b.volumes("c1")) > 0 {
			t.Errorf("%s: %v, and volumes %q", r.reason, err, b.volumes("c1"))
		}
	}
}

// TestAddresses: the addresses are those of DHCP leases, with the host names of the requests.
func TestAddresses(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.Gardener, "c1"))
	i := create(t, s, machine, "#cloud-config\n")
	raw := strings.ReplaceAll(i.ID, "-", "")
	b.host.Lease("default", "52:54:00:"+raw[26:28]+":"+raw[28:30]+":"+raw[30:], "192.168.126.77", "asked")
	b.host.Lease("default", "52:54:00:00:00:00", "192.168.126.78", "another")
	found, err := s.Find(t.Context(), machine)
	want := []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.168.126.77"},
		{Type: corev1.NodeHostName, Address: "worker-1"},
		{Type: corev1.NodeHostName, Address: "asked"},
		{Type: corev1.NodeInternalDNS, Address: "worker-1"},
		{Type: corev1.NodeInternalDNS, Address: "asked"},
	}
	if err != nil || len(found) != 1 || !slices.Equal(found[0].Addresses, want) {
		t.Errorf("%v, %v, want %v", found, err, want)
	}
}

// TestCutShort: a creation that ended between any two of its calls is continued.
func TestCutShort(t *testing.T) {
	for reason, procedure := range map[string]uint32{
		"before the user data is written": daemon.ProcStorageVolUpload, "before the domain is defined": daemon.ProcDomainDefine,
		"before it is started": daemon.ProcDomainCreate, "before that is noted": daemon.ProcDomainSetMetadata,
	} {
		for _, done := range []bool{false, true} {
			b := newBench(t)
			s := b.session(b.class(provider.OpenShift, "c1"))
			b.host.Inject(daemon.Fault{Procedure: procedure, Code: libvirt.ErrInternalError, Message: "internal error", Done: done})
			_, err := s.Create(t.Context(), machine, provider.Want{UserData: []byte(ignition)})
			if err == nil && !done || err != nil && provider.KindOf(err) != provider.Transient {
				t.Errorf("%s: %v", reason, err)
			}
			i := create(t, s, machine, ignition)
			if i.State != provider.Running || i.Uninitialized || len(b.volumes("c1")) != 2 {
				t.Errorf("%s (reply lost: %t): %+v, volumes %q", reason, done, i, b.volumes("c1"))
			}
		}
	}
}

// TestInitialize: it starts a domain that was defined and not started, and does not start one that was
// powered off.
func TestInitialize(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	b.host.Inject(daemon.Fault{Procedure: daemon.ProcDomainCreate, Code: libvirt.ErrInternalError, Message: "internal error"})
	if _, err := s.Create(t.Context(), machine, provider.Want{UserData: []byte(ignition)}); err == nil {
		t.Fatal("it was started")
	}
	find := func() provider.Instance {
		found, err := s.Find(t.Context(), machine)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	i := find()
	if i.State != provider.Stopped || !i.Uninitialized {
		t.Errorf("%+v is neither off nor new", i)
	}
	initializer, _ := provider.As[provider.Initializer](s)
	power, _ := provider.As[provider.Powerer](s)
	for _, do := range []func() error{
		func() error { return initializer.Initialize(t.Context(), machine, i) },
		func() error { return power.Power(t.Context(), machine, i, provider.PowerOff, "") },
		func() error { return initializer.Initialize(t.Context(), machine, i) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if i = find(); i.State != provider.Stopped || i.Uninitialized {
		t.Errorf("%+v was started again", i)
	}
}

// TestSilentHost: a host that does not answer costs its connection, and no caller waits longer than its
// context.
func TestSilentHost(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	create(t, s, machine, ignition)
	b.host.Inject(daemon.Fault{Procedure: daemon.ProcListDomains, Stall: true})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Find(ctx, machine); !errors.Is(err, context.DeadlineExceeded) || provider.KindOf(err) != provider.Transient {
		t.Errorf("%v", err)
	}
	if found, err := s.Find(t.Context(), machine); err != nil || len(found) != 1 {
		t.Errorf("afterwards: %v, %v", found, err)
	}
}

// TestDeniedHost: a caller that is denied retries, and leaves no connection open: a daemon accepts a few
// dozen.
func TestDeniedHost(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	for range 5 {
		b.host.Inject(daemon.Fault{Procedure: daemon.ProcListDomains, Code: libvirt.ErrAccessDenied, Message: "access denied"})
		if _, err := s.Find(t.Context(), machine); provider.KindOf(err) != provider.Denied {
			t.Fatal(err)
		}
	}
	for b.host.Connections() > 1 { // the test's own connection
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		time.Sleep(time.Millisecond)
	}
}

// TestNoHost: an unreachable host does not count as empty.
func TestNoHost(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = []byte(strings.ReplaceAll(string(class.Spec), b.uri, "qemu+unix:///system?socket=/nowhere"))
	found, err := b.session(class).Find(t.Context(), machine)
	if e, ok := errors.AsType[*net.OpError](err); !ok || provider.KindOf(err) != provider.Transient || len(found) > 0 {
		t.Errorf("%v, %v, %v", found, err, e)
	}
}
