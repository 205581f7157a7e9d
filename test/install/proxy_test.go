package install

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
	"github.com/millwright-dev/millwright/internal/operator/operands"
)

const (
	// proxyName is the program that proxies the metrics of operands, and the prefix of the names of its containers.
	proxyName = "kube-rbac-proxy"
	// monitored is the namespace of OpenShift's Prometheus.
	monitored = "openshift-monitoring"
)

// A scraper reads metrics, as Prometheus or as a client without the right.
type scraper struct {
	who, token string
	want       int
}

// scrapers are the Prometheus of a release of OpenShift, another service account, and clients without a valid token.
func (h *machine) scrapers(t *testing.T) []scraper {
	t.Helper()
	h.must(t, "create", "namespace", monitored)
	t.Cleanup(func() { _, _ = h.kubectl(context.Background(), "delete", "namespace", monitored, "--ignore-not-found") }) // the context of the test has ended
	h.must(t, "apply", "-f", "config/version-operator/prometheus_role.yaml")
	h.must(t, "-n", monitored, "create", "serviceaccount", "prometheus-k8s")
	h.must(t, "-n", monitored, "create", "serviceaccount", "scraper")
	token := func(account string) string {
		return strings.TrimSpace(h.must(t, "-n", monitored, "create", "token", account))
	}
	return []scraper{
		{"Prometheus", token("prometheus-k8s"), http.StatusOK},
		{"an account without the right", token("scraper"), http.StatusForbidden},
		{"an invalid token", "made-up", http.StatusUnauthorized},
		{"a client without a token", "", http.StatusUnauthorized},
	}
}

// read requests metrics.
func (s scraper) read(ctx context.Context, url string, c *tls.Config) (page string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != s.want {
		err = fmt.Errorf("%s is answered %s, want %d: %.300s", s.who, answer.Status, s.want, body)
	}
	return string(body), err
}

// answered reads until the status is the wanted one, for 30 seconds. The containers of the proxies have no readiness probe, as
// in machine-api-operator, and a proxy answers 502 before its controller listens.
func (s scraper) answered(ctx context.Context, url string, c *tls.Config) (page string, err error) {
	err = eventually(ctx, 30*time.Second, func() (err error) {
		page, err = s.read(ctx, url, c.Clone())
		return err
	})
	return page, err
}

// guards reads the metrics of the operands through their proxies.
func (h *installation) guards(t *testing.T) {
	t.Helper()
	pod := h.pod(t, "k8s-app=controller")
	scrapers := h.scrapers(t)
	for name, metric := range map[string]string{ // a port of the Service, and a metric of the program behind it
		"machine-mtrc":    `controller_runtime_active_workers{controller="machine.machine.openshift.io"}`,
		"machineset-mtrc": `controller_runtime_active_workers{controller="machineset.machine.openshift.io"}`,
		"mhc-mtrc":        `controller_runtime_active_workers{controller="machinehealthcheck.machine.openshift.io"}`,
	} {
		url := "https://" + net.JoinHostPort(pod.Status.PodIP, portOf(t, pod, name)) + "/metrics"
		for _, s := range scrapers {
			page, err := s.answered(t.Context(), url, &tls.Config{InsecureSkipVerify: true}) // the proxy creates its certificate itself
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if strings.Contains(page, metric) != (s.want == http.StatusOK) {
				t.Errorf("%s: %s reads, looking for %s:\n%.2000s", name, s.who, metric, page)
			}
		}
	}
	for _, port := range []string{"8082", "8083"} {
		if page, err := (scraper{want: http.StatusOK}).read(t.Context(), "http://"+net.JoinHostPort(pod.Status.PodIP, port)+"/metrics", nil); err == nil {
			t.Errorf("port %s of the pod is open to every client:\n%.500s", port, page)
		}
	}
	h.must(t, "delete", "-f", "config/version-operator/prometheus_role.yaml")
	h.must(t, "delete", "namespace", monitored)
}

// TestProxy starts the proxies with the arguments of a release of OpenShift, whose service CA issues the certificate, with each
// kind of TLS profile.
func TestProxy(t *testing.T) {
	h := &installation{machine: host, namespace: "openshift-machine-api"}
	h.must(t, "create", "namespace", h.namespace)
	t.Cleanup(func() { _, _ = h.kubectl(context.Background(), "delete", "namespace", h.namespace) })
	h.must(t, "create", "clusterrolebinding", "proxy", "--clusterrole=system:auth-delegator", "--user=proxy")
	t.Cleanup(func() { _, _ = h.kubectl(context.Background(), "delete", "clusterrolebinding", "proxy") })
	upstream := &http.Server{
		Addr: "localhost:8081", ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }),
	}
	defer func() { _ = upstream.Close() }()
	go func() { _ = upstream.ListenAndServe() }()
	scrapers := h.scrapers(t)
	profile := func(kind configv1.TLSProfileType, custom *configv1.CustomTLSProfile) operands.TLS {
		return operands.TLSOf(configv1.APIServerSpec{
			TLSAdherence:       configv1.TLSAdherencePolicyStrictAllComponents,
			TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: kind, Custom: custom},
		})
	}
	for name, c := range map[string]struct {
		reason  string
		profile operands.TLS
		refused *tls.Config // a configuration that the proxy refuses
	}{
		"old":          {"it accepts every client with TLS", profile(configv1.TLSProfileOldType, nil), nil},
		"intermediate": {"1.2 is the least", profile(configv1.TLSProfileIntermediateType, nil), &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}},
		"modern":       {"1.3 is the least", profile(configv1.TLSProfileModernType, nil), &tls.Config{MaxVersion: tls.VersionTLS12}},
		"custom": {"no suite of it is one that HTTP/2 demands", profile(configv1.TLSProfileCustomType, &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
			MinTLSVersion: configv1.VersionTLS12, Ciphers: []string{"ECDHE-RSA-AES256-GCM-SHA384"},
		}}), &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}},
	} {
		t.Run(name, func(t *testing.T) {
			url, trusted := h.proxied(t, c.profile)
			for _, s := range scrapers {
				if _, err := s.answered(t.Context(), url, trusted); err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
			}
			if c.refused == nil {
				return
			}
			c.refused.RootCAs, c.refused.ServerName = trusted.RootCAs, trusted.ServerName
			if _, err := scrapers[0].read(t.Context(), url, c.refused); err == nil || !strings.Contains(err.Error(), "tls: ") {
				t.Errorf("%s: a client that asks for less gets %v", c.reason, err)
			}
		})
	}
}

// proxied starts a proxy for the metrics of the machine controller until the test ends, and returns the TLS configuration of
// Prometheus.
func (h *installation) proxied(t *testing.T, profile operands.TLS) (url string, trusted *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	server := "machine-api-controllers." + h.namespace + ".svc"
	crt, key, err := certutil.GenerateSelfSignedCertKey(server, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := h.Kubeconfig("proxy")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"tls.crt": crt, "tls.key": key, "config-file.yaml": whomProxiesLetIn(t), "kubeconfig": kubeconfig}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := strings.NewReplacer("/etc/tls/private", dir, "/etc/"+proxyName, dir).Replace(strings.Join(h.proxy(t, profile).Args, "\n"))
	log := filepath.Join(dir, "log")
	p, err := proc.Start(proc.Spec{
		Path: filepath.Join(h.work, "bin", proxyName), Log: log, Args: append(strings.Split(args, "\n"), "--kubeconfig="+filepath.Join(dir, "kubeconfig")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background(), 10*time.Second); err != nil { // the context of the test has ended
			t.Error(err)
		}
		if content, _ := os.ReadFile(log); t.Failed() {
			t.Logf("%s", content)
		}
	})
	block, _ := pem.Decode(crt)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(crt)
	if err := leaf.VerifyHostname(server); err != nil {
		t.Fatal(err)
	}
	return "https://" + net.JoinHostPort("127.0.0.1", "8441") + "/metrics", &tls.Config{RootCAs: roots, ServerName: server}
}

// proxy is the container that the operator creates on AWS.
func (h *installation) proxy(t *testing.T, profile operands.TLS) corev1.Container {
	t.Helper()
	platform, err := operands.PlatformOf("AWS")
	if err != nil {
		t.Fatal(err)
	}
	images, err := operands.ParseImages("images.json", []byte(`{"machineAPIOperator": "own", "kubeRBACProxy": "proxy", "clusterAPIControllerAWS": "aws"}`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := operands.Render(operands.Facts{Namespace: h.namespace, Platform: platform, Images: images, TLS: profile, Gates: operands.DefaultGates()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range o.Controllers.Spec.Template.Spec.Containers {
		if c.Name == proxyName+"-machine-mtrc" {
			return c
		}
	}
	t.Fatal("the operator has no proxy before the machine controller's metrics")
	return corev1.Container{}
}

// whomProxiesLetIn is the shipped configuration.
func whomProxiesLetIn(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../config/version-operator/kube_rbac_proxy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m corev1.ConfigMap
	if err := yaml.Unmarshal(bytes.TrimSpace(raw), &m); err != nil {
		t.Fatal(err)
	}
	return []byte(m.Data["config-file.yaml"])
}
