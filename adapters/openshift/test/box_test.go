// Package test plays the life of a fleet with the reference actuator: its program stands in the place of a machine
// controller, on a real control plane, over a played OpenStack.
package test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// program is what a fleet on OpenStack calls its machine controller: here it is the reference actuator's.
const program = "machine-controller-openstack"

// bin is the folder of the programs under test.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "millwright-actuator-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "bin")
	root, err := filepath.Abs(filepath.Join("..", "..", "..")) // of the repository, whose modules are built each by itself
	if err != nil {
		return 0, err
	}
	for _, b := range []struct{ in, as, from string }{
		{root, fleet.Sets, "./cmd/machine-controller-manager"},
		{filepath.Join(root, "dev", "clouds"), "cloud-openstack", "./nova/cmd/cloud-openstack"},
		{filepath.Join(root, "adapters", "openshift"), program, "./internal/reference/machine-controller-reference"},
	} {
		c := exec.Command("go", "build", "-o", filepath.Join(bin, b.as), b.from)
		c.Dir = b.in
		if out, err := c.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build %s: %w\n%s", b.as, err, out)
		}
	}
	return m.Run(), nil
}

// bench is a fleet in which one machine controller runs the actuator.
type bench struct {
	*fleet.Fleet
	t *testing.T
}

// start starts a fleet whose timers are short: what exists is told two seconds behind at the most, and what has no
// machine is removed after a quarantine of seconds.
func start(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: dir, Bin: bin, Backend: "kwok", Cloud: fleet.CloudOptions{Provider: "openstack"}, Log: os.Stderr,
		Args: map[string][]string{
			fleet.Sets: {"--apis=machine.openshift.io"},
			program: {
				"--apis=machine.openshift.io", "--actuator-read-lag=2s", "--machine-safety-orphan-vms-period=2s",
				"--orphan-grace-period=5s", "--orphan-max-share=100%",
			},
		},
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := fleet.Down(ctx, dir, bin); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Fleet: f, t: t}
}

// controller is the process that runs the actuator.
func (b *bench) controller() *fleet.Controller {
	b.t.Helper()
	n := slices.IndexFunc(b.Controllers, func(c *fleet.Controller) bool { return c.Program == program })
	if n < 0 {
		b.t.Fatal("no controller runs the actuator")
	}
	return b.Controllers[n]
}

// kill ends it by SIGKILL, in the middle of whatever it does.
func (b *bench) kill() {
	b.t.Helper()
	if err := b.KillController(b.t.Context(), b.controller()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) restart() {
	b.t.Helper()
	if _, err := b.StartController(program); err != nil {
		b.t.Fatal(err)
	}
}

// servers are those of the cloud, by name.
func (b *bench) servers() map[string]int {
	b.t.Helper()
	raw, err := b.Cloud.Ask(b.t.Context(), http.MethodGet, "instances", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	var s fleet.CloudState
	if err := json.Unmarshal(raw, &s); err != nil {
		b.t.Fatal(err)
	}
	all := map[string]int{}
	for _, i := range s.Instances {
		if i.State != "deleting" {
			all[i.Name]++
		}
	}
	return all
}

// ready are the names of machines that run with a Ready node.
func (b *bench) ready() (names []string) {
	b.t.Helper()
	all, err := b.Census(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range all {
		if m.Ready() {
			names = append(names, m.Name)
		}
	}
	return names
}

// eventually looks until the text is empty, for three minutes; it says what is missing.
func (b *bench) eventually(what string, missing func() string) {
	b.t.Helper()
	last := ""
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = missing(); last == "" {
			b.t.Logf("%s", what)
			return
		}
	}
	b.t.Fatalf("not within three minutes: %s: %s\n%s", what, last, b.log())
}

func (b *bench) log() string {
	raw, _ := os.ReadFile(filepath.Join(b.Dir, program+".log"))
	return string(raw[max(0, len(raw)-6000):])
}

// settled waits until n machines run and the cloud has one server for each of them, and no other.
func (b *bench) settled(what string, n int) {
	b.t.Helper()
	b.eventually(what, func() string {
		ready, servers := b.ready(), b.servers()
		if len(ready) == n && len(servers) == n && !slices.ContainsFunc(ready, func(name string) bool { return servers[name] != 1 }) {
			return ""
		}
		return fmt.Sprintf("ready %s; servers %v", strings.Join(ready, " "), servers)
	})
}
