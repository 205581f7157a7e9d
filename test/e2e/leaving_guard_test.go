package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// A set with the annotation for the guard of deletions does not delete three of its four machines at once. It reports this, and
// keeps all of them until a user approves the number.
func TestMassDeletionIsHeldAndApproved(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "guarded-" + d.name
		kubectl(t, f, manifest(t, "leaving-guarded-"+d.name+".yaml", name), "apply", "-f", "-")
		members(t, f, d, name, 4)
		set := d.object("MachineSet", name)
		kubectl(t, f, "", "-n", d.namespace, "scale", d.sets(), name, "--replicas=1")
		told(t, f, set, "DeletionHeld", "3 of 4", `annotation millwright.dev/approve-mass-deletion: "3" approves it`)
		members(t, f, d, name, 4)

		merge(t, f, set, `{"metadata":{"annotations":{"millwright.dev/approve-mass-deletion":"2"}}}`)
		told(t, f, set, "DeletionHeld", "at most 2")
		members(t, f, d, name, 4)

		merge(t, f, set, `{"metadata":{"annotations":{"millwright.dev/approve-mass-deletion":"3"}}}`)
		members(t, f, d, name, 1)
		kubectl(t, f, "", "-n", d.namespace, "scale", d.sets(), name, "--replicas=0")
		members(t, f, d, name, 0)
	})
}

// members waits until the set has the given number of machines, with none under deletion.
func members(t *testing.T, f *fleet.Fleet, d dialect, name string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d machines of %s", n, name), func(ctx context.Context) (string, error) {
		all, err := machines(ctx, f, d.group, name)
		if err != nil {
			return "", err
		}
		for _, m := range all {
			if m.Deleted {
				return m.Name + " is deleted", nil
			}
		}
		if len(all) != n {
			return fmt.Sprintf("there are %d", len(all)), nil
		}
		return "", nil
	})
}
