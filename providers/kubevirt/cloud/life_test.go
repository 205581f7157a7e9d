package cloud_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubevirt"
	"github.com/millwright-dev/millwright/provider"
)

func machineRef(name string) provider.Ref {
	sum := sha256.Sum256([]byte(name))
	return provider.Ref{UID: fmt.Sprintf("5f1c5b5e-5d0f-4b8e-9a60-%012x", sum[:6]), Namespace: "machines", Name: name}
}

func (b *bench) create(class provider.Class, ref provider.Ref, userData string) (provider.Instance, error) {
	return b.session(class).Create(b.t.Context(), ref, provider.Want{UserData: []byte(userData)})
}

// only returns the only instance of a machine.
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
	for range 20 {
		if i := b.only(class, ref); i.State == provider.Running {
			return i
		}
		b.clock.Advance(time.Second)
	}
	b.t.Fatal("it does not come up")
	return provider.Instance{}
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

// dependants are the names of the dependants of virtual machines, by kind.
func (b *bench) dependants() map[string][]string {
	all := map[string][]string{}
	for _, d := range b.cloud.Dependants() {
		all[d.Kind] = append(all[d.Kind], d.Name)
	}
	return all
}

func TestInstance(t *testing.T) {
	b := newBench(t)
	i := b.running(b.class(provider.Gardener, "c1"), machineRef("node-1.example"))
	if i.NodeName != "node-1" || i.ProviderID != "kubevirt://node-1.example" || i.Zone != "zone-1" || i.Region != "region-1" || i.Type != "2cpu-4096Mi" {
		t.Errorf("it is %+v", i)
	}
	if len(i.Addresses) != 3 || i.Addresses[0].Type != corev1.NodeInternalIP || i.Addresses[1] != (corev1.NodeAddress{Type: corev1.NodeHostName, Address: "node-1"}) {
		t.Errorf("its addresses are %v", i.Addresses)
	}
}

// TestSecrets: the guest's secrets exist before the virtual machine, have the last data, and are deleted with
// it.
func TestSecrets(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.Gardener, "c1"), machineRef("m")
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "virtualmachines.create", Times: 1})
	if _, err := b.create(class, ref, "first"); provider.KindOf(err) != provider.Transient {
		t.Fatal(err)
	}
	if _, err := b.create(class, ref, "second"); err != nil {
		t.Fatal(err)
	}
	all := b.dependants()["Secret"]
	if len(all) != 2 {
		t.Fatalf("there are %v, want one for the user data and one for the keys", all)
	}
	for name, want := range map[string]string{"ssh-keys": "key-0", "user-data": "userdata"} {
		n := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, "m-"+name+"-") })
		if n < 0 {
			t.Fatalf("there is no secret of %s in %v", name, all)
		}
		secret := b.cloud.Object("secrets", "demo", all[n])
		raw, _ := base64.StdEncoding.DecodeString(under(secret, "data."+want).(string))
		if text := string(raw); text != "second" && text != "ssh-ed25519 AAAA nobody@example.com" {
			t.Errorf("secret %s has %q", all[n], text)
		}
		if under(secret, "metadata.ownerReferences[0].kind") != "VirtualMachine" {
			t.Errorf("secret %s is nobody's", all[n])
		}
	}
	if err := b.cloud.Do("terminate", "m"); err != nil {
		t.Fatal(err)
	}
	if left := b.cloud.Dependants(); len(left) > 0 {
		t.Errorf("somebody deletes the virtual machine, and %v stay", left)
	}
}

// TestOwnershipMended: after a process ended between the virtual machine and its ownership, the next one sets
// the ownership.
func TestOwnershipMended(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "secrets.patch", Times: 1})
	if _, err := b.create(class, ref, "x"); provider.KindOf(err) != provider.Transient {
		t.Fatal(err)
	}
	if _, err := b.create(class, ref, "x"); err != nil {
		t.Fatal(err)
	}
	name := b.dependants()["Secret"][0]
	if under(b.cloud.Object("secrets", "demo", name), "metadata.ownerReferences[0].name") != "m" {
		t.Errorf("nobody owns secret %s", name)
	}
}

// TestNameTaken: an existing virtual machine of another owner is a conflict, and stays.
func TestNameTaken(t *testing.T) {
	for _, r := range []struct {
		reason string
		labels map[string]string
	}{
		{"nobody says whose it is", nil},
		{"another machine's", map[string]string{"millwright.dev/machine-uid": "another", "millwright.dev/cluster": "c1"}},
		{"another cluster's", map[string]string{"millwright.dev/machine-uid": machineRef("m").UID, "millwright.dev/cluster": "c2"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t)
			class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
			b.cloud.Plant(kubevirt.Planted{Name: "m", Namespace: "demo", Labels: r.labels})
			if _, err := b.create(class, ref, "x"); provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "belongs to another machine") {
				t.Errorf("create says %v", err)
			}
			b.removed(class, ref)
			if n := len(b.cloud.Instances()); n != 1 || len(b.cloud.Dependants()) != 0 {
				t.Errorf("%d virtual machines are left, and %v", n, b.cloud.Dependants())
			}
		})
	}
}

// TestGivenIsGone: an instance that was replaced by another of its name does not exist any more, and its
// successor stays.
func TestGivenIsGone(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	former := b.running(class, machineRef("m"))
	if err := b.cloud.Do("terminate", "m"); err != nil {
		t.Fatal(err)
	}
	successor := machineRef("m")
	successor.UID = machineRef("other").UID
	b.running(class, successor)
	b.removed(class, machineRef("m"), former)
	b.only(class, successor)
}

// TestNothingIsLeft: after a crash at any call, the deletion of a machine leaves nothing, and leftovers are
// listed.
func TestNothingIsLeft(t *testing.T) {
	for _, operation := range []string{"secrets.create", "virtualmachines.create", "secrets.patch"} {
		t.Run(operation, func(t *testing.T) {
			b := newBench(t)
			class, ref := b.class(provider.Gardener, "c1"), machineRef("m")
			class.Owner = machineRef("owner").UID
			b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: operation, Times: 1, Done: true})
			if _, err := b.create(class, ref, "x"); err == nil {
				t.Fatal("the reply was not lost")
			}
			if err := b.cloud.Do("terminate", "m"); (err == nil) == (operation == "secrets.create") {
				t.Fatal(err)
			}
			lister, _ := provider.As[provider.LeftoverLister](b.session(class))
			for l, err := range lister.Leftovers(t.Context()) {
				if err != nil || l.UID != ref.UID || l.Owner != class.Owner || l.Namespace != ref.Namespace || l.Name != "m" {
					t.Errorf("lists %+v, %v", l, err)
				}
			}
			b.removed(class, ref)
			if left := b.cloud.Dependants(); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// TestIgnitionOfTheOriginal: the secret of OpenShift's original is deleted with its virtual machine.
func TestIgnitionOfTheOriginal(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	if err := b.plant(class, provider.Instance{Name: "m"}); err != nil {
		t.Fatal(err)
	}
	b.cloud.Create("/api/v1/namespaces/demo/secrets", []byte(`{"metadata":{"name":"m-ignition","labels":{"tenantcluster-c1-machine.openshift.io":"owned"}}}`))
	b.cloud.Create("/api/v1/namespaces/demo/secrets", []byte(`{"metadata":{"name":"n-ignition","labels":{"tenantcluster-c1-machine.openshift.io":"owned"}}}`))
	ref := machineRef("m")
	b.removed(class, ref, b.only(class, ref))
	if left := b.dependants()["Secret"]; !slices.Equal(left, []string{"n-ignition"}) {
		t.Errorf("%v are left", left)
	}
}

// TestFault: a virtual machine that does not start has a fault with a cause and a scope.
func TestFault(t *testing.T) {
	for _, r := range []struct {
		reason, spec string
		do           func(*bench)
		kind         provider.Kind
		scope        provider.Scope
		text         string
	}{
		{"no node has room", `{}`, func(b *bench) { _ = b.cloud.Do("fail", "m") }, provider.Exhausted, provider.ScopeType, "Insufficient memory"},
		{"the zone has no room", `{}`, func(b *bench) { _ = b.cloud.Do("exhaust", "zone-1") }, provider.Exhausted, provider.ScopeType, "Insufficient memory"},
		{"there is no such zone", `{"zone":"zone-9"}`, nil, provider.Exhausted, provider.ScopeZone, "no node of the zone"},
		{"there is no such network", `{"networkName":"nope"}`, nil, provider.Transient, "", "network attachment definition demo/nope"},
		{
			"there is no such claim", `{"additionalVolumes":[{"name":"d","volumeSource":{"persistentVolumeClaim":{"claimName":"nope"}}}]}`, nil,
			provider.Invalid, "", "PVC demo/nope not found",
		},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t)
			class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
			class.Spec = patched(t, openshiftSpec, r.spec)
			if _, err := b.create(class, ref, "x"); err != nil {
				t.Fatal(err)
			}
			if r.do != nil {
				r.do(b)
			}
			b.clock.Advance(2 * time.Second)
			if i := b.only(class, ref); r.kind == provider.Exhausted && (i.Fault != nil || i.State != provider.Pending) {
				t.Errorf("it is given up at once: %v", i.Fault)
			}
			b.clock.Advance(2 * time.Minute)
			i := b.only(class, ref)
			if i.Fault == nil || i.Fault.Kind != r.kind || i.Fault.Scope != r.scope || !strings.Contains(i.Fault.Error(), r.text) || i.State != provider.Stopped {
				t.Errorf("it is %s, with the fault %+v, want %s %s about %s", i.State, i.Fault, r.kind, r.scope, r.text)
			}
		})
	}
}

// TestNoFaultAfterItRan: an error of a virtual machine that has run is no fault.
func TestNoFaultAfterItRan(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	s := b.session(class)
	keeper, _ := provider.As[provider.Maintainer](s)
	if !keeper.Unkept(ref, i) {
		t.Fatal("nobody has to note that it ran")
	}
	if err := keeper.Maintain(t.Context(), ref, i); err != nil {
		t.Fatal(err)
	}
	_ = b.cloud.Do("fail", "m")
	_ = b.cloud.Do("stop", "m")
	_ = b.cloud.Do("start", "m")
	b.clock.Advance(10 * time.Minute)
	b.only(class, ref)
	b.clock.Advance(10 * time.Minute)
	if i := b.only(class, ref); i.Fault != nil || i.State != provider.Pending || i.RawState != "ErrorUnschedulable" {
		t.Errorf("it is %s (%s) with the fault %v", i.State, i.RawState, i.Fault)
	}
}

// TestAdopted: an original's virtual machine gets our labels once the machine has recorded it.
func TestAdopted(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	if err := b.plant(class, provider.Instance{Name: "m"}); err != nil {
		t.Fatal(err)
	}
	i := b.only(class, ref)
	s := b.session(class)
	keeper, _ := provider.As[provider.Maintainer](s)
	if keeper.Unkept(ref, i) {
		t.Error("it is labelled before the machine has recorded it")
	}
	ref.ProviderID = i.ProviderID
	others := i
	others.UID = machineRef("another").UID
	if keeper.Unkept(ref, others) {
		t.Error("what is another machine's is labelled as this one's")
	}
	if err := keeper.Maintain(t.Context(), ref, i); err != nil {
		t.Fatal(err)
	}
	if i = b.only(class, ref); i.UID != ref.UID || i.Owner != "" || keeper.Unkept(ref, i) {
		t.Errorf("it has become %+v", i)
	}
}

// TestElsewhere: a provider ID of another namespace names nothing in this one.
func TestElsewhere(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	b.running(class, machineRef("m"))
	for id, want := range map[string]int{
		"kubevirt://demo/m": 1, "kubevirt://m": 1, "kubevirt://other/m": 0, "kubevirt://demo/m/x": 0, "kubevirt://": 0, "aws:///m": 0, "kubevirt://..": 0,
	} {
		ref := machineRef("restored")
		ref.ProviderID = id
		found, err := b.session(class).Find(t.Context(), ref)
		if err != nil || len(found) != want {
			t.Errorf("%s finds %d, %v, want %d", id, len(found), err, want)
		}
	}
}

// TestRepeatedReboot: a request ends one instance, also if the first call ended halfway.
func TestRepeatedReboot(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	i := b.running(class, ref)
	powerer, _ := provider.As[provider.Powerer](b.session(class))
	instance := func() string {
		uid, _ := under(b.cloud.Object("virtualmachineinstances", "demo", "m"), "metadata.uid").(string)
		return uid
	}
	first := instance()
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "virtualmachineinstances.delete", Times: 1})
	if err := powerer.Power(t.Context(), ref, i, provider.Reboot, "r1"); err == nil || instance() != first {
		t.Fatalf("error %v", err)
	}
	if err := powerer.Power(t.Context(), ref, i, provider.Reboot, "r1"); err != nil || instance() == first {
		t.Fatalf("the first call ended half way, and the second does nothing: %v", err)
	}
	b.running(class, ref)
	second := instance()
	if err := powerer.Power(t.Context(), ref, i, provider.Reboot, "r1"); err != nil || instance() != second {
		t.Errorf("the same request again ends another instance: %v", err)
	}
	if err := powerer.Power(t.Context(), ref, provider.Instance{ID: "nobody"}, provider.Reboot, "r1"); provider.KindOf(err) != provider.Conflict {
		t.Errorf("a reboot of what is not there is %v", err)
	}
}

// TestRole: the permissions in the documentation are enough for all calls, and each of them is needed.
func TestRole(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/providers/kubevirt-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role struct{ Rules []kubevirt.Rule }
	if err := yaml.Unmarshal(raw, &role); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.cloud.SetRules(user, role.Rules)
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		class, ref := b.class(api, "c1"), machineRef("m")
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "virtualmachines.create", Times: 1})
		if _, err := b.create(class, ref, "half made"); provider.KindOf(err) != provider.Transient {
			t.Fatal(err)
		}
		i := b.running(class, ref)
		s := b.session(class)
		keeper, _ := provider.As[provider.Maintainer](s)
		powerer, _ := provider.As[provider.Powerer](s)
		lister, _ := provider.As[provider.LeftoverLister](s)
		_, err := s.Account(t.Context())
		for _, err := range []error{err, keeper.Maintain(t.Context(), ref, i), powerer.Power(t.Context(), ref, i, provider.Reboot, "r")} {
			if err != nil {
				t.Error(err)
			}
		}
		for _, err := range s.List(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		for _, err := range lister.Leftovers(t.Context()) {
			if err != nil {
				t.Error(err)
			}
		}
		b.removed(class, ref, i)
		b.leftBehind(class, ref)
		if done, err := b.session(class).Delete(t.Context(), ref, nil); done || err != nil {
			t.Errorf("what was asked to go is said to be gone: %v", err)
		}
		b.removed(class, ref)
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

// leftBehind creates the leftovers of a machine whose virtual machine was deleted alone: those with a
// finalizer, for example.
func (b *bench) leftBehind(class provider.Class, ref provider.Ref) {
	b.t.Helper()
	meta := fmt.Sprintf(`"metadata":{"name":"left","labels":{"millwright.dev/machine-uid":%q,"millwright.dev/cluster":%q}}`, ref.UID, class.Cluster)
	for _, path := range []string{"/api/v1/namespaces/demo/secrets", "/api/v1/namespaces/demo/persistentvolumeclaims", "/apis/cdi.kubevirt.io/v1beta1/namespaces/demo/datavolumes"} {
		b.cloud.Create(path, []byte(`{`+meta+`}`))
	}
}

func patched(t *testing.T, base, patch string) []byte {
	t.Helper()
	var into, changes map[string]any
	if err := json.Unmarshal([]byte(base), &into); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(patch), &changes); err != nil {
		t.Fatal(err)
	}
	for key, value := range changes {
		into[key] = value
	}
	raw, _ := json.Marshal(into)
	return raw
}

func TestSize(t *testing.T) {
	sizer, _ := provider.As[provider.Sizer](newBench(t).session(newBench(t).class(provider.Gardener, "c1")))
	size, err := sizer.Size(t.Context())
	want := provider.Size{VCPU: 2, MemoryMiB: 4096, EphemeralStorageMiB: 20480, Labels: map[string]string{
		"topology.kubernetes.io/zone": "zone-1", "topology.kubernetes.io/region": "region-1",
	}}
	if err != nil || !reflect.DeepEqual(size, want) {
		t.Errorf("is %+v, %v", size, err)
	}
}
