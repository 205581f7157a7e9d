// Package fleettest runs the program of an adapter's reference in place of a machine controller, on a real control plane with a
// simulated OpenStack.
package fleettest

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

// program is the name of the machine controller of a fleet on OpenStack. Here it is the program of the reference.
const program = "machine-controller-openstack"

// bin is the folder of the programs under test.
var bin string

// Main builds the programs, runs the tests in the folder test of an adapter, and ends the process.
func Main(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "millwright-adapter-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "bin")
	adapter, err := filepath.Abs("..")
	if err != nil {
		return 0, err
	}
	root := filepath.Join(adapter, "..", "..") // of the repository, whose modules are built separately
	for _, b := range []struct{ in, as, from string }{
		{root, fleet.Sets, "./cmd/machine-controller-manager"},
		{filepath.Join(root, "dev", "clouds"), "cloud-openstack", "./nova/cmd/cloud-openstack"},
		{adapter, program, "./internal/reference/machine-controller-reference"},
	} {
		c := exec.Command("go", "build", "-o", filepath.Join(bin, b.as), b.from)
		c.Dir = b.in
		if out, err := c.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build %s: %w\n%s", b.as, err, out)
		}
	}
	return m.Run(), nil
}

// Bench is a fleet whose machine controller is the reference.
type Bench struct {
	*fleet.Fleet
	T *testing.T
}

// Start starts a fleet for the machines of one API, with the given flags of the machine controller. Instances without a machine are
// removed after a quarantine of seconds.
func Start(t *testing.T, api string, flags ...string) *Bench {
	t.Helper()
	dir := t.TempDir()
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: dir, Bin: bin, Backend: "kwok", Cloud: fleet.CloudOptions{Provider: "openstack"}, Log: os.Stderr,
		Args: map[string][]string{
			fleet.Sets: {"--apis=" + api},
			program: append([]string{
				"--apis=" + api, "--machine-safety-orphan-vms-period=2s", "--orphan-grace-period=5s", "--orphan-max-share=100%",
			}, flags...),
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
	return &Bench{Fleet: f, T: t}
}

// Must fails the test with the error, if there is one.
func (b *Bench) Must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// Kill ends the machine controller with SIGKILL at any point of its work.
func (b *Bench) Kill() {
	b.T.Helper()
	n := slices.IndexFunc(b.Controllers, func(c *fleet.Controller) bool { return c.Program == program })
	if n < 0 {
		b.T.Fatal("no controller runs the reference")
	}
	b.Must(b.KillController(b.T.Context(), b.Controllers[n]))
}

// Restart starts the machine controller again.
func (b *Bench) Restart() {
	b.T.Helper()
	_, err := b.StartController(program)
	b.Must(err)
}

// Servers are the cloud's servers, counted by name.
func (b *Bench) Servers() map[string]int {
	b.T.Helper()
	raw, err := b.Cloud.Ask(b.T.Context(), http.MethodGet, "instances", nil)
	b.Must(err)
	var s fleet.CloudState
	b.Must(json.Unmarshal(raw, &s))
	all := map[string]int{}
	for _, i := range s.Instances {
		if i.State != "deleting" {
			all[i.Name]++
		}
	}
	return all
}

// Has says how many servers have the name; empty if none has.
func (b *Bench) Has(name string) string {
	b.T.Helper()
	if n := b.Servers()[name]; n > 0 {
		return fmt.Sprintf("%d servers %s", n, name)
	}
	return ""
}

// SwitchOff stops the server with a provider ID.
func (b *Bench) SwitchOff(providerID string) {
	b.T.Helper()
	_, err := b.Cloud.Ask(b.T.Context(), http.MethodPost, "do/stop?on="+providerID[strings.LastIndexByte(providerID, '/')+1:], nil)
	b.Must(err)
}

// Ready are the names of running machines with a Ready node.
func (b *Bench) Ready() (names []string) {
	b.T.Helper()
	all, err := b.Census(b.T.Context())
	b.Must(err)
	for _, m := range all {
		if m.Ready() {
			names = append(names, m.Name)
		}
	}
	return names
}

// Eventually waits until missing returns an empty text, for at most three minutes. On failure it prints the last text.
func (b *Bench) Eventually(what string, missing func() string) {
	b.T.Helper()
	last := ""
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = missing(); last == "" {
			b.T.Logf("%s", what)
			return
		}
	}
	raw, _ := os.ReadFile(filepath.Join(b.Dir, program+".log"))
	b.T.Fatalf("not within three minutes: %s: %s\n%s", what, last, raw[max(0, len(raw)-6000):])
}

// Settled waits until n machines run and the cloud has one server for each of them, and no other.
func (b *Bench) Settled(what string, n int) {
	b.T.Helper()
	b.Eventually(what, func() string {
		ready, servers := b.Ready(), b.Servers()
		if len(ready) == n && len(servers) == n && !slices.ContainsFunc(ready, func(name string) bool { return servers[name] != 1 }) {
			return ""
		}
		return fmt.Sprintf("ready %s; servers %v", strings.Join(ready, " "), servers)
	})
}
