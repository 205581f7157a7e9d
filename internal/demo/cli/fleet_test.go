package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
)

// asMillwright makes the test's program be millwright, and a link to it that is
// called kubectl says how it was called.
const asMillwright = "MILLWRIGHT_TEST_AS_MILLWRIGHT"

func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == devplane.Kubectl:
		fmt.Printf("KUBECONFIG=%s args=%q\n", os.Getenv("KUBECONFIG"), os.Args[1:])
		os.Exit(0)
	case os.Getenv(asMillwright) != "":
		os.Exit(Run(context.Background(), append([]string{"millwright"}, os.Args[1:]...)))
	}
	os.Exit(m.Run())
}

// fakeFleet writes down a fleet that runs, as far as can be seen: its one process
// is this test. It returns its folder and its kubeconfig.
func fakeFleet(t *testing.T, name string) (dir, kubeconfig string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(fleet.PlaneDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, devplane.Kubectl)); err != nil {
		t.Fatal(err)
	}
	id, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(fleet.PlaneDir(dir), "admin.kubeconfig")
	write(t, filepath.Join(fleet.PlaneDir(dir), "state.json"), map[string]any{
		"assets": devplane.Assets{Dir: bin}, "startedAt": time.Now(), "kubeconfig": kubeconfig,
		"processes": []devplane.Component{{Name: devplane.Etcd, ID: id}},
	})
	write(t, filepath.Join(dir, "fleet.json"), map[string]any{"started": time.Now()})
	return dir, kubeconfig
}

func write(t *testing.T, path string, what any) {
	t.Helper()
	raw, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// call runs millwright with a KUBECONFIG that leads elsewhere.
func call(t *testing.T, home string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asMillwright+"=1", "KUBECONFIG=/production/admin.kubeconfig", "MILLWRIGHT_HOME="+home)
	var out, messages strings.Builder
	c.Stdout, c.Stderr = &out, &messages
	err = c.Run()
	return out.String(), messages.String(), err
}

// TestKubectlGoesToTheFleet: a KUBECONFIG that is exported, or a flag, must not let
// `millwright kubectl delete` delete in another cluster.
func TestKubectlGoesToTheFleet(t *testing.T) {
	home, homeConfig := fakeFleet(t, "home")
	other, otherConfig := fakeFleet(t, "other")
	for _, test := range []struct {
		reason string
		args   []string
		want   string
		err    string
	}{
		{"an exported KUBECONFIG is not heeded", []string{"get", "nodes"}, "KUBECONFIG=" + homeConfig + ` args=["get" "nodes"]`, ""},
		{"--dir chooses the fleet", []string{"--dir", other, "get", "nodes"}, "KUBECONFIG=" + otherConfig + ` args=["get" "nodes"]`, ""},
		{"--dir in one word does", []string{"--dir=" + other}, "KUBECONFIG=" + otherConfig + ` args=[]`, ""},
		{"a --dir further on is an argument", []string{"exec", "p", "--", "ls", "--dir", other}, "KUBECONFIG=" + homeConfig, ""},
		{"flags that choose no cluster are kubectl's", []string{"-n", "s", "get", "pods", "-Al", "app=s", "--as=bob", "--show-labels"}, `args=["-n" "s" "get" "pods" "-Al" "app=s" "--as=bob" "--show-labels"]`, ""},
		{"flags of another program are its own", []string{"exec", "p", "--", "curl", "-s", "--context", "x"}, "KUBECONFIG=" + homeConfig, ""},
		{"another kubeconfig is refused", []string{"--kubeconfig=/x", "delete", "machines", "--all"}, "", "--kubeconfig chooses a cluster"},
		{"another context is refused", []string{"delete", "machines", "--all", "--context", "prod"}, "", "--context chooses a cluster"},
		{"another server is refused", []string{"--server", "https://prod", "get", "nodes"}, "", "--server chooses a cluster"},
		{"so is its short form", []string{"get", "nodes", "-s=https://prod"}, "", "-s chooses a cluster"},
		{"and one behind switches", []string{"get", "nodes", "-As", "https://prod"}, "", "-s chooses a cluster"},
		{"--dir needs a folder", []string{"--dir"}, "", "--dir: the folder of the fleet is missing"},
		{"a folder without a fleet has no cluster", []string{"--dir", t.TempDir(), "get", "nodes"}, "", "no control plane is running"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			stdout, stderr, err := call(t, home, append([]string{"kubectl"}, test.args...)...)
			if test.err != "" {
				if err == nil || !strings.Contains(stderr, test.err) || stdout != "" {
					t.Errorf("%v: %s%s, want the error %q", err, stdout, stderr, test.err)
				}
				return
			}
			if err != nil || !strings.Contains(stdout, test.want) {
				t.Errorf("%v %s: %s, want %s", err, stderr, stdout, test.want)
			}
		})
	}
}

// TestHintsNameThisFleet: who copies a command that was printed ends this fleet,
// and not the one in the home folder.
func TestHintsNameThisFleet(t *testing.T) {
	dir, _ := fakeFleet(t, "a fleet")
	_, stderr, err := call(t, "", "up", "--dir", dir)
	if want := " down --dir '" + dir + "'` stops it"; err == nil || !strings.Contains(stderr, want) {
		t.Errorf("a second up says %q, want %q in it", stderr, want)
	}
	_, stderr, err = call(t, dir, "up")
	if want := " down --dir '" + dir + "'` stops it"; err == nil || !strings.Contains(stderr, want) {
		t.Errorf("a second up in MILLWRIGHT_HOME says %q, want %q in it: another shell may have another home", stderr, want)
	}
	if got := (where{dir: homeDir()}).down(); strings.Contains(got, "--dir") {
		t.Errorf("%q, want no flag for the folder that is the default", got)
	}
	var next strings.Builder
	u := &up{where: where{dir: dir}, once: true, backend: kwokBackend}
	u.printNext(&next, &fleet.Fleet{Plane: &devplane.ControlPlane{}}, nil, time.Second)
	if !strings.Contains(next.String(), " down --dir '"+dir+"'` stops the fleet") {
		t.Errorf("what comes next names no way to end this fleet:\n%s", &next)
	}
	if strings.Contains(next.String(), "pkill") {
		t.Errorf("nodes that kwok plays have no process to end:\n%s", &next)
	}
}

// TestUpNoticesADeadController: no process restarts it, so there is nothing to
// wait for.
func TestUpNoticesADeadController(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("cannot start: no such zone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fleet.Fleet{
		Client:      fake.NewClientBuilder().WithScheme(run.Scheme()).Build(),
		Plane:       &devplane.ControlPlane{Server: "https://127.0.0.1:1", KubeconfigPath: "/k"},
		Controllers: []*fleet.Controller{{Program: fleet.Machines, ID: proc.ID{PID: os.Getpid(), Started: "another life"}, Log: log}},
	}
	u := &up{timeout: 10 * time.Second, print: plugin.NewOutput().As("json"), where: where{dir: "/f"}}
	began := time.Now()
	machines, err := u.await(t.Context(), f)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to see that a controller is dead", took)
	}
	if !errors.Is(err, plugin.ErrReported) {
		t.Fatalf("%v, want an error that was reported", err)
	}
	var out strings.Builder
	if err := u.report(&out, f, began, machines, errors.Join(err)); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatal(err)
	}
	reasons := strings.Join(r.Reasons, "\n")
	if r.Error != "A controller ended before all machines were ready" || !strings.Contains(reasons, fleet.Machines+" ended") || !strings.Contains(reasons, "no such zone") {
		t.Errorf("the document does not say who died of what:\n%s", &out)
	}
	if r.Server != f.Plane.Server || r.Kubeconfig != "/k" || r.Dir != "/f" || r.Machines == nil {
		t.Errorf("the document does not lead to the fleet:\n%s", &out)
	}
}

// TestUpRefusesBackendsAtOnce: an unknown backend is refused before a control plane
// starts.
func TestUpRefusesBackendsAtOnce(t *testing.T) {
	_, stderr, err := call(t, "", "up", "--dir", filepath.Join(t.TempDir(), "f"), "--backend", "qemu")
	if err == nil || !strings.Contains(stderr, `--backend: must be hollow or kwok, not "qemu"`) {
		t.Errorf("%v %s", err, stderr)
	}
}

// TestUpRefusesFormatsAtOnce: so is an unknown format.
func TestUpRefusesFormatsAtOnce(t *testing.T) {
	_, stderr, err := call(t, "", "up", "--dir", filepath.Join(t.TempDir(), "f"), "-o", "xml")
	if err == nil || !strings.Contains(stderr, "jsonpath") {
		t.Errorf("%v %s, want the formats that there are", err, stderr)
	}
}

// TestRenderNeverWraps: a row that wraps breaks the drawing of the next table.
func TestRenderNeverWraps(t *testing.T) {
	machines := []fleet.Machine{
		{API: provider.OpenShift, Namespace: "openshift-machine-api", Name: "mill-worker-a-z7vm5", Phase: "Provisioned", Seconds: 2.8},
		{API: provider.Gardener, Namespace: "default", Name: "mill-pool-9wzmp", Phase: "CrashLoopBackOff", NodeReady: "False", Seconds: 2.8},
	}
	for width, header := range map[int]string{40: "MACHINE", 80: "API", 160: "API"} {
		lines := render(machines, terminal.Size{Width: width, Height: 24})
		if len(lines) != 3 || !strings.HasPrefix(lines[0], header) || !strings.Contains(lines[1], "z7vm5") {
			t.Errorf("%d columns:\n%s", width, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n >= width {
				t.Errorf("%d characters at %d columns: %s", n, width, line)
			}
		}
	}
}
