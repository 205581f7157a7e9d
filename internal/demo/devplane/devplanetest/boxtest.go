// Package devplanetest gives the tests of a package one real control plane. The first test that needs it starts it, and it stops
// after the last test:
//
//	func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{})) }
//
//	func TestSomething(t *testing.T) {
//		env := devplanetest.Start(t)
//		ns := devplanetest.Namespace(t)
//		...
//	}
//
// The tests share the API server, so each test uses its own namespace and its own names for cluster-wide objects. Missing programs
// are built: no test is skipped because they are missing.
package devplanetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
)

// Options of the control plane that a package's tests share.
type Options struct {
	// Components besides etcd and kube-apiserver, see devplane.Options.
	Components []string
	// AuditLog and ExtraArgs as in devplane.Options.
	AuditLog  bool
	ExtraArgs map[string][]string
	// NoCRDs leaves out the CustomResourceDefinitions of config/crd.
	NoCRDs bool
}

// Env is the control plane in a test's view.
type Env struct {
	*devplane.ControlPlane
	// Config is the config of the cluster administrator, without throttling.
	Config *rest.Config
	// Client uses Config.
	Client kubernetes.Interface
}

// shared is the one control plane of this test binary.
var shared struct {
	options *Options
	once    sync.Once
	env     *Env
	err     error
	dir     string
}

// Main runs the tests and then stops the control plane if any test started it. It returns the exit code.
func Main(m *testing.M, options Options) int {
	shared.options = &options
	code := m.Run()
	if err := errors.Join(stop(), removePackages()); err != nil {
		fmt.Fprintln(os.Stderr, "devplanetest:", err)
		return max(code, 1)
	}
	return code
}

func stop() error {
	if shared.dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := devplane.Stop(ctx, shared.dir); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return os.RemoveAll(shared.dir)
}

// Start returns the control plane that the tests of this package share. The first call starts it.
func Start(t testing.TB) *Env {
	t.Helper()
	if shared.options == nil {
		t.Fatal("devplanetest: TestMain must call devplanetest.Main")
	}
	shared.once.Do(func() { shared.env, shared.err = start(*shared.options) })
	if shared.err != nil {
		t.Fatal("devplanetest:", shared.err)
	}
	return shared.env
}

func start(options Options) (*Env, error) {
	ctx := context.Background() // the context of the whole package, not of the first test
	dir, err := os.MkdirTemp("", "millwright-box-")
	if err != nil {
		return nil, fmt.Errorf("creating the control plane's folder: %w", err)
	}
	shared.dir = dir
	cp, err := devplane.Start(ctx, devplane.Options{
		Dir:        dir,
		Components: options.Components,
		AuditLog:   options.AuditLog,
		ExtraArgs:  options.ExtraArgs,
		Log:        os.Stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	env := &Env{ControlPlane: cp}
	if env.Config, err = cp.RESTConfig(); err != nil {
		return nil, err
	}
	if env.Client, err = kubernetes.NewForConfig(env.Config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if options.NoCRDs {
		return env, nil
	}
	return env, InstallCRDs(env.Config)
}

// InstallCRDs applies every CustomResourceDefinition of config/crd and waits until they are served.
func InstallCRDs(server *rest.Config) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(server, envtest.CRDInstallOptions{CRDs: crds, MaxTime: time.Minute}); err != nil {
		return fmt.Errorf("installing CustomResourceDefinitions: %w", err)
	}
	return nil
}

// RepositoryRoot is the folder with go.mod above the working folder. A test's working folder is the folder of its package.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working folder")
		}
		dir = parent
	}
}

// Namespace creates a namespace for one test and requests its deletion when the test ends. Its objects are deleted with it only
// if kube-controller-manager runs.
func Namespace(t testing.TB) string {
	t.Helper()
	env := Start(t)
	namespace, err := env.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal("creating a namespace:", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := env.Client.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error("deleting the namespace:", err)
		}
	})
	return namespace.Name
}

// BootstrapToken creates a bootstrap token of devplane.BootstrapGroup, valid for an hour, and returns it.
func BootstrapToken(t testing.TB, client kubernetes.Interface) string {
	t.Helper()
	random := make([]byte, 11)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	digits := hex.EncodeToString(random)
	id, secret := digits[:6], digits[6:] // 6 and 16 characters
	_, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id":                       id,
			"token-secret":                   secret,
			"expiration":                     time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true",
			"auth-extra-groups":              devplane.BootstrapGroup,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal("creating a bootstrap token:", err)
	}
	return id + "." + secret
}

// Run starts a manager, or another function that runs until its context ends, and ends it with the test. If the function returns
// an error, the test fails with it.
func Run(t testing.TB, start func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// FreePort is a free port of loopback, which no other caller gets while this process runs.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// FreeAddress is 127.0.0.1 with a port as [FreePort] returns it.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", FreePort(t))
}
