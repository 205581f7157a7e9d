package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// governedFleet is a fleet with disruption budgets, whose kind is installed while the controllers run.
type governedFleet struct {
	*fleet.Fleet
	*testing.T
}

func newGovernedFleet(t *testing.T) *governedFleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-budgets-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := down(dir); err != nil {
			t.Error("take the fleet down:", err)
		}
	})
	f, err := fleet.Start(t.Context(), fleet.Options{Dir: dir, Bin: bin, Backend: "kwok", Log: os.Stderr, Idle: true})
	if err != nil {
		t.Fatal("start the fleet:", err)
	}
	g := &governedFleet{Fleet: f, T: t}
	g.install()
	for _, program := range []string{fleet.Sets, fleet.Machines} {
		if _, err := f.StartController(program); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.ApplySamples(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// install installs the kind. The machine controllers of a fleet have the rights of the manifest.
func (g *governedFleet) install() {
	g.Helper()
	raw, err := config.FS.ReadFile("disruption-budgets/millwright.dev_machinedisruptionbudgets.yaml")
	if err != nil {
		g.Fatal(err)
	}
	kubectl(g.T, g.Fleet, string(raw), "apply", "-f", "-")
	kubectl(g.T, g.Fleet, "", "wait", "--for=condition=Established", "crd/machinedisruptionbudgets.millwright.dev")
}

// plugin runs `kubectl machine`.
func (g *governedFleet) plugin(args ...string) string {
	g.Helper()
	out, err := exec.Command(filepath.Join(bin, "kubectl-machine"), append(args, "--kubeconfig", g.Plane.KubeconfigPath)...).CombinedOutput()
	if err != nil {
		g.Fatalf("kubectl machine %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// cordonedNodes are the nodes that take no pods.
func (g *governedFleet) cordonedNodes(ctx context.Context) (out []string, err error) {
	var nodes corev1.NodeList
	if err := g.Client.List(ctx, &nodes); err != nil {
		return nil, err
	}
	for _, n := range nodes.Items {
		if n.Spec.Unschedulable {
			out = append(out, n.Name)
		}
	}
	return out, nil
}

// disruptions are the causes of the permits of a budget, by machine.
func (g *governedFleet) disruptions(ctx context.Context, name string) (map[string]string, error) {
	b := &unstructured.Unstructured{}
	b.SetAPIVersion("millwright.dev/v1alpha1")
	b.SetKind("MachineDisruptionBudget")
	if err := g.Client.Get(ctx, client.ObjectKey{Name: name}, b); err != nil {
		return nil, err
	}
	out := map[string]string{}
	all, _, err := unstructured.NestedSlice(b.Object, "status", "disruptions")
	for _, d := range all {
		d := d.(map[string]any)
		out[fmt.Sprint(d["api"], "/", d["name"])] = fmt.Sprint(d["reason"])
	}
	return out, err
}

// TestDisruptionBudgets: an emergency stop holds deletions in both APIs. After it, a rollout, a scale-down and deletions by a user happen
// at the same time in both APIs, while the machine controller is killed, and at no moment is more than one node disrupted.
func TestDisruptionBudgets(t *testing.T) {
	t.Parallel()
	g := newGovernedFleet(t)
	pool(t, g.Fleet, "rolled", 2, `{"apiVersion":"kubemark.millwright.dev/v1alpha1","kind":"KubemarkMachineProviderConfig","numCores":2}`)
	running(t, g.Fleet, provider.OpenShift, "mill-worker-a", 3)
	victims := running(t, g.Fleet, provider.Gardener, "mill-pool", 3)

	if said := g.plugin("stop", "--message", "storage is down"); !strings.Contains(said, "no voluntary disruption of machines begins") {
		t.Errorf("stop says %q", said)
	}
	victim := victims[0].Name
	kubectl(t, g.Fleet, "", "delete", "--wait=false", "-n", fleet.GardenerNamespace, "machines.machine.sapcloud.io/"+victim)
	kubectl(t, g.Fleet, "", "scale", "-n", fleet.OpenShiftNamespace, "machinesets.machine.openshift.io/mill-worker-a", "--replicas=2")
	const wait = "Waits for machine disruption budget emergency-stop, which is paused (storage is down)"
	for _, d := range dialects {
		eventually(t, "a machine of "+d.name+" waits", func(context.Context) (string, error) {
			said := kubectl(t, g.Fleet, "", "get", "-n", d.namespace, d.machines(), "-o", "jsonpath={.items[*].status}")
			if !strings.Contains(said, wait) {
				return said, nil
			}
			return "", nil
		})
	}
	if said := g.plugin("why", "machine/"+victim, "-n", fleet.GardenerNamespace); !strings.Contains(said, "a machine disruption budget does not permit its drain yet") || !strings.Contains(said, "emergency-stop, which is paused (storage is down)") {
		t.Errorf("why says %s", said)
	}
	if nodes, err := g.cordonedNodes(t.Context()); err != nil || len(nodes) > 0 {
		t.Errorf("%v, nodes %q are cordoned in an emergency stop", err, nodes)
	}

	kubectl(t, g.Fleet, "apiVersion: millwright.dev/v1alpha1\nkind: MachineDisruptionBudget\nmetadata: {name: one}\nspec: {budgets: [{nodes: 1}]}\n", "apply", "-f", "-")
	said, code := rolls(t, g.Fleet, "restart", "machinedeployments.machine.sapcloud.io/rolled", "-n", fleet.GardenerNamespace)
	if code != 0 {
		t.Fatal(said)
	}
	g.plugin("resume")
	g.oneAtATime()
}

// oneAtATime waits until all disruptions are over. Meanwhile it kills the machine controller once.
func (g *governedFleet) oneAtATime() {
	g.Helper()
	reasons, killed, begun := map[string]bool{}, false, time.Now()
	for calm := 0; calm < 20; time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > patience {
			g.Fatal("the disruptions do not end")
		}
		nodes, err := g.cordonedNodes(g.Context())
		if err != nil {
			g.Fatal(err)
		}
		permits, err := g.disruptions(g.Context(), "one")
		if err != nil {
			g.Fatal(err)
		}
		if len(nodes) > 1 || len(permits) > 1 {
			g.Fatalf("nodes %q are cordoned, the budget has the permits %v, and allows 1", nodes, permits)
		}
		for reason := range maps.Values(permits) {
			reasons[reason] = true
		}
		if !killed && len(permits) == 1 {
			killed = true
			g.replaceController()
		}
		if calm++; len(permits) > 0 || !g.settled() {
			calm = 0
		}
	}
	for _, want := range []string{"Rollout", "ScaleDown", "Manual"} {
		if !reasons[want] {
			g.Errorf("no permit had the cause %s: there were %q", want, slices.Sorted(maps.Keys(reasons)))
		}
	}
}

// replaceController kills the machine controller, and starts another.
func (g *governedFleet) replaceController() {
	g.Helper()
	i := slices.IndexFunc(g.Controllers, func(c *fleet.Controller) bool { return c.Program == fleet.Machines })
	if err := g.KillController(g.Context(), g.Controllers[i]); err != nil {
		g.Fatal(err)
	}
	if _, err := g.StartController(fleet.Machines); err != nil {
		g.Fatal(err)
	}
}

// settled reports whether each machine is ready, and none is under deletion.
func (g *governedFleet) settled() bool {
	g.Helper()
	all, err := g.Census(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	return len(all) == 7 && !slices.ContainsFunc(all, func(m fleet.Machine) bool { return !m.Ready() })
}
