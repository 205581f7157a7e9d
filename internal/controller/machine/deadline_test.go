package machine_test

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// takenAway notes on the node that the instance goes so long from now.
func (g *rig[M]) takenAway(in time.Duration) {
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	patch := `{"metadata":{"annotations":{"millwright.dev/termination-deadline":"` + g.clock.Now().Add(in).UTC().Format(time.RFC3339) + `"}}}`
	if err := g.target.WithWatch.Patch(g.Context(), n, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		g.Fatal(err)
	}
}

// doomed is a machine under deletion with a pod that a budget protects, whose
// instance goes two minutes from now.
func doomed[M client.Object](g *rig[M]) {
	g.settle()
	g.pod("db-0", true)
	g.target.refuse = func(w string) error {
		if w != "create Pod/eviction" {
			return nil
		}
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 429, Reason: metav1.StatusReasonTooManyRequests,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "DisruptionBudget"}}},
		}}
	}
	g.delete()
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time)
	g.takenAway(2 * time.Minute)
}

// The way through a deadline: the budget holds, the end of the time is looked at
// exactly, and then nothing is waited for. forced says whether the pod is deleted
// before it.
func throughDeadline[M client.Object](g *rig[M], forced bool) {
	doomed(g)
	deleted := func() bool { return slices.Contains(g.target.writes, "delete Pod") }
	end := g.clock.Now().Add(2 * time.Minute)
	for g.clock.Now().Before(end.Add(-15 * time.Second)) {
		res := g.pass()
		if deleted() || len(g.cloud.instances) != 1 || res.RequeueAfter <= 0 || res.RequeueAfter > 5*time.Second {
			g.Fatalf("%v before the end: pod deleted %v, %d instances, again after %v", end.Sub(g.clock.Now()), deleted(), len(g.cloud.instances), res.RequeueAfter)
		}
		g.clock.Step(res.RequeueAfter)
	}
	if left := end.Sub(g.clock.Now()); forced && left != 15*time.Second {
		g.Errorf("the margin is looked at %v before the end", left)
	}
	for g.clock.Now().Before(end) {
		res := g.pass()
		if deleted() != forced {
			g.Fatalf("%v before the end: pod deleted %v, want %v", end.Sub(g.clock.Now()), deleted(), forced)
		}
		if forced {
			g.ends("db-0")
			break
		}
		g.clock.Step(res.RequeueAfter)
	}
	if !forced && !g.clock.Now().Equal(end) {
		g.Errorf("the end is looked at %v behind it", g.clock.Since(end))
	}
	if g.pass(); !g.gone() || len(g.cloud.instances) != 0 {
		g.Errorf("gone: %v, %d instances", g.gone(), len(g.cloud.instances))
	}
	const lost = "Warning DrainAbandoned Drain ended at the termination deadline of the node with 1 of its pods left"
	if told := g.told(); slices.Contains(told, lost) == forced {
		g.Errorf("told %q", told)
	}
}

// A budget is honoured until 15 s before the end where drains may be forced, and
// to the end where not.
func TestDeadline(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { throughDeadline(openshiftRig(t), false) })
	t.Run("openshift with a timeout", func(t *testing.T) {
		throughDeadline(openshiftRig(t, func(m *machinev1.Machine) {
			m.Annotations = map[string]string{"millwright.dev/drain-timeout": "1h"}
		}), true)
	})
	t.Run("gardener", func(t *testing.T) { throughDeadline(gardenerRig(t), true) })
	t.Run("gardener, never", func(t *testing.T) {
		throughDeadline(gardenerRig(t, func(m *v1alpha1.Machine) {
			m.Annotations = map[string]string{"millwright.dev/drain-timeout": "never"}
		}), false)
	})
}

// A deadline that has passed without harm to the node was wrong: its pods leave as usual, and the machine
// does not fail.
func TestForgottenDeadline(t *testing.T) { bothLeave(t, forgotten, forgotten) }

func forgotten[M client.Object](g *rig[M]) {
	doomed(g)
	g.takenAway(-time.Hour)
	for range 3 {
		g.pass()
		g.clock.Step(10 * time.Second)
	}
	if g.gone() || len(g.cloud.instances) != 1 || slices.Contains(g.target.writes, "delete Pod") {
		g.Errorf("gone: %v, %d instances, wrote %q", g.gone(), len(g.cloud.instances), g.target.writes)
	}
}
