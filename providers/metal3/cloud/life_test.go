package cloud_test

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3"
	"github.com/millwright-dev/millwright/provider"
)

func (b *bench) create(class provider.Class, ref provider.Ref, userData string) (provider.Instance, error) {
	return b.session(class).Create(b.t.Context(), ref, provider.Want{UserData: []byte(userData)})
}

// only is the instance of a machine.
func (b *bench) only(class provider.Class, ref provider.Ref) provider.Instance {
	b.t.Helper()
	found, err := b.session(class).Find(b.t.Context(), ref)
	if err != nil || len(found) != 1 {
		b.t.Fatalf("%d instances of %s, error %v", len(found), ref.Name, err)
	}
	return found[0]
}

// running creates the instance of a machine, and waits until it runs.
func (b *bench) running(class provider.Class, ref provider.Ref) provider.Instance {
	b.t.Helper()
	if _, err := b.create(class, ref, "#cloud-config"); err != nil {
		b.t.Fatal(err)
	}
	b.settle()
	i := b.only(class, ref)
	if i.State != provider.Running {
		b.t.Fatalf("it is %s (%s)", i.State, i.RawState)
	}
	return i
}

func (b *bench) removed(class provider.Class, ref provider.Ref, given ...provider.Instance) {
	b.t.Helper()
	for range 20 {
		done, err := b.session(class).Delete(b.t.Context(), ref, given)
		if err != nil {
			b.t.Fatal(err)
		}
		if done {
			return
		}
		b.clock.Advance(time.Second)
	}
	b.t.Fatal("it does not go")
}

// host is an object of the simulator, by the ID of an instance or by name.
func (b *bench) host(id string) kubeapi.Object {
	if _, name, ok := strings.Cut(id, "/"); ok {
		id = name
	}
	return b.cloud.Object("baremetalhosts", b.namespace(), id)
}

// change merges a patch into a host.
func (b *bench) change(name string, merge map[string]any) {
	b.t.Helper()
	if err := b.cloud.Change("baremetalhosts", b.namespace(), name, merge); err != nil {
		b.t.Fatal(err)
	}
}

func one(h metal3.Hosts) metal3.Hosts { h.Count = 1; return h }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFault: an error of a host before it has run is a transient fault of its machine; a later error is no
// fault.
func TestFault(t *testing.T) {
	for verb, kind := range map[string]string{
		"fail": "provisioning error", "break-power": "power management error", "break-registration": "registration error", "break-inspection": "inspection error",
		"break-preparation": "preparation error", "break-detach": "detach error", "break-servicing": "servicing error",
	} {
		b := newBench(t)
		class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
		i, err := b.create(class, ref, "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.cloud.Do(verb, i.ID); err != nil {
			t.Fatal(err)
		}
		i = b.only(class, ref)
		if i.Fault == nil || i.Fault.Kind != provider.Transient || !strings.Contains(i.Fault.Error(), kind) || i.State != provider.Stopped || !strings.Contains(i.RawState, kind) {
			t.Errorf("%s: it is %s (%s), with the fault %v", verb, i.State, i.RawState, i.Fault)
		}
		_ = b.cloud.Do("mend", i.ID)
		b.settle()
		_ = b.cloud.Do(verb, i.ID)
		if i = b.only(class, ref); i.Fault != nil || i.State != provider.Running {
			t.Errorf("%s: after it ran it is %s, with the fault %v", verb, i.State, i.Fault)
		}
	}
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i, _ := b.create(class, ref, "x")
	_ = b.cloud.Do("pause", i.ID)
	if i = b.only(class, ref); i.Fault == nil || !strings.Contains(i.Fault.Error(), "baremetalhost.metal3.io/paused") {
		t.Errorf("paused it has the fault %v", i.Fault)
	}
}

// TestStates: the states of Metal3, and the machine's state for each of them.
func TestStates(t *testing.T) {
	for _, r := range []struct {
		reason, state string
		change        map[string]any
		want          provider.State
	}{
		{"it is written", "provisioning", nil, provider.Pending},
		{"nobody has begun", "available", nil, provider.Pending},
		{"it is about to be written again", "deprovisioning", nil, provider.Pending},
		{"it runs", "provisioned", nil, provider.Running},
		{"it is off", "provisioned", map[string]any{"status": map[string]any{"poweredOn": false}}, provider.Stopped},
		{"something else has written it", "externally provisioned", nil, provider.Running},
		{"nobody knows", "unmanaged", nil, provider.Running},
		{"its operator begins anew", "registering", map[string]any{"status": map[string]any{"provisioning": map[string]any{"image": map[string]any{"url": "u"}}}}, provider.Running},
		{"it is registered for the first time", "registering", nil, provider.Pending},
		{"it is given back", "deprovisioning", map[string]any{"spec": map[string]any{"image": nil}}, provider.Stopping},
		{"nothing is left but whose it was", "available", map[string]any{"spec": map[string]any{"image": nil}}, provider.Stopping},
		{"it is withdrawn", "provisioned", map[string]any{"spec": map[string]any{"image": nil}}, provider.Stopping},
		{"somebody deletes it", "provisioned", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-02T03:04:05Z"}}, provider.Stopping},
		{"and it goes", "powering off before delete", nil, provider.Stopping},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t)
			class, ref := b.class(provider.Gardener, "c1"), machineRef("m")
			i := b.running(class, ref)
			name := strings.TrimPrefix(i.ID, "demo/")
			// A paused host keeps its state.
			b.change(name, map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{"baremetalhost.metal3.io/paused": ""}},
				"status":   map[string]any{"provisioning": map[string]any{"state": r.state, "image": map[string]any{"url": ""}}},
			})
			if r.change != nil {
				b.change(name, r.change)
			}
			i = b.only(class, ref)
			if i.Fault != nil && strings.Contains(i.Fault.Error(), "paused") {
				i.State = provider.Pending // the state it would have
			}
			if i.State != r.want {
				t.Errorf("%s is %s, want %s", r.state, i.State, r.want)
			}
		})
	}
}

// TestGivenBack: a released host keeps nothing of the machine, and keeps the user's fields.
func TestGivenBack(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	name := strings.TrimPrefix(i.ID, "demo/")
	b.change(name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"people": "wrote"}, "finalizers": []any{"baremetalhost.metal3.io", "machine.machine.openshift.io"}}})
	if done, err := b.session(class).Delete(t.Context(), ref, nil); done || err != nil {
		t.Fatalf("done %t, %v", done, err)
	}
	if h := b.host(name); h.At("spec", "consumerRef") == nil || h.At("spec", "image") != nil || h.At("spec", "userData") != nil || h.At("spec", "online") != false {
		t.Errorf("it is withdrawn as %v", h["spec"])
	}
	b.removed(class, ref)
	h := b.host(name)
	want := map[string]any{"role": "worker"}
	if h.At("spec", "consumerRef") != nil || !reflect.DeepEqual(h.At("metadata", "labels"), want) || !reflect.DeepEqual(h.At("metadata", "annotations"), map[string]any{"people": "wrote"}) {
		t.Errorf("it is given back as %v", h)
	}
	if f := h.List("metadata", "finalizers"); len(f) != 1 || len(b.cloud.Secrets()) != 0 {
		t.Errorf("finalizers are %v, secrets %v", f, b.cloud.Secrets())
	}
}

// TestHeldBack: a paused host is not released, and the error says why; a host that must not be powered off
// stays on.
func TestHeldBack(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	name := strings.TrimPrefix(i.ID, "demo/")
	b.change(name, map[string]any{"spec": map[string]any{"disablePowerOff": true}})
	powerer, _ := provider.As[provider.Powerer](b.session(class))
	if err := powerer.Power(t.Context(), ref, i, provider.PowerOff, ""); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "disablePowerOff") {
		t.Errorf("it is switched off: %v", err)
	}
	_ = b.cloud.Do("pause", i.ID)
	_, _ = b.session(class).Delete(t.Context(), ref, nil)
	done, err := b.session(class).Delete(t.Context(), ref, nil)
	if done || provider.KindOf(err) != provider.Conflict || !strings.Contains(errorText(err), "baremetalhost.metal3.io/paused") {
		t.Errorf("done %t, %v", done, err)
	}
	_ = b.cloud.Do("resume", i.ID)
	b.removed(class, ref)
	if h := b.host(name); h.At("spec", "online") != true || h.At("spec", "consumerRef") != nil {
		t.Errorf("it is given back as %v", h["spec"])
	}
}

// TestDeletedHost: after a user deletes a host, its machine has no instance, and the machine's secret is
// deleted.
func TestDeletedHost(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	_ = b.cloud.Do("delete", i.ID)
	if i = b.only(class, ref); i.State != provider.Stopping {
		t.Errorf("it is %s", i.State)
	}
	b.settle()
	if found, err := b.session(class).Find(t.Context(), ref); len(found) != 0 || err != nil || len(b.cloud.Secrets()) != 0 {
		t.Errorf("%d are found, %v, and secrets %v", len(found), err, b.cloud.Secrets())
	}
	b.removed(class, ref, i)
}

// TestReboot: a reboot uses the annotation for a single reboot, once for each request; and the original's
// power-off annotation is removed.
func TestReboot(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	name := strings.TrimPrefix(i.ID, "demo/")
	b.change(name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"reboot.metal3.io/capbm-requested-power-off": `{"mode":"hard"}`}}})
	b.settle()
	if i = b.only(class, ref); i.State != provider.Stopped {
		t.Fatalf("held off it is %s", i.State)
	}
	powerer, _ := provider.As[provider.Powerer](b.session(class))
	for n, request := range []string{"r1", "r1", "r2"} {
		before := b.host(name).Text("metadata", "resourceVersion")
		if err := powerer.Power(t.Context(), ref, i, provider.Reboot, request); err != nil {
			t.Fatal(err)
		}
		if asked, want := b.host(name).Text("metadata", "resourceVersion") != before, n != 1; asked != want {
			t.Errorf("%d: a reboot is asked for: %t, want %t", n, asked, want)
		}
		b.settle()
		if i = b.only(class, ref); i.State != provider.Running {
			t.Errorf("%d: it is %s", n, i.State)
		}
	}
	if err := powerer.Power(t.Context(), ref, provider.Instance{ID: "demo/nobody"}, provider.Reboot, "r1"); provider.KindOf(err) != provider.Conflict {
		t.Errorf("a reboot of what is not there is %v", err)
	}
}

// TestSize: the smallest of the selected hosts; without an inspected host, the size is unknown.
func TestSize(t *testing.T) {
	arm := metal3.Hosts{Name: "arm", Labels: map[string]string{"role": "storage"}, CPUs: 64, MemoryMiB: 16384, Arch: "aarch64"}
	b := newBench(t, hosts(one(worker), one(storage), arm))
	for selector, want := range map[string]provider.Size{
		`{"matchLabels":{"role":"worker"}}`:  {VCPU: 16, MemoryMiB: 65536, Architecture: "amd64"},
		`{"matchLabels":{"role":"storage"}}`: {VCPU: 32, MemoryMiB: 16384},
		`{}`:                                 {VCPU: 16, MemoryMiB: 16384},
	} {
		class := b.class(provider.Gardener, "c1")
		class.Spec = []byte(`{"customDeploy":{"method":"m"},"hostSelector":` + selector + `}`)
		sizer, _ := provider.As[provider.Sizer](b.session(class))
		if size, err := sizer.Size(t.Context()); err != nil || !reflect.DeepEqual(size, want) {
			t.Errorf("%s: is %+v, %v", selector, size, err)
		}
	}
	class := b.class(provider.Gardener, "c1")
	class.Spec = []byte(`{"customDeploy":{"method":"m"},"hostSelector":{"matchLabels":{"role":"none"}}}`)
	sizer, _ := provider.As[provider.Sizer](b.session(class))
	if size, err := sizer.Size(t.Context()); err == nil || size.VCPU != 0 {
		t.Errorf("of no host it is %+v, %v", size, err)
	}
}

// TestAddresses: the addresses of all NICs, and the host name, unless it is generic.
func TestAddresses(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	name := strings.TrimPrefix(i.ID, "demo/")
	types := func() (all []corev1.NodeAddressType) {
		for _, a := range b.only(class, ref).Addresses {
			all = append(all, a.Type)
		}
		return all
	}
	if want := []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeHostName, corev1.NodeInternalDNS}; !slices.Equal(types(), want) {
		t.Errorf("it has %v", types())
	}
	b.change(name, map[string]any{"status": map[string]any{"hardware": map[string]any{"hostname": "localhost.localdomain"}}})
	if want := []corev1.NodeAddressType{corev1.NodeInternalIP}; !slices.Equal(types(), want) {
		t.Errorf("of a name that any host has it has %v", types())
	}
}

// TestRole: the permissions in the documentation are enough for all calls, and each of them is needed.
func TestRole(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/providers/metal3-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role struct{ Rules []metal3.Rule }
	if err := yaml.Unmarshal(raw, &role); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.cloud.SetRules(user, role.Rules)
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		class, ref := b.class(api, "c1"), machineRef("m")
		if err := b.leave(class, ref); err != nil {
			t.Fatal(err)
		}
		i := b.running(class, ref)
		s := b.session(class)
		keeper, _ := provider.As[provider.Maintainer](s)
		powerer, _ := provider.As[provider.Powerer](s)
		sizer, _ := provider.As[provider.Sizer](s)
		_, wrong := s.Account(t.Context())
		_, size := sizer.Size(t.Context())
		if err := errors.Join(wrong, size, b.strip(class, i.ID), keeper.Maintain(t.Context(), ref, i), powerer.Power(t.Context(), ref, i, provider.Reboot, "r")); err != nil {
			t.Error(err)
		}
		for _, err := range s.List(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		b.settle()
		b.removed(class, ref, i)
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if right := strings.TrimSuffix(verb+" "+resource+"."+group, "."); !slices.Contains(b.cloud.Needed(), right) {
						t.Errorf("%s is not needed", right)
					}
				}
			}
		}
	}
}

// TestFrugal: reading a machine takes one call, claiming a host four, and its release begins with two.
func TestFrugal(t *testing.T) {
	b := newBench(t, func(o *metal3.Options) { o.PageSize = 0 })
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	asked := func() (all []string) {
		before := len(b.server.Requests())
		_, _ = b.create(class, ref, "x")
		for _, r := range b.server.Requests()[before:] {
			all = append(all, r.Operation)
		}
		return all
	}
	if all := asked(); !slices.Equal(all, []string{"secrets.get", "baremetalhosts.list", "secrets.create", "baremetalhosts.patch"}) {
		t.Errorf("create asks %v", all)
	}
	if all := asked(); !slices.Equal(all, []string{"secrets.get", "baremetalhosts.get"}) {
		t.Errorf("create again asks %v", all)
	}
	before := len(b.server.Requests())
	b.only(class, ref)
	if n := len(b.server.Requests()) - before; n != 1 {
		t.Errorf("find asks %d times", n)
	}
	i := b.running(class, ref)
	before = len(b.server.Requests())
	if _, err := b.session(class).Delete(t.Context(), ref, []provider.Instance{i}); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range b.server.Requests()[before:] {
		all = append(all, r.Operation)
	}
	if !slices.Equal(all, []string{"baremetalhosts.list", "baremetalhosts.patch"}) {
		t.Errorf("delete asks %v", all)
	}
}

// TestNotInstalled: without Metal3, no host counts as deleted.
func TestNotInstalled(t *testing.T) {
	b := newBench(t, func(o *metal3.Options) { o.Without = []string{"baremetalhosts"} })
	done, err := b.session(b.class(provider.OpenShift, "c1")).Delete(t.Context(), machineRef("m"), nil)
	if done || provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "is Metal3 installed there?") {
		t.Errorf("delete says %t, %v", done, err)
	}
}

// TestNoCluster: hosts can be in the machines' cluster only if the provider has access to it.
func TestNoCluster(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	delete(class.Credentials, "kubeconfig")
	if _, err := b.session(class).Find(t.Context(), machineRef("m")); provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "needs a key kubeconfig") {
		t.Errorf("says %v", err)
	}
}

// TestObjections: an error of Metal3's validation names the field of the spec.
func TestObjections(t *testing.T) {
	b := newBench(t)
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Invalid"}, Operation: "baremetalhosts.patch", Times: 1})
	_, err := b.create(b.class(provider.OpenShift, "c1"), machineRef("m"), "x")
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Kind != provider.Invalid || e.Field != "image.url" {
		t.Errorf("says %v", err)
	}
}
