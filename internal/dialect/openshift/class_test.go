package openshift_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/provider"
)

func secret(namespace, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func bytesOf(kv ...string) map[string][]byte {
	out := map[string][]byte{}
	for i := 0; i+1 < len(kv); i += 2 {
		out[kv[i]] = []byte(kv[i+1])
	}
	return out
}

// TestClass: what a machine is made from, and which field an error names.
func TestClass(t *testing.T) {
	const both = `{"userDataSecret":{"name":"user"},"credentialsSecret":{"name":"cloud"}}`
	user := secret("openshift-machine-api", "user", bytesOf("userData", "boot"))
	cloud := secret("openshift-machine-api", "cloud", bytesOf("key", "k"))
	for _, c := range []struct {
		name, reason, spec  string
		secrets             []client.Object
		wantErr, wantNoBoot string // parts of the errors; empty for none
		userData            string
		credentials         map[string][]byte
	}{
		{name: "complete", reason: "both secrets in the machine's namespace", spec: both, secrets: []client.Object{user, cloud}, userData: "boot", credentials: bytesOf("key", "k")},
		{name: "no secrets named", reason: "some infrastructures need neither", spec: `{}`},
		{
			name: "other namespace", reason: "a reference may say where", spec: `{"credentialsSecret":{"name":"cloud","namespace":"kube-system"}}`,
			secrets: []client.Object{secret("kube-system", "cloud", bytesOf("key", "far"))}, credentials: bytesOf("key", "far"),
		},
		{
			name: "user data secret missing", reason: "it stops creation only, so the class is there all the same", spec: both, secrets: []client.Object{cloud},
			wantNoBoot: "spec.providerSpec.value.userDataSecret.name: read secret openshift-machine-api/user:", credentials: bytesOf("key", "k"),
		},
		{
			name: "key userData missing", reason: "the secret is there, and not what it should be", spec: both,
			secrets:    []client.Object{secret("openshift-machine-api", "user", bytesOf("userdata", "x")), cloud},
			wantNoBoot: "spec.providerSpec.value.userDataSecret.name: secret openshift-machine-api/user has no key userData", credentials: bytesOf("key", "k"),
		},
		{
			name: "credentials missing", reason: "without them nothing can be asked", spec: both, secrets: []client.Object{user}, userData: "boot",
			wantErr: "spec.providerSpec.value.credentialsSecret.name: read secret openshift-machine-api/cloud:",
		},
		{name: "no spec", reason: "the field is named", wantErr: "spec.providerSpec.value: value field must be set"},
		{name: "undecodable", reason: "the field is named", spec: `["a"]`, wantErr: "spec.providerSpec.value: cannot decode the provider spec"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := freshMachine()
			m.Spec.ProviderSpec.Value = nil
			if c.spec != "" {
				m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(c.spec)}
			}
			got, err := openshift.Resolver{Reader: fake.NewClientBuilder().WithObjects(c.secrets...).Build()}.Class(t.Context(), m)
			names(t, c.reason, err, c.wantErr)
			names(t, c.reason, got.UserDataErr, c.wantNoBoot)
			if string(got.UserData) != c.userData || cmp.Diff(c.credentials, got.Credentials) != "" {
				t.Errorf("%s: user data %q, credentials %q", c.reason, got.UserData, got.Credentials)
			}
			if got.Cluster != "blue" || got.Role != "worker" || got.API != provider.OpenShift {
				t.Errorf("cluster %q, role %q, API %q", got.Cluster, got.Role, got.API)
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

// TestCluster: the scope in which a machine's instance is looked for.
func TestCluster(t *testing.T) {
	resolver := openshift.Resolver{Reader: fake.NewClientBuilder().Build(), DefaultCluster: "default"}
	for _, c := range []struct {
		name, reason, want string
		edit               func(*machinev1.Machine)
	}{
		{"label", "the label names it", "blue", func(*machinev1.Machine) {}},
		{"origin, label changed", "the instance was asked for there", "green", func(m *machinev1.Machine) {
			m.Annotations = map[string]string{"millwright.dev/origin": `{"cluster":"green"}`}
		}},
		{"origin, label gone", "the instance was asked for there", "green", func(m *machinev1.Machine) {
			m.Labels, m.Annotations = nil, map[string]string{"millwright.dev/origin": `{"cluster":"green"}`}
		}},
		{"nothing kept", "a machine that never had an instance", "default", func(m *machinev1.Machine) { m.Labels = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := freshMachine()
			c.edit(m)
			got, err := resolver.Class(t.Context(), m)
			if err != nil || got.Cluster != c.want {
				t.Errorf("%s: cluster %q (%v), want %q: %s", c.name, got.Cluster, err, c.want, c.reason)
			}
		})
	}
}
