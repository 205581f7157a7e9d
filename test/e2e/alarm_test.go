package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// badTemplate is a change to a template whose machines fail.
func (d dialect) badTemplate(name string) string {
	if d.group == provider.Gardener {
		return fmt.Sprintf(`{"spec":{"template":{"spec":{"class":{"name":"%s-bad"}}}}}`, name)
	}
	return `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"hollow.huge"}}}}}}`
}

// TestBadTemplate: the three machines of a canary become silent together. A health check in mode enforce does not replace them,
// and their rollout stops: although a user approves the canary, no machine is created and no old machine is deleted. After the
// machines recover and the cooldown of the check is over, the rollout completes.
func TestBadTemplate(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		seats(t, 7)
		const name = "stormy"
		edit := func(patch string) {
			t.Helper()
			kubectl(t, f, "", "-n", d.namespace, "patch", d.deployments(), name, "--type=merge", "-p", patch)
		}
		says := func(reason, words string) {
			t.Helper()
			eventually(t, "the rollout says "+words, func(context.Context) (string, error) {
				got := conditionOf(t, d.deployment(t, f, name), "Progressing")
				if got.Reason != reason || !strings.Contains(got.Message, words) {
					return fmt.Sprintf("it says %+v", got), nil
				}
				return "", nil
			})
		}
		d.discard(t, f, name)
		kubectl(t, f, manifest(t, "alarm-"+d.name+".yaml", name), "apply", "-f", "-")
		good := running(t, f, d.group, name+"-", 4)
		edit(d.badTemplate(name))
		says("MachineSetUpdated", `approve it with the annotation millwright.dev/rollout-approved: "2"`)
		canary := lost(running(t, f, d.group, name+"-", 4), good)
		if len(canary) != 3 {
			t.Fatalf("%d machines are of the canary, want 3", len(canary))
		}

		signal(t, f, syscall.SIGSTOP, canary...)
		says("RolloutStopped", "health check stormy: 3 of 3 machines of template ")
		before, err := machines(t.Context(), f, d.group, name+"-")
		if err != nil {
			t.Fatal(err)
		}
		edit(`{"metadata":{"annotations":{"millwright.dev/rollout-approved":"2"}},"spec":{"progressDeadlineSeconds":900}}`)
		eventually(t, "a look at the approval", func(context.Context) (string, error) {
			return kubectl(t, f, "", "-n", d.namespace, "get", d.deployments(), name, "-o",
				`go-template={{if ne .metadata.generation .status.observedGeneration}}not seen{{end}}`), nil
		})
		says("RolloutStopped", "; keeping what there is")
		after, err := machines(t.Context(), f, d.group, name+"-")
		if err != nil || len(lost(before, after)) > 0 || len(after) != 4 {
			t.Errorf("while the rollout is stopped, %v go, and %d are there: %v", lost(before, after), len(after), err)
		}

		signal(t, f, syscall.SIGCONT, canary...)
		says("NewMachineSetAvailable", "has all 4 machines available")
		if gone := lost(canary, settled(t, f, d.group, name+"-", 4, good...)); len(gone) > 0 {
			t.Errorf("%v came back, but are replaced", gone)
		}
		kubectl(t, f, "", "-n", d.namespace, "delete", "machinehealthchecks.machine.openshift.io", name)
	})
}
