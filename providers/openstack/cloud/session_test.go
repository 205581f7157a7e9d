package cloud_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// infrastructureRef is the object that describes the infrastructure of OpenShift's cluster.
var infrastructureRef = provider.ObjectRef{APIVersion: "config.openshift.io/v1", Kind: "Infrastructure", Name: "cluster"}

// TestVIPs: ports accept the addresses that float between nodes, unless users have load balancers, or the
// network forbids it.
func TestVIPs(t *testing.T) {
	platform := func(p string) string {
		return `{"status":{"platformStatus":{"type":"OpenStack","openstack":{` + p + `}}}}`
	}
	const ips = `"apiServerInternalIPs":["10.9.0.5"],"ingressIPs":["10.9.0.7"]`
	for _, r := range []struct {
		reason, object, set string
		want                bool
	}{
		{"a cluster of OpenShift", platform(ips), `{}`, true},
		{"an older one", platform(`"apiServerInternalIP":"10.9.0.5","ingressIP":"10.9.0.7"`), `{}`, true},
		{"load balancers of the users", platform(ips + `,"loadBalancer":{"type":"UserManaged"}`), `{}`, false},
		{"the network says no", platform(ips), `{"networks":[{"uuid":"` + net1 + `","noAllowedAddressPairs":true}]}`, false},
		{"port security is off", platform(ips), `{"networks":[{"uuid":"` + net1 + `","portSecurity":false}]}`, false},
		{"another cluster", ``, `{}`, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t)
			if r.object != "" {
				b.objects[infrastructureRef] = r.object
			}
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), r.set)
			b.running(b.session(class), ref("m"))
			has := slices.ContainsFunc(b.sent.With(ports), func(s string) bool {
				return strings.Contains(s, `"allowed_address_pairs":[{"ip_address":"10.9.0.5"},{"ip_address":"10.9.0.7"}]`)
			})
			if has != r.want {
				t.Errorf("%v", b.sent.With(ports))
			}
		})
	}
}

// TestUserData: it is encoded once, whatever it looks like, and processing that only the original does is
// reported as an error.
func TestUserData(t *testing.T) {
	for _, data := range []string{"#cloud-config\n", "data", "aGVsbG8=", `{"ignition":{"version":"3.2.0"}}`, "\x00\xff"} {
		b := newBench(t)
		s := b.session(b.class(provider.OpenShift, "c1"))
		if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(time.Minute)
		if all := b.cloud.Guests(); len(all) != 1 || string(all[0].UserData) != data {
			t.Errorf("%q arrives as %q", data, all[0].UserData)
		}
	}
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, r := range []struct{ reason, keys, data, text string }{
		{"a template", ``, "{{ .Machine.Name }}", "add the key disableTemplating"},
		{"none, it says", `"disableTemplating":"` + encoded("true") + `",`, "{{ .Machine.Name }}", ""},
		{"no template", ``, "#cloud-config", ""},
		{"a postprocessor", `"postprocessor":"` + encoded("ct") + `",`, "#cloud-config", `postprocessor "ct"`},
	} {
		b := newBench(t)
		b.objects[provider.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: ref("m").Namespace, Name: "worker-user-data"}] = `{"data":{` + r.keys + `"userData":""}}`
		_, err := b.session(b.class(provider.OpenShift, "c1")).Create(t.Context(), ref("m"), provider.Want{UserData: []byte(r.data)})
		if (r.text == "") != (err == nil) || err != nil && (provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), r.text)) {
			t.Errorf("%s: %v", r.reason, err)
		}
	}
}

func TestReadSpec(t *testing.T) {
	p := newBench(t).start().(provider.SpecReader)
	spec := `{"cloudsSecret":{"name":"clouds","namespace":"a"},"userDataSecret":{"name":"data"}}`
	names, err := p.ReadSpec(provider.OpenShift, []byte(spec))
	if err != nil || names != (provider.SpecNames{UserData: provider.SecretRef{Name: "data"}, Credentials: provider.SecretRef{Namespace: "a", Name: "clouds"}}) {
		t.Errorf("%+v %v", names, err)
	}
	if names, err = p.ReadSpec(provider.Gardener, []byte(gardenerSpec)); err != nil || names != (provider.SpecNames{Region: "RegionOne"}) {
		t.Errorf("%+v %v", names, err)
	}
}

func TestSize(t *testing.T) {
	b := newBench(t)
	for _, r := range []struct {
		reason, set string
		want        provider.Size
	}{
		{"a flavor", `{}`, provider.Size{VCPU: 2, MemoryMiB: 4096, Architecture: "amd64", EphemeralStorageMiB: 10 << 10}},
		{"with accelerators", `{"flavor":"g1.gpu"}`, provider.Size{VCPU: 8, MemoryMiB: 32768, GPU: 2, Architecture: "amd64", EphemeralStorageMiB: 80 << 10}},
		{"a root volume", `{"rootVolume":{"diskSize":33}}`, provider.Size{VCPU: 2, MemoryMiB: 4096, Architecture: "amd64", EphemeralStorageMiB: 33 << 10}},
		{"an image that does not say", `{"image":"gardenlinux"}`, provider.Size{VCPU: 2, MemoryMiB: 4096, EphemeralStorageMiB: 10 << 10}},
	} {
		class := b.class(provider.OpenShift, "c1")
		class.Spec = merged(t, string(class.Spec), r.set)
		got, err := b.session(class).(provider.Sizer).Size(t.Context())
		if err != nil || got.Labels[corev1.LabelInstanceTypeStable] == "" || got.Labels[corev1.LabelTopologyRegion] != "RegionOne" {
			t.Errorf("%s: %+v, %v", r.reason, got, err)
		}
		got.Labels = nil
		if got.VCPU != r.want.VCPU || got.MemoryMiB != r.want.MemoryMiB || got.GPU != r.want.GPU || got.Architecture != r.want.Architecture || got.EphemeralStorageMiB != r.want.EphemeralStorageMiB {
			t.Errorf("%s: %+v, want %+v", r.reason, got, r.want)
		}
	}
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"flavor":"nope"}`)
	if _, err := b.session(class).(provider.Sizer).Size(t.Context()); provider.KindOf(err) != provider.Invalid {
		t.Error(err)
	}
}

// TestTagsOfUsersDoNotStandIn: tags of users do not replace those that record a server's owner.
func TestTagsOfUsersDoNotStandIn(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"serverMetadata":{"millwright.dev-machine-uid":"forged","millwright.dev-owner":"forged","millwright.dev-cluster":"forged"}}`)
	i := b.running(b.session(class), ref("m"))
	if i.UID != ref("m").UID || i.Owner != "" {
		t.Errorf("%+v", i)
	}
	if found, err := b.session(class).Find(t.Context(), ref("m")); err != nil || len(found) != 1 || found[0].Owner != "" || found[0].Tags["millwright.dev-cluster"] != "c1" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestStates: the engine's state for each state of Nova.
func TestStates(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	for verb, want := range map[string]provider.State{"stop": provider.Stopped, "start": provider.Running} {
		if err := b.cloud.Do(verb, i.ID); err != nil {
			t.Fatal(err)
		}
		if found, err := s.Find(t.Context(), ref("m")); err != nil || found[0].State != want {
			t.Errorf("%s: %+v, %v", verb, found, err)
		}
	}
	names := map[corev1.NodeAddressType][]string{}
	for _, a := range i.Addresses {
		names[a.Type] = append(names[a.Type], a.Address)
	}
	want := map[corev1.NodeAddressType][]string{corev1.NodeInternalIP: names[corev1.NodeInternalIP], corev1.NodeHostName: {"m"}, corev1.NodeInternalDNS: {"m"}}
	if !maps.EqualFunc(names, want, slices.Equal) || len(names[corev1.NodeInternalIP]) != 1 || i.NodeName != "m" {
		t.Errorf("the addresses are %v", i.Addresses)
	}
}

// TestConsole reads the end, and nothing if there is no output yet.
func TestConsole(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	made, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot})
	if err != nil {
		t.Fatal(err)
	}
	reader := s.(provider.ConsoleReader)
	if out, err := reader.Console(t.Context(), ref("m"), made, 1000); err != nil || out != "" {
		t.Errorf("before it boots: %q, %v", out, err)
	}
	b.clock.Advance(time.Minute)
	if out, err := reader.Console(t.Context(), ref("m"), made, 8); err != nil || out != "login: \n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestScopes: specs of one cluster share a listing, whatever else is in them; other owner keys of Gardener
// are another scope.
func TestScopes(t *testing.T) {
	b := newBench(t)
	scope := func(api, set string) string {
		class := b.class(api, "c1")
		class.Spec = merged(t, string(class.Spec), set)
		return b.session(class).Traits().Scope
	}
	if scope(provider.OpenShift, `{}`) != scope(provider.OpenShift, `{"flavor":"m1.large","tags":["x"]}`) {
		t.Error("two specs of one cluster are listed apart")
	}
	if scope(provider.Gardener, `{}`) == scope(provider.Gardener, `{"spec":{"tags":{"kubernetes.io-role-node":null,"kubernetes.io-cluster-c1":null,"kubernetes.io-cluster-c2":"1"}}}`) {
		t.Error("two shoots are listed together")
	}
}

// TestServersOfAnotherShoot: if two shoots share the class's cluster name, their own keys distinguish them.
func TestServersOfAnotherShoot(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.PageSize = 100 })
	mine, theirs := b.class(provider.Gardener, "c1"), b.class(provider.Gardener, "c1")
	theirs.Spec = []byte(strings.ReplaceAll(gardenerSpec, "CLUSTER", "other"))
	b.running(b.session(mine), ref("m"))
	for range b.session(theirs).List(t.Context()) {
		t.Error("a server of another shoot is listed")
	}
	if found, err := b.session(theirs).Find(t.Context(), ref("m")); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
}
