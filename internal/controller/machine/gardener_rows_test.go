package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestRowsOfGardenerForcedFailures: section 2.8, what a cluster that refuses does
// to a drain, without and with force.
func TestRowsOfGardenerForcedFailures(t *testing.T) {
	refuse := func(write string) func(*rig[*v1alpha1.Machine]) {
		return func(g *rig[*v1alpha1.Machine]) {
			g.target.refuse = func(w string) error {
				if strings.HasPrefix(w, write) {
					return apierrors.NewInternalError(errors.New("etcd is away"))
				}
				return nil
			}
		}
	}
	for _, r := range []struct {
		row    string
		forced bool
		set    func(*rig[*v1alpha1.Machine])
		goes   bool
		told   int
	}{
		{"write Node condition Terminating: failure aborts: different, the drain goes on", false, refuse("patch Node/status"), true, 0},
		{"cordon: failure: else stay", false, refuse("patch Node"), false, 0},
		{"cordon: failure: forceMachine ⇒ jump to VA deletion: different, after a minute", true, refuse("patch Node"), true, 1},
		{"error ⇒ Will retry in next sync", false, refuse("create Pod/eviction"), false, 0},
		{"error+forceMachine ⇒ shall continue deletion of VM: different, after a minute", true, refuse("delete Pod"), true, 1},
		{"node object deletion: error, forced: different, the machine goes after a minute", true, refuse("delete Node"), true, 0},
	} {
		t.Run(r.row, func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			g.pod("db-0", false)
			r.set(g)
			if r.forced {
				g.change(func(m *v1alpha1.Machine) { m.Labels["force-deletion"] = "true" })
			}
			g.delete()
			for range 30 {
				res, err := g.try("m-1")
				if err != nil {
					t.Fatal(err)
				}
				g.clock.Step(max(res.RequeueAfter, time.Second))
			}
			if went := len(g.cloud.instances) == 0; went != r.goes {
				t.Errorf("instance gone: %v, want %v (calls %q, writes %q)", went, r.goes, slices.Compact(g.cloud.calls), slices.Compact(g.written()))
			}
			if g.gone() != r.goes {
				t.Errorf("the machine is gone: %v, want %v", g.gone(), r.goes)
			}
			if told := g.toldOf("DrainAbandoned"); len(told) != r.told {
				t.Errorf("told %q, want %d", told, r.told)
			}
			if r.goes {
				return
			}
			if text := g.read().Status.LastOperation.Description; !strings.Contains(text, "etcd is away") {
				t.Errorf("the object does not say why: %q", text)
			}
		})
	}
}
