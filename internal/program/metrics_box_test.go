package program

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// readMetrics reads what a program serves at a port, as people and Prometheus would.
func readMetrics(t *testing.T, env *devplanetest.Env, namespace string, port int) {
	t.Helper()
	rule := rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}
	permitted, other := reader(t, env, namespace, "prometheus", rule), reader(t, env, namespace, "somebody")
	profiler := reader(t, env, namespace, "profiler", rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/pprof/*"}, Verbs: []string{"get"}})
	for _, c := range []struct {
		reason, method, path, token string
		code                        int
		says                        string
	}{
		{"whoever may get the path", http.MethodGet, "/metrics", permitted, 200, "mapi_machineset_items"},
		{"again, from what is remembered", http.MethodGet, "/metrics", permitted, 200, "mapi_machineset_items"},
		{"somebody of the cluster who may not", http.MethodGet, "/metrics", other, 403, `user "system:serviceaccount:` + namespace + `:somebody" may not get the path /metrics`},
		{"nobody in particular", http.MethodGet, "/metrics", "", 401, "bearer token"},
		{"somebody whom the cluster does not know", http.MethodGet, "/metrics", "made-up", 401, "bearer token"},
		{"kubelets have no token", http.MethodGet, "/healthz", "", 200, "OK"},
		{"kubelets have no token", http.MethodGet, "/readyz", "", 200, "[+]"},
		{"whoever may get profiles, where --profiling is given", http.MethodGet, "/debug/pprof/", profiler, 200, "goroutine"},
		{"metrics are no profiles", http.MethodGet, "/debug/pprof/", permitted, 403, "may not get the path /debug/pprof/"},
		{"a right to read changes nothing", http.MethodPut, "/debug/flags/v", permitted, 403, "may not put the path /debug/flags/v"},
	} {
		eventually(t, func() error {
			code, page, err := ask(t, c.method, fmt.Sprintf("https://127.0.0.1:%d%s", port, c.path), c.token)
			if err == nil && (code != c.code || !strings.Contains(page, c.says)) {
				err = fmt.Errorf("%s: %d, want %d with %q: %.300s", c.reason, code, c.code, c.says, page)
			}
			return err
		})
	}
	if code, _, err := ask(t, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), permitted); err == nil && code == 200 {
		t.Error("metrics are served in plain HTTP")
	}
}

// reader is the token of a service account with a role of these rules.
func reader(t *testing.T, env *devplanetest.Env, namespace, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	meta := metav1.ObjectMeta{Name: name + "-" + namespace}
	_, err := env.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(err)
	_, err = env.Client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	must(err)
	_, err = env.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	}, metav1.CreateOptions{})
	must(err)
	token, err := env.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(err)
	return token.Status.Token
}

func ask(t *testing.T, method, url, token string) (code int, page string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(raw), err
}
