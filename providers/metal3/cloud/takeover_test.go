package cloud_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/metal3"
	"github.com/millwright-dev/millwright/provider"
)

// TestForeign: a host of another owner is neither found nor changed, whatever labels of ours are left on it.
func TestForeign(t *testing.T) {
	for _, r := range []struct {
		reason   string
		consumer map[string]any
	}{
		{"another machine has it", map[string]any{"kind": "Machine", "namespace": "machines", "name": "other", "apiVersion": versions[provider.OpenShift]}},
		{"a machine of the name in another namespace", map[string]any{"kind": "Machine", "namespace": "elsewhere", "name": "m", "apiVersion": versions[provider.OpenShift]}},
		{"another kind has it", map[string]any{"kind": "Metal3Machine", "namespace": "machines", "name": "m", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1"}},
		{"a machine of an API that is not ours", map[string]any{"kind": "Machine", "namespace": "machines", "name": "m", "apiVersion": "cluster.x-k8s.io/v1beta1"}},
		{"nobody has it", nil},
	} {
		t.Run(r.reason, func(t *testing.T) {
			for _, b := range []*bench{newBench(t), besides(t)} {
				class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
				i := b.running(class, ref)
				_, name, _ := strings.Cut(i.ID, "/")
				is := any(r.consumer)
				if r.consumer == nil {
					is = nil
				}
				b.change(name, map[string]any{"spec": map[string]any{"consumerRef": is}})
				before, _ := yaml.Marshal(b.host(name)["spec"])
				if found, err := b.session(class).Find(t.Context(), ref); len(found) > 0 || err != nil {
					t.Errorf("%v is found, %v", found, err)
				}
				ref.ProviderID = i.ProviderID
				if found, err := b.session(class).Find(t.Context(), ref); len(found) > 0 || err != nil {
					t.Errorf("by provider ID %v is found, %v", found, err)
				}
				b.removed(class, ref, i)
				powerer, _ := provider.As[provider.Powerer](b.session(class))
				if err := powerer.Power(t.Context(), ref, i, provider.Reboot, "r"); provider.KindOf(err) != provider.Conflict {
					t.Errorf("a reboot says %v", err)
				}
				if after, _ := yaml.Marshal(b.host(name)["spec"]); string(after) != string(before) {
					t.Errorf("has become\n%s, was\n%s", after, before)
				}
			}
		})
	}
}

// TestAdopted: a host that the original claimed belongs to its machine, gets our labels once the machine has
// recorded it, and is released.
func TestAdopted(t *testing.T) {
	for _, external := range []bool{false, true} {
		b := besides(t)
		class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
		name := b.cloud.Plant(metal3.Planted{Name: "old", Namespace: "machines", ExternallyProvisioned: external, Consumer: map[string]any{
			"kind": "Machine", "namespace": "machines", "name": "m", "apiVersion": versions[provider.OpenShift],
		}})
		i := b.only(class, ref)
		s := b.session(class)
		keeper, _ := provider.As[provider.Maintainer](s)
		if i.UID != "" || i.State != provider.Running || !strings.HasPrefix(i.ProviderID, "baremetalhost:///machines/"+name+"/") || keeper.Unkept(ref, i) {
			t.Errorf("it is %+v, and marked before the machine has recorded it", i)
		}
		ref.ProviderID = i.ProviderID
		if err := keeper.Maintain(t.Context(), ref, i); err != nil {
			t.Fatal(err)
		}
		if i = b.only(class, ref); i.UID != ref.UID || i.Owner != "" || keeper.Unkept(ref, i) {
			t.Errorf("it has become %+v", i)
		}
		b.removed(class, ref)
		if h := b.host(name); h.At("spec", "consumerRef") != nil || h.At("status", "poweredOn") != false {
			t.Errorf("external %t: it is given back as %v", external, h)
		}
	}
}

// TestFormerProviderID: the original's former provider IDs have no UID; and a host that was created again
// under the same name is another host.
func TestFormerProviderID(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	i := b.running(class, machineRef("m"))
	for id, want := range map[string]int{
		"baremetalhost:///" + i.ID: 1, i.ProviderID: 1, "baremetalhost:///" + i.ID + "/another": 0, "baremetalhost:///" + i.ID + "/": 0,
		strings.Replace(i.ProviderID, "demo", "other", 1): 0, "baremetalhost:///demo": 0, "baremetalhost:///../x": 0, "aws:///" + i.ID: 0,
	} {
		ref := machineRef("restored")
		ref.ProviderID = id
		found, err := b.session(class).Find(t.Context(), ref)
		if err != nil || len(found) != want {
			t.Errorf("%s finds %d, %v, want %d", id, len(found), err, want)
		}
	}
}

// TestNamespaces: in the machines' cluster, a machine gets a host of its own namespace, and hosts of all
// namespaces are listed, unless one is configured.
func TestNamespaces(t *testing.T) {
	b := besides(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	elsewhere := ref
	elsewhere.Namespace, elsewhere.UID = longest, machineRef("e").UID
	for _, r := range []provider.Ref{ref, elsewhere} {
		if i, err := b.create(class, r, "x"); err != nil || !strings.HasPrefix(i.ID, r.Namespace+"/") {
			t.Errorf("%s gets %s, %v", r.Namespace, i.ID, err)
		}
	}
	n := 0
	for i, err := range b.session(class).List(t.Context()) {
		if err != nil || i.ID == "" {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d are listed", n)
	}
}

// TestQuirkNobodySwitchesOff: the original waits forever until an externally provisioned host is powered off.
func TestQuirkNobodySwitchesOff(t *testing.T) {
	b := besides(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	name := b.cloud.Plant(metal3.Planted{Name: "old", Namespace: "machines", ExternallyProvisioned: true, Consumer: map[string]any{
		"kind": "Machine", "namespace": "machines", "name": "m", "apiVersion": versions[provider.OpenShift],
	}})
	b.removed(class, ref, b.only(class, ref))
	if b.host(name).At("spec", "online") != false {
		t.Error("nobody switches it off")
	}
}
