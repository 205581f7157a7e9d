package gardener_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

func secret(namespace, name string, kv ...string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: bytesOf(kv...)}
}

func bytesOf(kv ...string) map[string][]byte {
	out := map[string][]byte{}
	for i := 0; i+1 < len(kv); i += 2 {
		out[kv[i]] = []byte(kv[i+1])
	}
	return out
}

func reader(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

const ns = "shoot--a--b"

func class(edit func(*v1alpha1.MachineClass)) *v1alpha1.MachineClass {
	c := &v1alpha1.MachineClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pool-a"}, ProviderSpec: runtime.RawExtension{Raw: []byte(`{"a":1}`)},
		SecretRef:            &corev1.SecretReference{Namespace: ns, Name: "user"},
		CredentialsSecretRef: &corev1.SecretReference{Namespace: ns, Name: "cloud"},
	}
	if edit != nil {
		edit(c)
	}
	return c
}

func template() *v1alpha1.NodeTemplate {
	return &v1alpha1.NodeTemplate{
		Capacity:     corev1.ResourceList{"cpu": resource.MustParse("2"), "gpu": resource.MustParse("0"), "memory": resource.MustParse("4Gi")},
		InstanceType: "large", Region: "north", Zone: "north-a",
	}
}

// TestClass: what a machine is made from, and which field an error names.
func TestClass(t *testing.T) {
	user, cloud := secret(ns, "user", "userData", "boot", "key", "old"), secret(ns, "cloud", "key", "new")
	templated := func(edit func(*v1alpha1.NodeTemplate)) func(*v1alpha1.MachineClass) {
		return func(c *v1alpha1.MachineClass) {
			c.NodeTemplate = template()
			edit(c.NodeTemplate)
		}
	}
	for _, c := range []struct {
		name, reason        string
		objects             []client.Object
		wantErr, wantNoBoot string // beginnings of the errors; empty for none
		userData            string
		credentials         map[string][]byte
	}{
		{
			name: "merged", reason: "1.8: the credentials' data wins, the user data is no credential",
			objects: []client.Object{class(nil), user, cloud}, userData: "boot", credentials: bytesOf("key", "new"),
		},
		{name: "class missing", reason: "the reference is named", wantErr: "spec.class.name: read machineclass pool-a:", wantNoBoot: ""},
		{
			name: "credentials missing", reason: "1.8: a secret that does not exist counts as empty",
			objects: []client.Object{class(nil), user}, userData: "boot", credentials: bytesOf("key", "old"),
		},
		{
			name: "user data missing", reason: "1.8: mandatory for creation, which is all that it stops",
			objects: []client.Object{class(nil), cloud}, credentials: bytesOf("key", "new"),
			wantNoBoot: "machineclass pool-a: secretRef: no secret with the key userData; secret " + ns + "/user does not exist",
		},
		{
			name: "other namespace", reason: "11.2 C28: a reference that says where is followed, not read as empty",
			objects: []client.Object{
				class(func(c *v1alpha1.MachineClass) { c.SecretRef.Namespace, c.CredentialsSecretRef = "garden", nil }),
				secret("garden", "user", "userData", "far"),
			}, userData: "far", credentials: bytesOf(),
		},
		{
			name: "whole template", reason: "1.6: nodeTemplate with all that must be there",
			objects: []client.Object{class(templated(func(*v1alpha1.NodeTemplate) {})), user, cloud}, userData: "boot", credentials: bytesOf("key", "new"),
		},
		{
			name: "half capacity", reason: "1.6: cpu, gpu and memory are needed",
			objects: []client.Object{class(templated(func(n *v1alpha1.NodeTemplate) { delete(n.Capacity, "gpu") })), user, cloud}, userData: "boot", credentials: bytesOf("key", "new"),
			wantErr: "machineclass pool-a: nodeTemplate.capacity: must have the key gpu",
		},
		{
			name: "no zone", reason: "1.6: instanceType, region and zone are needed",
			objects: []client.Object{class(templated(func(n *v1alpha1.NodeTemplate) { n.Zone = "" })), user, cloud}, userData: "boot", credentials: bytesOf("key", "new"),
			wantErr: "machineclass pool-a: nodeTemplate.zone: must be set",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := gardener.Resolver{Reader: reader(t, c.objects...), Defaults: gardener.StandardDefaults(), Cluster: ns}
			got, err := d.Class(t.Context(), freshMachine())
			names(t, c.reason, err, c.wantErr)
			names(t, c.reason, got.UserDataErr, c.wantNoBoot)
			if string(got.UserData) != c.userData || cmp.Diff(c.credentials, got.Credentials) != "" {
				t.Errorf("%s: user data %q, credentials %q", c.reason, got.UserData, got.Credentials)
			}
			if got.Cluster != ns || got.API != provider.Gardener || got.TokenLifetime != 20*time.Minute {
				t.Errorf("cluster %q, API %q, token lifetime %v", got.Cluster, got.API, got.TokenLifetime)
			}
			if want := (provider.ObjectRef{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineClass", Namespace: ns, Name: "pool-a"}); got.Object != want {
				t.Errorf("%s: it is declared by %+v, want %+v", c.reason, got.Object, want)
			}
		})
	}
}

func names(t *testing.T, reason string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", reason, err)
	case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
		t.Errorf("%s: error %v, want one that begins with %q", reason, err, want)
	}
}

// TestNodesOfClass: what a class declares that its nodes have is the infrastructure's business, what is virtual the
// engine's.
func TestNodesOfClass(t *testing.T) {
	mc := class(func(c *v1alpha1.MachineClass) {
		c.NodeTemplate = template()
		c.NodeTemplate.VirtualCapacity = corev1.ResourceList{"example.com/virtual": resource.MustParse("1")}
	})
	got, err := gardener.Resolver{Reader: reader(t, mc, secret(ns, "user"), secret(ns, "cloud"))}.Class(t.Context(), freshMachine())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(template().Capacity, got.NodeCapacity); diff != "" {
		t.Errorf("the provider gets to know (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(mc.NodeTemplate.VirtualCapacity, got.Capacity); diff != "" {
		t.Errorf("virtual (-want +got):\n%s", diff)
	}
}

// TestObjection: a provider's objection to the spec shows where the spec is.
func TestObjection(t *testing.T) {
	c, _ := gardener.Resolver{Reader: reader(t)}.Class(t.Context(), freshMachine())
	names(t, "the field is named with the class", c.Objection(provider.InvalidField("zone", "there is none")), "machineclass pool-a: providerSpec.zone: there is none")
}

// TestMachinePolicy: section 1.3, what a machine may override.
func TestMachinePolicy(t *testing.T) {
	span := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	with := func(c v1alpha1.MachineConfiguration) func(*v1alpha1.Machine) {
		return func(m *v1alpha1.Machine) { m.Spec.MachineConfiguration = &c }
	}
	for _, c := range []struct {
		name, reason string
		edit         func(*v1alpha1.Machine)
		ok           func(lifecycle.Policy) bool
	}{
		{"defaults", "20m, 10m, 2h, 360 retries of 20s", func(*v1alpha1.Machine) {}, func(p lifecycle.Policy) bool {
			return p.Join.Timeout == 20*time.Minute && p.Health.Timeout == 10*time.Minute && p.Drain.Timeout == 2*time.Hour &&
				p.Drain.Policy.MaxEvictAttempts == 360 && p.Drain.Policy.RetryEvery == 20*time.Second && len(p.Health.Conditions) == 4
		}},
		{"own timeouts", "the machine's beat the flags", with(v1alpha1.MachineConfiguration{
			MachineCreationTimeout: span(time.Minute), MachineHealthTimeout: span(time.Hour), MachineDrainTimeout: span(100 * time.Second),
		}), func(p lifecycle.Policy) bool {
			return p.Join.Timeout == time.Minute && p.Health.Timeout == time.Hour && p.Drain.Timeout == 100*time.Second && p.Drain.Policy.MaxEvictAttempts == 5
		}},
		{"effective creation timeout", "the annotation beats the spec", func(m *v1alpha1.Machine) {
			with(v1alpha1.MachineConfiguration{MachineCreationTimeout: span(time.Minute)})(m)
			m.Annotations = map[string]string{"node.machine.sapcloud.io/effective-creation-timeout": "7m"}
		}, func(p lifecycle.Policy) bool { return p.Join.Timeout == 7*time.Minute }},
		{"annotation that is no duration", "passed over", func(m *v1alpha1.Machine) {
			m.Annotations = map[string]string{"node.machine.sapcloud.io/effective-creation-timeout": "soon"}
		}, func(p lifecycle.Policy) bool { return p.Join.Timeout == 20*time.Minute }},
		{"disableHealthTimeout", "never Failed for being unhealthy", with(v1alpha1.MachineConfiguration{
			DisableHealthTimeout: ptr.To(true), MachineHealthTimeout: span(time.Minute),
		}), func(p lifecycle.Policy) bool { return p.Health.Timeout == 0 }},
		{"node conditions", "replace the list", with(v1alpha1.MachineConfiguration{NodeConditions: ptr.To("A,B")}), func(p lifecycle.Policy) bool {
			return cmp.Equal(p.Health.Conditions, []string{"A", "B"})
		}},
		{"no node conditions", "an empty list is a list", with(v1alpha1.MachineConfiguration{NodeConditions: ptr.To("")}), func(p lifecycle.Policy) bool {
			return len(p.Health.Conditions) == 0
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := freshMachine()
			c.edit(m)
			if p := (gardener.Machines{Defaults: gardener.StandardDefaults()}).Policy(m); !c.ok(p) {
				t.Errorf("%s: %s: %+v", c.name, c.reason, p)
			}
		})
	}
	if p := (gardener.Machines{}).Policy(freshMachine()); p.Delays.Exhausted != 10*time.Minute {
		t.Errorf("--resource-exhausted-retry=0 stands for 10m, not %v", p.Delays.Exhausted)
	}
}
