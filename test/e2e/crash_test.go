package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
	"github.com/millwright-dev/millwright/provider"
)

// The size of the crash test: `make test-crash` runs the large one.
var (
	crashMachines = flag.Int("crash.machines", 20, "machines that the crash test creates, in both APIs together")
	crashKills    = flag.Int("crash.kills", 3, "how often controllers are killed in each act of the crash test")
	crashSeed     = flag.Uint64("crash.seed", 0, "seed of the crash test; 0 for one of its own")
)

// faultRate is the share of the provider's calls that fail or whose reply is lost.
const faultRate = "0.1"

// TestCrashTruth kills the controllers at random moments while machines are created, scaled down and deleted, with an
// infrastructure that loses replies. After each step there must be exactly one instance for each machine, and nothing else.
func TestCrashTruth(t *testing.T) {
	t.Parallel()
	if *crashSeed == 0 {
		*crashSeed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay the choices of this run with -crash.seed=%d", *crashSeed)
	c := startCrash(t)
	seen := c.watchForTwins(t)
	for _, manifest := range []string{"testdata/crash-openshift.yaml", "testdata/crash-gardener.yaml"} {
		raw, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	half := *crashMachines / 2
	c.act(t, "create", half, func(ctx context.Context, s *unstructured.Unstructured) error { return c.scale(ctx, s, half) })
	few := max(half/5, 1)
	c.act(t, "scale down", few, func(ctx context.Context, s *unstructured.Unstructured) error { return c.scale(ctx, s, few) })
	c.act(t, "scale up again", half/2, func(ctx context.Context, s *unstructured.Unstructured) error { return c.scale(ctx, s, half/2) })
	c.act(t, "delete", 0, func(ctx context.Context, s *unstructured.Unstructured) error {
		return c.Client.Delete(ctx, s, client.PropagationPolicy("Background"))
	})
	c.keepsPromises(t, seen())
}

// keepsPromises judges drains, hooks and bounds by all writes and instances of the test. kubemark's cloud runs in the controller's process,
// and deletes the Node of an ended instance as the same user, just before it forgets the instance: so node-last is left out.
func (c *crash) keepsPromises(t *testing.T, run checker.Run) {
	t.Helper()
	run.Sets, run.Machines, run.DrainTimeout = fleet.User(fleet.Sets), fleet.User(fleet.Machines), 2*time.Hour
	judged, err := record.Promises(run, c.audit, "node-last")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(judged.Table)
	for _, b := range judged.Broken {
		t.Errorf("seed %d: %s", *crashSeed, b)
	}
}

// crash is a fleet whose controllers are killed.
type crash struct {
	truth
	random *rand.Rand
	args   map[string][]string
	kills  int
	// audit is the folder of the audit log.
	audit string
}

func startCrash(t *testing.T) *crash {
	t.Helper()
	c := &crash{random: rand.New(rand.NewPCG(*crashSeed, 0)), args: map[string][]string{}, audit: t.TempDir()}
	c.draw()
	audit, err := record.Audit(c.audit)
	if err != nil {
		t.Fatal(err)
	}
	c.startFleet(t, fleet.Options{Args: c.args, PlaneArgs: map[string][]string{devplane.APIServer: audit}})
	return c
}

// startFleet starts a fleet with instances of kwok in its own folder, until the test ends.
func (c *crash) startFleet(t *testing.T, o fleet.Options) {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := down(dir); err != nil {
			t.Error("take the fleet down:", err)
		}
	})
	o.Dir, o.Bin, o.Backend, o.Log = dir, bin, "kwok", os.Stderr
	f, err := fleet.Start(t.Context(), o)
	if err != nil {
		t.Fatal("start the fleet:", err)
	}
	if c.truth, err = truthOf(f); err != nil {
		t.Fatal(err)
	}
}

// draw gives the next provider process its own faults.
func (c *crash) draw() {
	c.args[fleet.Machines] = []string{"--fault-rate=" + faultRate, fmt.Sprintf("--fault-seed=%d", c.random.Uint64())}
}

// sets returns objects for reading the machine sets under test.
func (c *crash) sets() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, s := range []struct{ group, version, namespace string }{
		{provider.OpenShift, "v1beta1", fleet.OpenShiftNamespace},
		{provider.Gardener, "v1alpha1", fleet.GardenerNamespace},
	} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: s.group, Version: s.version, Kind: "MachineSet"})
		u.SetNamespace(s.namespace)
		u.SetName("crash")
		out = append(out, u)
	}
	return out
}

// act changes both sets, kills controllers during the change, and waits for the wanted state.
func (c *crash) act(t *testing.T, name string, replicas int, ask func(context.Context, *unstructured.Unstructured) error) {
	t.Helper()
	for _, s := range c.sets() {
		if err := ask(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for range *crashKills {
		time.Sleep(time.Duration(c.random.Int64N(int64(1500 * time.Millisecond))))
		c.kill(t)
	}
	begin := time.Now()
	eventually(t, fmt.Sprintf("%s, %d kills, seed %d", name, c.kills, *crashSeed), func(ctx context.Context) (string, error) {
		return c.settled(ctx, replicas)
	})
	t.Logf("%s: as it should be %s after the last kill", name, time.Since(begin).Round(100*time.Millisecond))
}

// kill ends one of the two programs, or both, and starts them again.
func (c *crash) kill(t *testing.T) {
	t.Helper()
	all := append([]*fleet.Controller(nil), c.Controllers...)
	if chosen := c.random.IntN(len(all) + 1); chosen < len(all) {
		all = all[chosen : chosen+1]
	}
	for _, victim := range all {
		if err := c.KillController(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		c.kills++
	}
	c.draw()
	for _, victim := range all {
		if _, err := c.StartController(victim.Program); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *crash) scale(ctx context.Context, s *unstructured.Unstructured, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return c.Client.Patch(ctx, s, client.RawPatch("application/merge-patch+json", patch))
}

// watchForTwins continuously checks whether a machine has two instances. The returned function ends that, looks once more, and returns
// all events.
func (c *crash) watchForTwins(t *testing.T) (seen func() checker.Run) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	var run checker.Run
	var watch record.Watch
	look := func(ctx context.Context) (changed bool, err error) {
		began := time.Now()
		sights, err := c.sights(ctx, slices.Collect(maps.Values(clusters)))
		if err != nil {
			return false, fmt.Errorf("look for machines with several instances: %w", err)
		}
		more := watch.Look(began, time.Now(), sights)
		run.Events = append(run.Events, more...)
		return len(more) > 0, nil
	}
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			changed, err := look(ctx)
			if ctx.Err() == nil && err != nil {
				t.Error(err)
				return
			}
			if !changed {
				continue
			}
			if why := checker.Wrong(run, checker.OneInstance); why != "" {
				t.Errorf("seed %d: %s", *crashSeed, why)
				return
			}
		}
	}()
	ended := func() { stop(); <-done }
	t.Cleanup(ended)
	return func() checker.Run {
		ended()
		if _, err := look(t.Context()); err != nil {
			t.Error(err)
		}
		return run
	}
}
