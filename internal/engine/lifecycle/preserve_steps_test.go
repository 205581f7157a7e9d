package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// afterLife applies the effect of a successful step after the machine's life to the facts.
func (f *facts) afterLife(d lifecycle.Decision) {
	if f.w.Final == nil {
		f.w.Final = &d
	}
	switch d.Step {
	case lifecycle.Fail:
		f.m.Stage = lifecycle.StageFailed
		return
	case lifecycle.DropToken:
		f.w.Token = lifecycle.Token{}
		return
	case lifecycle.StorePreservation:
		f.m.Preservation.Until = d.Preserve.Machine.Until
	case lifecycle.WarnOfDrain, lifecycle.TellPreserved:
		f.w.Node.Preservation.Condition = d.Preserve.Node.Condition
	case lifecycle.DrainPreserved:
		f.w.Preserving.Drain = &drain.Decision{Done: true}
	}
	if d.Step != lifecycle.Replace && d.Step != lifecycle.RemoveFinalizer {
		f.w.Preserving.Did = d.Step
	}
}

// walk performs the steps of a pass until it waits. The step of the name fails on the node.
func (f *facts) walk(t *testing.T, broken lifecycle.Step) (steps []lifecycle.Step, last lifecycle.Decision) {
	t.Helper()
	for range maxSteps {
		d := f.decide()
		if d.Waits() {
			return steps, d
		}
		steps = append(steps, d.Step)
		if f.afterLife(d); d.Step == broken {
			f.w.Preserving.Err = errTransient
		}
	}
	t.Fatalf("steps without an end: %q", steps)
	return nil, last
}

// TestPreserveSteps: all steps that a pass takes for preserving a machine, in order, and that
// it ends with what its life waits for.
func TestPreserveSteps(t *testing.T) {
	const store, warn, mark, moves, tell = lifecycle.StorePreservation, lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved
	well, sick := node(corev1.ConditionTrue), node(corev1.ConditionFalse)
	asks := func(w lifecycle.Wish, until time.Time) lifecycle.Preservation {
		return lifecycle.Preservation{Own: w, Until: until}
	}
	says := func(n *corev1.Node, c lifecycle.PreserveCondition) lifecycle.World {
		return keptOn(n, lifecycle.NodePreservation{Condition: c})
	}
	none := lifecycle.PreserveNone
	failing := keeping(lifecycle.StageLost, asks(lifecycle.WishFailed, time.Time{}))
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		want   []lifecycle.Step
		ends   lifecycle.Reason
	}{
		{"nobody asked", keeping(running, asks(lifecycle.WishNone, time.Time{})), says(well, none), nil, lifecycle.ReasonRunning},
		{"a wish that means nothing", keeping(running, asks(lifecycle.WishUnknown, time.Time{})), says(well, none), []lifecycle.Step{mark}, lifecycle.ReasonRunning},
		{"it begins: stored before the node is touched", keeping(running, asks(lifecycle.WishNow, time.Time{})), says(well, none), []lifecycle.Step{store, mark, tell}, lifecycle.ReasonRunning},
		{"it begins, without a node", keeping(failed, asks(lifecycle.WishNow, time.Time{})), world(runningOn(nil)), []lifecycle.Step{store}, lifecycle.ReasonFailed},
		{"it goes on, without a node", keeping(failed, asks(lifecycle.WishNow, keepEnd)), world(runningOn(nil)), nil, lifecycle.ReasonFailed},
		{"it goes on", keeping(running, asks(lifecycle.WishNow, keepEnd)), says(well, lifecycle.PreserveActive), []lifecycle.Step{mark, tell}, lifecycle.ReasonRunning},
		{"it begins for a failed machine", keeping(failed, asks(lifecycle.WishFailed, time.Time{})), says(sick, none), []lifecycle.Step{store, mark, moves, tell}, lifecycle.ReasonFailed},
		{"one that was kept fails: not drained, before the fence says so", keeping(failed, asks(lifecycle.WishNow, keepEnd)), says(sick, lifecycle.PreserveActive), []lifecycle.Step{warn, mark, moves, tell}, lifecycle.ReasonFailed},
		{"the drain goes on", keeping(failed, asks(lifecycle.WishNow, keepEnd)), says(sick, lifecycle.PreserveDraining), []lifecycle.Step{mark, moves, tell}, lifecycle.ReasonFailed},
		{"it ends", keeping(running, asks(lifecycle.WishNone, keepEnd)), says(well, lifecycle.PreserveActive), []lifecycle.Step{mark, tell}, lifecycle.ReasonRunning},
		{"it ends, without a node", keeping(failed, asks(lifecycle.WishNone, keepEnd)), world(runningOn(nil)), nil, lifecycle.ReasonFailed},
		{"in the pass that gives the machine up, which is what is recorded", failing, keptOn(sick, lifecycle.NodePreservation{}, allowed), []lifecycle.Step{lifecycle.Fail, store, mark, moves, tell}, lifecycle.ReasonHealthTimeout},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := facts{m: c.m, w: c.w, p: keeper()}
			got, last := f.walk(t, "")
			if !slices.Equal(got, c.want) || last.Reason != c.ends {
				t.Errorf("%s: %q and then %s, want %q and %s", c.reason, got, last.Reason, c.want, c.ends)
			}
		})
	}
}

// allowed lets an unhealthy machine fail.
func allowed(w *lifecycle.World) { w.MayFail = true }

// TestPreserveCutShort: after a failure on the node no step follows. The object records in any case that the
// machine is kept, and that it is no longer kept only once nothing is left on its node.
func TestPreserveCutShort(t *testing.T) {
	well := node(corev1.ConditionTrue)
	kept := facts{m: keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow}), w: keptOn(well, lifecycle.NodePreservation{}), p: keeper()}
	steps, last := kept.walk(t, lifecycle.MarkPreserved)
	if want := []lifecycle.Step{lifecycle.StorePreservation, lifecycle.MarkPreserved}; !slices.Equal(steps, want) || !last.Preserve.Machine.Preserve || last.After != 96*time.Hour {
		t.Errorf("kept: %q, and the machine says %+v", steps, last.Preserve)
	}
	over := facts{m: keeping(running, lifecycle.Preservation{Until: keepEnd}), w: keptOn(well, lifecycle.NodePreservation{Condition: lifecycle.PreserveActive}), p: keeper()}
	steps, last = over.walk(t, lifecycle.MarkPreserved)
	if want := []lifecycle.Step{lifecycle.MarkPreserved}; !slices.Equal(steps, want) || last.Preserve != (lifecycle.PreservePlan{}) {
		t.Errorf("kept no more: %q, and the machine says %+v", steps, last.Preserve)
	}
}

// TestLifeIsDecidedOnce: the node's state after a step of preserving its machine is for the next pass;
// otherwise the machine would report that it recovered because its node is fenced.
func TestLifeIsDecidedOnce(t *testing.T) {
	f := facts{m: keeping(failed, lifecycle.Preservation{Own: lifecycle.WishFailed}), w: keptOn(node(corev1.ConditionFalse), lifecycle.NodePreservation{}), p: keeper()}
	d := f.decide()
	f.afterLife(d)
	f.w.Node.Object = node(corev1.ConditionTrue)
	_, last := f.walk(t, "")
	if last.Stage != lifecycle.StageFailed || !last.Preserve.Machine.Preserve {
		t.Errorf("%s, preserved as %+v", last.Stage, last.Preserve)
	}
}

// TestDecideLife: forecasts of a life do not get the steps after it.
func TestDecideLife(t *testing.T) {
	f := facts{m: keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow}), w: keptOn(node(corev1.ConditionTrue), lifecycle.NodePreservation{}), p: keeper()}
	f.w.Token.State = lifecycle.TokenMade
	life, step := lifecycle.DecideLife(now, f.m, f.w, f.p), f.decide()
	if !life.Waits() || life.Preserve != (lifecycle.PreservePlan{}) || step.Step != lifecycle.DropToken {
		t.Errorf("the life comes to %s with %+v, the pass to %s", life.Step, life.Preserve, step.Step)
	}
	if step.Step = life.Step; !cmp.Equal(life, step) {
		t.Errorf("the step carries another decision than the life's:\n%s", cmp.Diff(life, step))
	}
}
