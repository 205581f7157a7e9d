package devplane

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// startPlane starts a control plane. The end of the test removes it in any case.
func startPlane(t *testing.T, opts Options) *ControlPlane {
	t.Helper()
	t.Cleanup(func() {
		if err := Clean(context.Background(), opts.Dir); err != nil {
			t.Error(err)
		}
	})
	cp, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

func clientOf(t *testing.T, cp *ControlPlane) kubernetes.Interface {
	t.Helper()
	config, err := cp.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kill ends a component with SIGKILL, like a crash.
func kill(t *testing.T, cp *ControlPlane, name string) {
	t.Helper()
	component, ok := cp.Component(name)
	if !ok {
		t.Fatalf("no component %s", name)
	}
	if err := component.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for component.Alive() {
		time.Sleep(10 * time.Millisecond)
	}
}

func TestStoppedControlPlaneKeepsDataAndPorts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	opts := Options{Dir: dir, Detach: true}
	if _, err := Find(dir); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("before the start: %v, want ErrNotRunning", err)
	}
	first := startPlane(t, opts)
	if !strings.HasPrefix(first.Kubernetes, "v1.") {
		t.Errorf("version is %q", first.Kubernetes)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := clientOf(t, first).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), opts); !errors.Is(err, ErrRunning) {
		t.Errorf("second start: %v, want ErrRunning", err)
	}
	found, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Health(t.Context()); err != nil {
		t.Errorf("found one is not healthy: %v", err)
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "was stopped") {
		t.Errorf("after the stop: %v", err)
	}
	second := startPlane(t, opts)
	if second.Server != first.Server {
		t.Errorf("server moved from %s to %s", first.Server, second.Server)
	}
	if _, err := clientOf(t, second).CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("data is gone: %v", err)
	}
}

func TestCrashedControlPlane(t *testing.T) {
	cases := []struct {
		reason string
		dead   []string
		told   string
	}{
		{"all gone, as after a restart of the machine", []string{APIServer, Etcd}, "has ended (crash or restart of the machine)"},
		{"one gone: the rest is stopped first", []string{APIServer}, "only 1 of 2 components"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			opts := Options{Dir: filepath.Join(t.TempDir(), "plane"), Detach: true, Log: &log}
			cp := startPlane(t, opts)
			for _, name := range c.dead {
				kill(t, cp, name)
			}
			select {
			case err := <-cp.Failed():
				if !slices.ContainsFunc(c.dead, func(name string) bool { return strings.HasPrefix(err.Error(), name+" ended") }) {
					t.Errorf("failure does not name one of %v: %v", c.dead, err)
				}
			case <-time.After(5 * time.Second):
				t.Error("Failed did not yield the failure")
			}
			if err := cp.Health(t.Context()); err == nil || !strings.Contains(err.Error(), APIServer+" (process") {
				t.Errorf("health of a crashed control plane: %v", err)
			}
			again := startPlane(t, opts)
			if err := again.Health(t.Context()); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), c.told) {
				t.Errorf("the log does not say %q:\n%s", c.told, &log)
			}
		})
	}
}

func TestBusyPortIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	opts := Options{Dir: t.TempDir(), Ports: Ports{APIServer: port}, Assets: Assets{Dir: "/nonexistent"}}
	_, err = Start(t.Context(), opts)
	busy := &PortBusyError{}
	if !errors.As(err, &busy) || busy.Port != port || busy.Component != APIServer {
		t.Errorf("error is %v, want port %d of %s", err, port, APIServer)
	}
}

func TestChoosePorts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	all := []string{Etcd, APIServer}
	cases := []struct {
		reason        string
		asked, before Ports
		busy          string
	}{
		{"free ones are found", Ports{}, Ports{}, ""},
		{"kubeconfigs name the API server's last port, so it must not move", Ports{}, Ports{APIServer: taken}, APIServer},
		{"nobody outside knows etcd's last port, so it may move", Ports{}, Ports{Etcd: taken}, ""},
		{"a port that was asked for is not exchanged", Ports{Etcd: taken}, Ports{}, Etcd},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			chosen, claims, err := choosePorts(all, c.asked, c.before)
			if err == nil {
				defer claims.Release()
			}
			busy := &PortBusyError{}
			switch {
			case errors.As(err, &busy):
				if busy.Component != c.busy {
					t.Errorf("busy port of %q, want %q", busy.Component, c.busy)
				}
			case err != nil || c.busy != "":
				t.Errorf("error %v, want a busy port of %q", err, c.busy)
			case chosen.Etcd == 0 || chosen.APIServer == 0 || chosen.Etcd == chosen.APIServer || chosen.Scheduler != 0:
				t.Errorf("chose %+v", chosen)
			}
		})
	}
}

func TestFailureToComeUpShowsTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	_, err := Start(t.Context(), Options{Dir: dir, ExtraArgs: map[string][]string{APIServer: {"--no-such-flag"}}})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended") || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("error does not show the log: %v", err)
	}
	recorded, err := loadState(dir)
	if err != nil || len(recorded.Processes) != 0 {
		t.Errorf("left running: %+v, %v", recorded.Processes, err)
	}
}

func TestCleanRefusesForeignFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "thesis.txt"), "text", 0o600)
	if err := Clean(t.Context(), dir); err == nil {
		t.Error("a folder without a control plane was accepted")
	}
	if _, err := os.Stat(filepath.Join(dir, "thesis.txt")); err != nil {
		t.Error("and its content is gone")
	}
	if err := Clean(t.Context(), filepath.Join(dir, "nonexistent")); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// checkUserHasOnlyTheirRights: a kubeconfig names its user, and the user has only the rights that RBAC grants.
func checkUserHasOnlyTheirRights(t *testing.T, cp *ControlPlane) {
	t.Helper()
	config, err := cp.RESTConfigFor("somebody", "some-group")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"somebody"`) {
		t.Errorf("listing secrets as somebody: %v, want it forbidden", err)
	}
}

func checkAuditLog(t *testing.T, cp *ControlPlane) {
	t.Helper()
	content, err := os.ReadFile(cp.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, `"username":"somebody"`) && strings.Contains(line, `"level":"Metadata"`)
	}) {
		t.Errorf("the refused request is not among %d audit lines", len(lines))
	}
}
