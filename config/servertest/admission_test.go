package servertest

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// secretOf returns a secret of kube-system.
func secretOf(name, kind string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Type: corev1.SecretType(kind)}
	if kind == string(corev1.SecretTypeServiceAccountToken) {
		s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	}
	return s
}

// TestMachineControllerWritesOnlyBootstrapTokens: with its rights on Secrets of kube-system, the machine controller cannot get
// the rights of the accounts there.
func TestMachineControllerWritesOnlyBootstrapTokens(t *testing.T) {
	install(t)
	config := rest.CopyConfig(devplanetest.Start(t).Config)
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*corev1.Secret{secretOf("theirs", "Opaque"), secretOf("bootstrap-token-theirs", "Opaque")} {
		if err := admin.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:millwright-system:machine-controller"}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// A policy takes effect shortly after it was stored.
	probe := func() error { return c.Create(t.Context(), secretOf("probe", "Opaque"), client.DryRunAll) }
	for end := time.Now().Add(time.Minute); probe() == nil && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	edit := func(name string) error {
		s := secretOf(name, "Opaque")
		return c.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"YQ=="}}`)))
	}
	for what, r := range map[string]struct {
		err  error
		want string
	}{
		"create the token of an account":                 {c.Create(t.Context(), secretOf("sa", "kubernetes.io/service-account-token")), "only secrets that are called bootstrap-token-<id>"},
		"create one under the name of a bootstrap token": {c.Create(t.Context(), secretOf("bootstrap-token-abcdef", "kubernetes.io/service-account-token")), "only secrets of type bootstrap.kubernetes.io/token"},
		"create one under a name that is made up": {c.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", GenerateName: "x-"},
		}), "only secrets that are called"},
		"change another secret":                 {edit("theirs"), "only secrets that are called"},
		"change one of another type":            {edit("bootstrap-token-theirs"), "only secrets of type"},
		"delete another secret":                 {c.Delete(t.Context(), secretOf("theirs", "Opaque")), "only secrets that are called"},
		"delete one of another type":            {c.Delete(t.Context(), secretOf("bootstrap-token-theirs", "Opaque")), "only secrets of type"},
		"write another secret, for others":      {admin.Patch(t.Context(), secretOf("theirs", "Opaque"), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"YQ=="}}`))), ""},
		"list secrets, which RBAC is to refuse": {c.List(t.Context(), &corev1.SecretList{}, client.InNamespace("kube-system")), "cannot list resource"},
	} {
		switch {
		case r.want == "" && r.err != nil:
			t.Errorf("%s: %v", what, r.err)
		case r.want != "" && (!apierrors.IsForbidden(r.err) || !strings.Contains(r.err.Error(), r.want)):
			t.Errorf("%s: %v, want a refusal that says %q", what, r.err, r.want)
		}
	}
	bootstraps(t, c)
}

// TestPolicyFollowsTheRole: the policy applies to each account with the Role, under any name, and to no other account.
func TestPolicyFollowsTheRole(t *testing.T) {
	install(t)
	config := rest.CopyConfig(devplanetest.Start(t).Config)
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bind := func(name, role string, rules []rbacv1.PolicyRule, subject rbacv1.Subject) {
		if rules != nil {
			r := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: role}, Rules: rules}
			if err := admin.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Subjects: []rbacv1.Subject{subject}}
		b.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role}
		if err := admin.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	person := func(kind, name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	bind("moved", "machine-controller", nil, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "elsewhere", Name: "acme-machine-controller"})
	bind("user", "machine-controller", nil, person("User", "joe"))
	bind("group", "machine-controller", nil, person("Group", "machine-controllers"))
	secrets := func(verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs}}
	}
	bind("creator", "creator", secrets("create", "get"), person("User", "creator"))
	bind("owner", "owner", []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}, person("User", "owner"))
	for _, c := range []struct {
		reason  string
		as      rest.ImpersonationConfig
		bounded bool
	}{
		{"an account of another name and namespace", rest.ImpersonationConfig{UserName: "system:serviceaccount:elsewhere:acme-machine-controller"}, true},
		{"a user", rest.ImpersonationConfig{UserName: "joe"}, true},
		{"a group", rest.ImpersonationConfig{UserName: "jane", Groups: []string{"machine-controllers"}}, true},
		{"a program of others that creates secrets", rest.ImpersonationConfig{UserName: "creator"}, false},
		{"who may do everything there", rest.ImpersonationConfig{UserName: "owner"}, false},
		{"an administrator", rest.ImpersonationConfig{UserName: "root", Groups: []string{"system:masters"}}, false},
	} {
		as := rest.CopyConfig(config)
		as.Impersonate = c.as
		user, err := client.New(as, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*corev1.Secret{secretOf("sa", "kubernetes.io/service-account-token"), secretOf("x", "Opaque")} {
			denied := func() bool {
				err := user.Create(t.Context(), s.DeepCopy(), client.DryRunAll)
				return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
			}
			got := denied()
			for end := time.Now().Add(10 * time.Second); got != c.bounded && time.Now().Before(end); got = denied() {
				time.Sleep(100 * time.Millisecond) // policies and bindings take effect shortly after they were stored
			}
			if got != c.bounded {
				t.Errorf("%s writes %s: denied is %v", c.reason, s.Type, got)
			}
		}
		token := secretOf("bootstrap-token-abcdef", "bootstrap.kubernetes.io/token")
		if err := user.Create(t.Context(), token, client.DryRunAll); err != nil {
			t.Errorf("%s writes a bootstrap token: %v", c.reason, err)
		}
	}
}

// bootstraps creates, extends and deletes tokens as the machine controller does.
func bootstraps(t *testing.T, c client.Client) {
	t.Helper()
	cluster := node.New(c, c, clock.RealClock{})
	owner := provider.Ref{UID: "uid-of-m", Namespace: "ns", Name: "m"}
	for _, lifetime := range []time.Duration{time.Hour, 10 * time.Hour} { // the second one is extended
		if token, err := cluster.Token(t.Context(), node.TokenRequest{Machine: owner, Lifetime: lifetime}); err != nil || token == "" {
			t.Errorf("a token for %v: %q, %v", lifetime, token, err)
		}
	}
	if gone, err := cluster.DropToken(t.Context(), owner, nil); err != nil || !gone {
		t.Errorf("dropped: %v, %v", gone, err)
	}
	if _, ok, err := node.TokenOwner(t.Context(), c, bootstrap.TokenID(owner.UID, 0)); ok || err != nil {
		t.Errorf("after it was dropped there is a token: %v, %v", ok, err)
	}
}
