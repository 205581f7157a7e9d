package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// rolls runs `kubectl machine rollout`, and returns its output.
func rolls(t *testing.T, f *fleet.Fleet, args ...string) (said string, code int) {
	t.Helper()
	out, err := exec.Command(filepath.Join(bin, "kubectl-machine"), append([]string{"rollout", "--kubeconfig", f.Plane.KubeconfigPath}, args...)...).CombinedOutput()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out), code
}

// TestRolloutCommands: the commands control the real controllers of both APIs. A restart replaces all machines, and an undo of
// it replaces them again.
func TestRolloutCommands(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		seats(t, 3)
		const name = "commands"
		if d.group == provider.Gardener {
			pool(t, f, name, 2, `{"apiVersion":"kubemark.millwright.dev/v1alpha1","kind":"KubemarkMachineProviderConfig","numCores":2}`)
		} else {
			d.discard(t, f, name)
			apply(t, f, d.variant(t, name, "{}"))
		}
		at := []string{d.deployments() + "/" + name, "-n", d.namespace}
		title := "machinedeployment." + d.group + "/" + name
		does := func(verb string, code int, says ...string) {
			t.Helper()
			said, got := rolls(t, f, append(strings.Fields(verb), at...)...)
			for _, want := range says {
				if !strings.Contains(said, want) {
					t.Errorf("%s: %q is not in\n%s", verb, want, said)
				}
			}
			if got != code {
				t.Fatalf("%s: exit code %d, want %d\n%s", verb, got, code, said)
			}
		}
		machines := func() string {
			return kubectl(t, f, "", "-n", d.namespace, "get", d.machines(), "-l", selectorOf(d, name), "-o", "jsonpath={.items[*].metadata.name}")
		}
		const done = `machinedeployment "commands" successfully rolled out`

		does("status --timeout=3m", 0, done)
		does("undo", 1, title+" has no last revision to roll back to")
		first := machines()
		does("restart", 0, title+" restarted")
		does("status --timeout=3m", 0, "Waiting for", done)
		does("history", 0, title, "2 *")
		second := machines()
		for _, m := range strings.Fields(first) {
			if strings.Contains(second, m) {
				t.Errorf("%s was not replaced by the restart: %s", m, second)
			}
		}

		does("pause", 0, title+" paused")
		does("pause", 1, "is already paused")
		does("undo", 1, "resume it first")
		does("restart", 1, "resume it first")
		does("resume", 0, title+" resumed")
		does("resume", 1, "is not paused")

		d.rollsByLabel(t, f, name)
		does("undo --dry-run=server", 0, title+" rolled back to revision 1 (dry run, server)")
		does("undo --to-revision=9", 1, "has no revision 9 in its history")
		does("undo", 0, title+" rolled back to revision 1")
		does("status --timeout=3m", 0, done)
		does("history --revision=3", 0, "Machine Template:")
		does("undo --to-revision=3", 0, "skipped rollback (current template already matches revision 3)")
		does("status --revision=2", 1, "runs revision 3")
		for _, m := range strings.Fields(second) {
			if strings.Contains(machines(), m) {
				t.Errorf("%s was not replaced by the way back", m)
			}
		}
	})
}

// selectorOf returns the label of a variant's machines.
func selectorOf(d dialect, name string) string {
	selector, _ := d.mill()
	key, _, _ := strings.Cut(selector, "=")
	return key + "=" + name
}

// rollsByLabel: labels select the deployments. If no deployment has the labels, nothing changes.
func (d dialect) rollsByLabel(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	title := "machinedeployment." + d.group + "/" + name
	does := func(verb, want string) {
		t.Helper()
		said, code := rolls(t, f, verb, "machinedeployment", "-n", d.namespace, "--api", d.group, "-l", "rolls="+name)
		if code != 0 || !strings.HasPrefix(said, want) {
			t.Errorf("%s by label: exit code %d: %s, want %s", verb, code, said, want)
		}
	}
	does("pause", "No resources found in "+d.namespace+" namespace.\n")
	kubectl(t, f, "", "-n", d.namespace, "label", d.deployments(), name, "rolls="+name)
	does("pause", title+" paused\n")
	does("resume", title+" resumed\n")
}
