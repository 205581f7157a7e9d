package devplanetest

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
)

func TestMain(m *testing.M) {
	os.Exit(Main(m, Options{NoCRDs: true}))
}

func TestTestsShareOneControlPlane(t *testing.T) {
	if first, second := Start(t), Start(t); first != second {
		t.Error("two calls gave two control planes")
	}
	if err := Start(t).Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNamespaceIsThisTestsOwn(t *testing.T) {
	first, second := Namespace(t), Namespace(t)
	if first == second {
		t.Fatalf("both are %s", first)
	}
	namespaces := Start(t).Client.CoreV1().Namespaces()
	t.Run("gone with the test that made it", func(t *testing.T) {
		var name string
		t.Run("inner", func(t *testing.T) { name = Namespace(t) })
		namespace, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && namespace.DeletionTimestamp == nil {
			t.Error("nobody asked for its deletion")
		}
	})
	for _, name := range []string{first, second} {
		if _, err := namespaces.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestBootstrapTokenIsAccepted(t *testing.T) {
	env := Start(t)
	token := BootstrapToken(t, env.Client)
	id, _, _ := strings.Cut(token, ".")
	secret, err := env.Client.CoreV1().Secrets(metav1.NamespaceSystem).Get(t.Context(), "bootstrap-token-"+id, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(secret.Data["auth-extra-groups"]); got != devplane.BootstrapGroup {
		t.Errorf("group is %q", got)
	}
	if len(token) != 6+1+16 {
		t.Errorf("token %q is not of the form id.secret", token)
	}
}
