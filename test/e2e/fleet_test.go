package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// shared is the fleet of hollow kubelets that all tests share.
var shared struct {
	once sync.Once
	dir  string
	*fleet.Fleet
	err error
}

// hollow returns the shared fleet, which the first test starts. Nodes without a heartbeat become Unknown after 20 s. Kubelets
// renew their leases every 10 s.
func hollow(t *testing.T) *fleet.Fleet {
	t.Helper()
	shared.once.Do(func() {
		ctx := context.Background() // of all tests, not of the first one
		if shared.dir, shared.err = os.MkdirTemp("", "millwright-e2e-"); shared.err != nil {
			return
		}
		shared.Fleet, shared.err = fleet.Start(ctx, fleet.Options{
			Dir: shared.dir, Bin: bin, Backend: "hollow", Log: os.Stderr,
			PlaneArgs: map[string][]string{devplane.ControllerManager: {"--node-monitor-grace-period=20s"}},
		})
		if shared.err == nil {
			shared.err = shared.ApplySamples(ctx)
		}
	})
	if shared.err != nil {
		t.Fatal("start the fleet:", shared.err)
	}
	return shared.Fleet
}

// patience limits the time of any step. A step takes seconds, but a computer with two cores may be busy. The tests check
// results, not durations.
const patience = 4 * time.Minute

// eventually repeats look until it returns an empty string. After patience, it fails with the last result.
func eventually(t *testing.T, what string, look func(ctx context.Context) (missing string, err error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	last := "never looked"
	for {
		missing, err := look(ctx)
		switch {
		case err == nil && missing == "":
			return
		case err != nil && ctx.Err() == nil:
			last = err.Error()
		case err == nil:
			last = missing
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %s", what, patience, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// kubectl runs the kubectl of the test binaries and returns its output.
func kubectl(t *testing.T, f *fleet.Fleet, input string, args ...string) string {
	t.Helper()
	path, err := f.Plane.Assets.Path(devplane.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // kubectl itself would wait forever
	defer cancel()
	c := exec.CommandContext(ctx, path, append([]string{"--kubeconfig", f.Plane.KubeconfigPath}, args...)...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// machines returns the machines of one API whose names begin with prefix.
func machines(ctx context.Context, f *fleet.Fleet, api, prefix string) ([]fleet.Machine, error) {
	all, err := f.Census(ctx)
	if err != nil {
		return nil, err
	}
	var out []fleet.Machine
	for _, m := range all {
		if m.API == api && strings.HasPrefix(m.Name, prefix) {
			out = append(out, m)
		}
	}
	return out, nil
}

// claimed has the test that counts the machines with a prefix.
var claimed struct {
	sync.Mutex
	by map[claimant]string
}

type claimant struct {
	fleet       *fleet.Fleet
	api, prefix string
}

// claim fails a test that counts machines which another test counts as well. Tests of one fleet run at the same time, and
// neither would find its number.
func claim(t *testing.T, f *fleet.Fleet, api, prefix string) {
	t.Helper()
	claimed.Lock()
	defer claimed.Unlock()
	if claimed.by == nil {
		claimed.by = map[claimant]string{}
	}
	story, _, _ := strings.Cut(t.Name(), "/")
	for c, other := range claimed.by {
		if c.fleet == f && c.api == api && other != story && (strings.HasPrefix(prefix, c.prefix) || strings.HasPrefix(c.prefix, prefix)) {
			t.Errorf("machines %s* of %s are %s's, which counts %s*", prefix, api, other, c.prefix)
		}
	}
	claimed.by[claimant{fleet: f, api: api, prefix: prefix}] = story
}

// running waits until exactly n machines exist and all of them are Running with Ready nodes.
func running(t *testing.T, f *fleet.Fleet, api, prefix string, n int) (out []fleet.Machine) {
	t.Helper()
	claim(t, f, api, prefix)
	eventually(t, fmt.Sprintf("%d machines %s* of %s Running with Ready nodes", n, prefix, api), func(ctx context.Context) (string, error) {
		var err error
		if out, err = machines(ctx, f, api, prefix); err != nil {
			return "", err
		}
		if len(out) != n {
			return fmt.Sprintf("there are %d", len(out)), nil
		}
		for _, m := range out {
			if !m.Ready() {
				return fmt.Sprintf("%s is %s, its node %q Ready=%s, %s", m.Name, m.Phase, m.Node, m.NodeReady, m.Why), nil
			}
		}
		return "", nil
	})
	return out
}
