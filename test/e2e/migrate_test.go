package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// TestMigrate moves a set to the other API and back. The command is killed after each step, and the machine controller once. All
// nodes stay, and none is cordoned.
func TestMigrate(t *testing.T) {
	t.Parallel()
	g := newGovernedFleet(t)
	const set, namespace = "moving", fleet.GardenerNamespace // the namespace of the controllers of machine.sapcloud.io
	sample := kubectl(t, g.Fleet, "", "get", "-n", fleet.OpenShiftNamespace, "machinesets.machine.openshift.io/mill-worker-a", "-o", "jsonpath={.spec}")
	kubectl(t, g.Fleet, fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":%q,"namespace":%q},"spec":%s}`,
		set, namespace, strings.ReplaceAll(sample, "mill-worker-a", set)), "apply", "-f", "-")
	running(t, g.Fleet, provider.OpenShift, set, 3)
	before := g.nodes()

	said := g.plugin("migrate", "machineset/"+set, "-n", namespace, "--to", provider.Gardener, "--dry-run")
	if n := strings.Count(said, "delete the Machine in machine.openshift.io"); n != 3 {
		t.Errorf("the plan deletes %d Machines, want 3:\n%s", n, said)
	}
	if all, err := machines(t.Context(), g.Fleet, provider.Gardener, set); err != nil || len(all) > 0 {
		t.Errorf("after the plan: machines %v, error %v", all, err)
	}

	runs := g.migrate(set, namespace, provider.Gardener, true)
	t.Logf("the command was killed %d times", runs-1)
	if runs < 12 {
		t.Errorf("the command was killed %d times, want once after each of at least 11 steps", runs-1)
	}
	g.moved(before, provider.OpenShift, provider.Gardener, set)

	kubectl(t, g.Fleet, "", "scale", "-n", namespace, "machinesets.machine.sapcloud.io/"+set, "--replicas=4")
	running(t, g.Fleet, provider.Gardener, set, 4)
	before = g.nodes()

	g.migrate(set, namespace, provider.OpenShift, false)
	g.moved(before, provider.Gardener, provider.OpenShift, set)
	kubectl(t, g.Fleet, "", "scale", "-n", namespace, "machinesets.machine.openshift.io/"+set, "--replicas=2")
	running(t, g.Fleet, provider.OpenShift, set, 2)
}

// migrate runs the command until it succeeds, and returns how often it ran. With kill, it is killed after each step that it prints.
func (g *governedFleet) migrate(set, namespace, to string, kill bool) (runs int) {
	g.Helper()
	for runs = 1; ; runs++ {
		if runs > 100 {
			g.Fatal("the migration does not end")
		}
		if runs == 6 {
			g.replaceController()
		}
		c := exec.CommandContext(g.Context(), filepath.Join(bin, "kubectl-machine"), "migrate", "machineset/"+set, "-n", namespace, "--to", to, "--kubeconfig", g.Plane.KubeconfigPath)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			g.Fatal(err)
		}
		if err := c.Start(); err != nil {
			g.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			g.Log(lines.Text())
			if kill && !strings.Contains(lines.Text(), " is in ") {
				_ = c.Process.Kill() // the process may have ended
				break
			}
		}
		if err := c.Wait(); err == nil {
			return runs
		} else if !kill {
			g.Fatalf("migrate: %v", err)
		}
	}
}

// nodes returns the names, UIDs and provider IDs of all nodes.
func (g *governedFleet) nodes() (out []string) {
	g.Helper()
	var all corev1.NodeList
	if err := g.Client.List(g.Context(), &all); err != nil {
		g.Fatal(err)
	}
	for _, n := range all.Items {
		out = append(out, fmt.Sprint(n.Name, " ", n.UID, " ", n.Spec.ProviderID, " ", n.Spec.Unschedulable))
	}
	slices.Sort(out)
	return out
}

// moved checks that all machines of the set are in another API, with the same nodes.
func (g *governedFleet) moved(before []string, from, to, set string) {
	g.Helper()
	if after := g.nodes(); !slices.Equal(after, before) {
		g.Errorf("nodes before and after:\n%s\n\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if all, err := machines(g.Context(), g.Fleet, from, set); err != nil || len(all) > 0 {
		g.Errorf("%s still has %v, error %v", from, all, err)
	}
	eventually(g.T, "all machines are ready in "+to, func(ctx context.Context) (string, error) {
		all, err := machines(ctx, g.Fleet, to, set)
		if err == nil && (len(all) < 3 || slices.ContainsFunc(all, func(m fleet.Machine) bool { return !m.Ready() })) {
			return fmt.Sprint(all), nil
		}
		return "", err
	})
}
