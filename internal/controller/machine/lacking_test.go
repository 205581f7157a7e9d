package machine_test

import (
	"encoding/json"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// access are credentials in a secret of their own.
func access() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "access"}, Data: map[string][]byte{"key": []byte("k")}}
}

// TestADeletionSaysWhichSecretIsGone: the deletion of a namespace deletes the secrets and the class of a
// machine with it, in any order. The machine stays with its instance, and says what to restore, or how to
// do without it: a message that access is denied would not help.
func TestADeletionSaysWhichSecretIsGone(t *testing.T) {
	for _, tc := range []struct {
		reason, refused string
		lose            client.Object
		says            string
	}{
		{"the credentials went first, and nothing can be looked up without", "find", access(), "access"},
		{"removal needs them as well", "delete", access(), "access"},
		{"what opens no session has a reason as well", "open", access(), "access"},
	} {
		t.Run("openshift, "+tc.refused, func(t *testing.T) {
			g := openshiftRig(t, func(m *machinev1.Machine) {
				m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"userDataSecret":{"name":"user"},"credentialsSecret":{"name":"access"}}`)}
			})
			waitsFor(t, g, tc.lose, tc.refused, tc.says, tc.reason)
		})
		t.Run("gardener, "+tc.refused, func(t *testing.T) { waitsFor(t, withAccess(t), tc.lose, tc.refused, tc.says, tc.reason) })
		t.Run("gardener without its class, "+tc.refused, func(t *testing.T) {
			waitsFor(t, withAccess(t), machineClass(), tc.refused, "machineclass pool-a", tc.reason)
		})
	}
}

// withAccess has a class with credentials.
func withAccess(t *testing.T) *rig[*v1alpha1.Machine] {
	g := gardenerRig(t)
	c := machineClass()
	if err := g.control.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		t.Fatal(err)
	}
	c.CredentialsSecretRef = &corev1.SecretReference{Namespace: ns, Name: "access"}
	if err := g.control.WithWatch.Delete(t.Context(), machineClass()); err != nil {
		t.Fatal(err)
	}
	c.ResourceVersion = ""
	if err := g.control.WithWatch.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return g
}

func waitsFor[M client.Object](t *testing.T, g *rig[M], lost client.Object, refused, says, reason string) {
	t.Helper()
	if err := g.control.WithWatch.Create(t.Context(), access()); err != nil {
		t.Fatal(err)
	}
	g.settle()
	if err := g.control.WithWatch.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	no := provider.Errorf(provider.Denied, "not authorized")
	switch refused {
	case "find":
		g.cloud.findErr = no
	case "delete":
		g.cloud.deleteErr = no
	case "open":
		g.cloud.openErr = func(provider.Class) error { return no }
	}
	g.delete()
	for range 3 {
		g.clock.Step(g.pass().RequeueAfter)
	}
	if g.gone() || len(g.cloud.instances) != 1 {
		t.Fatalf("gone %v, %d instances: %s", g.gone(), len(g.cloud.instances), reason)
	}
	raw, err := json.Marshal(g.read())
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Status json.RawMessage }
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if text := string(m.Status); !strings.Contains(text, says) || !strings.Contains(text, "not authorized") {
		t.Errorf("it does not say that %s is missing: %s: %s", says, text, reason)
	}
}
