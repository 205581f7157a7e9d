package uiserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// asProgram makes the test's own binary the program.
const asProgram = "MILLWRIGHT_TEST_AS_MACHINE_UI"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer end()
		if err := Command().ExecuteContext(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(devplanetest.Main(m, devplanetest.Options{AuditLog: true}))
}

// host is the name of the page in tests.
const host = "fleet.example.com"

// output is what a process has written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// process is the program, which runs with the most verbose log.
type process struct {
	t              *testing.T
	address, certs string
	stdout, stderr output
	cmd            *exec.Cmd
	ended          chan error
	trusted        *x509.CertPool
}

// startProcess starts the program against the tests' API server, with a kubeconfig that has no credentials.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	env := devplanetest.Start(t)
	p := &process{t: t, certs: t.TempDir(), ended: make(chan error, 1)}
	p.certify("first")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := env.TokenKubeconfig("the-token-of-the-kubeconfig-is-not-used")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	_ = l.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string{"--kubeconfig=" + kubeconfig, "--bind-address=" + p.address, "--tls-cert-dir=" + p.certs, "--host-names=" + host, "--v=10"}, args...)
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), exe, all...)
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(p.stop)
	until(t, "the program is ready", func() bool {
		r, err := p.client().Get("https://" + host + "/readyz")
		if err != nil {
			return false
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return p
}

// certify writes a certificate of the page, which only this process's clients trust.
func (p *process) certify(organization string) {
	p.t.Helper()
	crt, key, err := certutil.GenerateSelfSignedCertKey(host, nil, []string{organization + ".example.com"})
	if err != nil {
		p.t.Fatal(err)
	}
	p.trusted = x509.NewCertPool()
	p.trusted.AppendCertsFromPEM(crt)
	for name, text := range map[string][]byte{"tls.key": key, "tls.crt": crt} {
		if err := os.WriteFile(filepath.Join(p.certs, name), text, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// stop asks the program to stop, once.
func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.ended:
		if err != nil {
			p.t.Errorf("the program ends with %v:\n%s", err, tail(p.stderr.String()))
		}
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		p.t.Error("the program did not stop within 30 seconds")
	}
	p.cmd = nil
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

// client trusts only the page's certificate, and reaches the program under its name.
func (p *process) client() *http.Client {
	to := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return to.DialContext(ctx, network, p.address)
		},
		TLSClientConfig:   &tls.Config{RootCAs: p.trusted, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}
}

// user is a ServiceAccount with a token.
type user struct {
	namespace, name, token string
}

// full is the name that the API server gives the user.
func (u user) full() string { return "system:serviceaccount:" + u.namespace + ":" + u.name }

// newUser creates a user who may do verbs with the machines and sets of the user's namespace.
func newUser(t *testing.T, namespace, name string, verbs ...string) user {
	t.Helper()
	env, ctx := devplanetest.Start(t), t.Context()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if _, err := env.Client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(verbs) > 0 {
		role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"machine.openshift.io", "machine.sapcloud.io"}, Resources: []string{"*"}, Verbs: verbs}}}
		if _, err := env.Client.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		}
		if _, err := env.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	u := user{namespace: namespace, name: name}
	u.token = u.another(t)
	return u
}

// another is a further token of the user.
func (u user) another(t *testing.T) string {
	t.Helper()
	answer, err := devplanetest.Start(t).Client.CoreV1().ServiceAccounts(u.namespace).CreateToken(t.Context(), u.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// request is one of the user's, as the page sends it. An empty namespace is the server's default.
func (p *process) request(ctx context.Context, method, path, token, namespace, body string) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "https://"+host+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, namespaceHeader: namespace, "Sec-Fetch-Site": "same-origin"} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", "https://"+host)
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do sends a request and reads the whole answer.
func (p *process) do(r *http.Request) (int, string) {
	p.t.Helper()
	answer, err := p.client().Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(answer.Body)
	return answer.StatusCode, text.String()
}

// stream is an open stream of the page.
type stream struct {
	output
	status int
	ended  chan struct{}
	cancel context.CancelFunc
}

// open opens a stream of the fleet.
func (p *process) open(token, namespace string) *stream {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	answer, err := p.client().Do(p.request(ctx, http.MethodGet, "/api/fleet", token, namespace, "")) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		p.t.Fatal(err)
	}
	s := &stream{status: answer.StatusCode, ended: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(s.ended)
		defer answer.Body.Close()
		buffer := make([]byte, 4096)
		for {
			n, err := answer.Body.Read(buffer)
			_, _ = s.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	return s
}

// says waits until the stream has each text.
func (s *stream) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		until(t, fmt.Sprintf("the stream says %q", text), func() bool { return strings.Contains(s.String(), text) })
	}
}

func (s *stream) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 40 seconds: " + what)
		}
	}
}

// firstEvent is the first event of a stream, after which it is closed.
func (p *process) firstEvent(path, token, namespace string) string {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	answer, err := p.client().Do(p.request(ctx, http.MethodGet, path, token, namespace, ""))
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := bufio.NewReader(answer.Body).ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}
