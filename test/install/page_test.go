package install

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

// serves adds the page to the release, and reads the fleet with the token of a user who may view it.
func (h *installation) serves(t *testing.T) {
	t.Helper()
	name := "machine-ui." + h.namespace + ".svc"
	crt, key, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")}
	for i, text := range [][]byte{crt, key} {
		if err := os.WriteFile(files[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.must(t, "-n", h.namespace, "create", "secret", "tls", "machine-ui-cert", "--cert="+files[0], "--key="+files[1])
	h.types(t, "helm upgrade millwright dist/packages/charts/millwright -n millwright-system --reuse-values --set ui.enabled=true")
	h.must(t, "-n", h.namespace, "rollout", "status", "deployment/machine-ui", "--timeout=2m")
	// In the namespace of the programs, the account would be judged as one of them: the API server may refuse a user's requests.
	h.must(t, "-n", "default", "create", "serviceaccount", "ann")
	defer func() { h.must(t, "-n", "default", "delete", "serviceaccount/ann") }()
	h.must(t, "-n", h.namespace, "create", "rolebinding", "ann", "--clusterrole=view", "--serviceaccount=default:ann")
	token := strings.TrimSpace(h.must(t, "-n", "default", "create", "token", "ann"))
	if can := h.must(t, "auth", "can-i", "--list", "--as=system:serviceaccount:"+h.namespace+":machine-ui", "-n", h.namespace); strings.Contains(can, "machine") || strings.Contains(can, "secrets") {
		t.Errorf("the program itself may:\n%s", can)
	}
	address := strings.TrimSpace(h.must(t, "-n", h.namespace, "get", "pods", "-l", "app.kubernetes.io/name=machine-ui", "-o", "jsonpath={.items[0].status.podIP}"))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(crt)
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: name, MinVersion: tls.VersionTLS12}}}
	for _, c := range []struct {
		token string
		want  int
		text  string
	}{
		{"", http.StatusUnauthorized, "not signed in"},
		{token, http.StatusOK, "system:serviceaccount:default:ann"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+":8443/api/about", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = name
		request.Header.Set("Authorization", "Bearer "+c.token)
		answer, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != c.want || !strings.Contains(string(text), c.text) {
			t.Errorf("the page answers %s (%v) %s, want %d", answer.Status, err, text, c.want)
		}
	}
	if log := h.must(t, "-n", h.namespace, "logs", "deployment/machine-ui"); !strings.Contains(log, "a session of the user begins") || strings.Contains(log, token) {
		t.Errorf("the log is\n%s", log)
	}
}
