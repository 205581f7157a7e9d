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
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

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

// permits are the permits of one budget over time.
type permits struct {
	mu sync.Mutex
	// causes are those of all permits so far, held the machines with a permit now, most is the largest number of permits at a time.
	causes map[string]bool
	held   []string
	most   int
}

// follow records each version of a budget, until the test ends: a permit may be shorter than the time between two reads.
func (g *governedFleet) follow(name string) *permits {
	g.Helper()
	admin, err := g.Plane.RESTConfig()
	if err != nil {
		g.Fatal(err)
	}
	c, err := dynamic.NewForConfig(admin)
	if err != nil {
		g.Fatal(err)
	}
	w, err := c.Resource(schema.GroupVersionResource{Group: "millwright.dev", Version: "v1alpha1", Resource: "machinedisruptionbudgets"}).
		Watch(g.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(w.Stop)
	p := &permits{causes: map[string]bool{}}
	go func() {
		for e := range w.ResultChan() {
			if b, ok := e.Object.(*unstructured.Unstructured); ok {
				p.note(b)
			}
		}
	}()
	return p
}

func (p *permits) note(budget *unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = nil
	all, _, _ := unstructured.NestedSlice(budget.Object, "status", "disruptions")
	for _, d := range all {
		d := d.(map[string]any)
		p.causes[fmt.Sprint(d["reason"])] = true
		p.held = append(p.held, fmt.Sprint(d["api"], "/", d["name"]))
	}
	p.most = max(p.most, len(p.held))
}

// now returns the machines with a permit, and the causes and the largest number of permits so far.
func (p *permits) now() (held, causes []string, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held, slices.Sorted(maps.Keys(p.causes)), p.most
}

// TestDisruptionBudgets: an emergency stop holds deletions in both APIs, but not that of a machine whose instance the cloud ends. After the
// stop, a rollout, a scale-down, a remediation and a deletion by a user happen at the same time, while the machine controller is
// killed, and at no moment is more than one node disrupted.
func TestDisruptionBudgets(t *testing.T) {
	t.Parallel()
	g := newGovernedFleet(t)
	pool(t, g.Fleet, "rolled", 2, `{"apiVersion":"kubemark.millwright.dev/v1alpha1","kind":"KubemarkMachineProviderConfig","numCores":2}`)
	workers := running(t, g.Fleet, provider.OpenShift, "mill-worker-a", 3)
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
	if said := g.plugin("why", "machine/"+victim, "-n", fleet.GardenerNamespace); !strings.Contains(said, "an emergency stop does not permit its drain yet") || !strings.Contains(said, "emergency-stop, which is paused (storage is down)") {
		t.Errorf("why says %s", said)
	}
	if nodes, err := g.cordonedNodes(t.Context()); err != nil || len(nodes) > 0 {
		t.Errorf("%v, nodes %q are cordoned in an emergency stop", err, nodes)
	}

	g.failAndInterrupt(workers)

	kubectl(t, g.Fleet, "apiVersion: millwright.dev/v1alpha1\nkind: MachineDisruptionBudget\nmetadata: {name: one}\nspec: {budgets: [{nodes: 1}]}\n", "apply", "-f", "-")
	said, code := rolls(t, g.Fleet, "restart", "machinedeployments.machine.sapcloud.io/rolled", "-n", fleet.GardenerNamespace)
	if code != 0 {
		t.Fatal(said)
	}
	seen := g.follow("one")
	g.plugin("resume")
	g.oneAtATime(seen)
}

// workersCheck remediates machines of mill-worker-a.
const workersCheck = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"workers","namespace":"%s"},"spec":{
	"selector":{"matchLabels":%s},"unhealthyConditions":[
	{"type":"Ready","status":"Unknown","timeout":"1s"},{"type":"Terminating","status":"True","timeout":"0s"}]}}`

// failAndInterrupt lets the node of one machine fail, and the cloud announce the end of the instance of another. A health check deletes
// both machines. In the emergency stop, only the machine with the announcement is drained.
func (g *governedFleet) failAndInterrupt(workers []fleet.Machine) {
	g.Helper()
	stay := slices.DeleteFunc(workers, func(m fleet.Machine) bool {
		return kubectl(g.T, g.Fleet, "", "get", "-n", fleet.OpenShiftNamespace, "machines.machine.openshift.io/"+m.Name, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	if len(stay) != 2 {
		g.Fatalf("machines %v remain after the scale-down, want 2", stay)
	}
	ill, interrupted, seen := stay[0], stay[1], g.follow("emergency-stop")
	selector := kubectl(g.T, g.Fleet, "", "get", "-n", fleet.OpenShiftNamespace, "machinesets.machine.openshift.io/mill-worker-a", "-o", "jsonpath={.spec.selector.matchLabels}")
	kubectl(g.T, g.Fleet, fmt.Sprintf(workersCheck, fleet.OpenShiftNamespace, selector), "apply", "-f", "-")
	kubectl(g.T, g.Fleet, "", "annotate", "node", ill.Node, "kwok.x-k8s.io/node-")
	g.condition(ill.Node, "Ready", "Unknown", "NodeStatusUnknown")
	g.waits(ill.Name)

	g.condition(interrupted.Node, "Terminating", "True", "TerminationRequested")
	eventually(g.T, interrupted.Name+" is replaced", func(ctx context.Context) (string, error) {
		all, err := machines(ctx, g.Fleet, provider.OpenShift, "mill-worker-a")
		if slices.ContainsFunc(all, func(m fleet.Machine) bool { return m.Name == interrupted.Name }) {
			return "it exists", err
		}
		return "", err
	})
	if _, causes, _ := seen.now(); !slices.Equal(causes, []string{"Interruption"}) {
		g.Errorf("the emergency stop permitted %q, want only the interruption", causes)
	}
	g.waits(ill.Name)
}

// condition writes a condition of a node, an hour old.
func (g *governedFleet) condition(node, kind, status, reason string) {
	g.Helper()
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	kubectl(g.T, g.Fleet, "", "patch", "node", node, "--subresource=status", "--type=strategic", "-p", fmt.Sprintf(
		`{"status":{"conditions":[{"type":%q,"status":%q,"reason":%q,"message":"of the test","lastHeartbeatTime":%q,"lastTransitionTime":%q}]}}`, kind, status, reason, at, at))
}

// waits waits until a machine of machine.openshift.io is under deletion and waits for the emergency stop.
func (g *governedFleet) waits(name string) {
	g.Helper()
	eventually(g.T, name+" waits for the emergency stop", func(context.Context) (string, error) {
		said := kubectl(g.T, g.Fleet, "", "get", "-n", fleet.OpenShiftNamespace, "machines.machine.openshift.io/"+name, "-o", "jsonpath={.metadata.deletionTimestamp} {.status}")
		if strings.HasPrefix(said, " ") || !strings.Contains(said, "emergency-stop") {
			return said, nil
		}
		return "", nil
	})
}

// oneAtATime waits until all disruptions are over. Meanwhile it kills the machine controller once.
func (g *governedFleet) oneAtATime(seen *permits) {
	g.Helper()
	killed, begun := false, time.Now()
	for calm := 0; calm < 20; time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > patience {
			g.Fatal("the disruptions do not end")
		}
		nodes, err := g.cordonedNodes(g.Context())
		if err != nil {
			g.Fatal(err)
		}
		held, _, most := seen.now()
		if len(nodes) > 1 || most > 1 {
			g.Fatalf("nodes %q are cordoned, and the budget, which allows 1, had %d permits, now %q", nodes, most, held)
		}
		if !killed && len(held) == 1 {
			killed = true
			g.replaceController()
		}
		if calm++; len(held) > 0 || !g.settled() {
			calm = 0
		}
	}
	// The set that was scaled down has replaced other machines since. The cause that was recorded during the stop still counts.
	if _, causes, _ := seen.now(); !slices.Equal(causes, []string{"Manual", "Remediation", "Rollout", "ScaleDown"}) {
		g.Errorf("the permits had the causes %q", causes)
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
