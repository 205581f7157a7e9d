package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// after is an outcome at now whose pass performed steps and then waited for why.
func after(why lifecycle.Reason, steps ...lifecycle.Step) lifecycle.Outcome {
	o := lifecycle.Outcome{Decision: lifecycle.Decision{Reason: why}, At: now.Add(300 * time.Millisecond)}
	for _, s := range steps {
		o.Steps = append(o.Steps, lifecycle.Decision{Step: s})
	}
	return o
}

// inWorld is the same in another world.
func inWorld(o lifecycle.Outcome, w lifecycle.World) lifecycle.Outcome { o.World = w; return o }

// TestBegin: the deletion was requested ten minutes before the pass.
func TestBegin(t *testing.T) {
	deleted := now.Add(-10 * time.Minute)
	ago := func(s lifecycle.DeletionStep, minutes int) lifecycle.StartedStep {
		return lifecycle.StartedStep{Step: s, At: now.Add(-time.Duration(minutes) * time.Minute)}
	}
	type list = []lifecycle.StartedStep
	const (
		hook, drains, detach = lifecycle.DeletionPreDrainHook, lifecycle.DeletionDrain, lifecycle.DeletionVolumeDetach
		last, instance, node = lifecycle.DeletionPreTerminateHook, lifecycle.DeletionInstance, lifecycle.DeletionNode
	)
	volumes := lifecycle.World{Drain: lifecycle.Draining{Result: &drain.Decision{Waiting: []drain.Blocker{{Volume: "pv-1"}}}}}
	pods := lifecycle.World{Drain: lifecycle.Draining{Result: &drain.Decision{Waiting: []drain.Blocker{{Volume: "pv-1"}, {}}}}}
	budget := func(cause v1alpha1.DisruptionReason) lifecycle.World {
		return lifecycle.World{Disruption: lifecycle.Disruption{Cause: cause}}
	}
	waits := func(cause v1alpha1.DisruptionReason, minutes int) lifecycle.StartedStep {
		b := ago(lifecycle.DeletionBudget, minutes)
		b.Cause = cause
		return b
	}
	gone := lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalDone}}
	rows := []struct {
		reason   string
		recorded list
		o        lifecycle.Outcome
		want     list
	}{
		{"a hook is waited for", nil, after(lifecycle.ReasonDrainBlockedHook), list{ago(hook, 0)}},
		{"what is recorded keeps its time", list{ago(hook, 9)}, after(lifecycle.ReasonDrainBlockedHook), list{ago(hook, 9)}},
		{"a drain begins with its first look", nil, inWorld(after(lifecycle.ReasonDraining, lifecycle.Drain), pods), list{ago(drains, 0)}},
		{"the drain goes on, and the hook before it keeps its time", list{ago(hook, 9), ago(drains, 8)}, inWorld(after(lifecycle.ReasonDraining, lifecycle.Drain), pods), list{ago(hook, 9), ago(drains, 8)}},
		{"only volumes are left", list{ago(drains, 8)}, inWorld(after(lifecycle.ReasonDraining, lifecycle.Drain), volumes), list{ago(drains, 8), ago(detach, 0)}},
		{"a pod has come meanwhile: volumes are not all that is left", list{ago(drains, 8), ago(detach, 5)}, inWorld(after(lifecycle.ReasonDraining, lifecycle.Drain), pods), list{ago(drains, 8)}},
		{"a drain that ends at once, and a hook behind it", nil, after(lifecycle.ReasonTerminateHook, lifecycle.Drain), list{ago(drains, 0), ago(last, 0)}},
		{"the infrastructure works", list{ago(drains, 8)}, after(lifecycle.ReasonTerminating, lifecycle.Drain, lifecycle.Terminate), list{ago(drains, 8), ago(instance, 0)}},
		{"a pass that begins again at an empty node changes nothing", list{ago(drains, 8), ago(instance, 5)}, after(lifecycle.ReasonTerminating, lifecycle.Drain, lifecycle.Terminate), list{ago(drains, 8), ago(instance, 5)}},
		{"there is no session", nil, after(lifecycle.ReasonDeletionNeedsHelp), list{ago(instance, 0)}},
		{"the infrastructure refuses", list{ago(instance, 5)}, after(lifecycle.ReasonTerminateFailed, lifecycle.Terminate), list{ago(instance, 5)}},
		{"nothing is listed, which is not believed yet", nil, after(lifecycle.ReasonUnconfirmed), list{ago(instance, 0)}},
		{"a hook was added behind its time", list{ago(drains, 8), ago(instance, 5)}, after(lifecycle.ReasonTerminateHook), list{ago(drains, 8), ago(last, 0)}},
		{"the node does not go", list{ago(instance, 5)}, inWorld(after(lifecycle.ReasonNodeUnknown, lifecycle.DeleteNode), gone), list{ago(instance, 5), ago(node, 0)}},
		{"whether there is a node to drain cannot be seen", nil, after(lifecycle.ReasonNodeUnknown), list{ago(drains, 0)}},
		{"a node that cannot be seen now has not gone back to its drain", list{ago(drains, 8), ago(instance, 5)}, after(lifecycle.ReasonNodeUnknown), list{ago(drains, 8), ago(instance, 5)}},
		{"an object that is only held by others", list{ago(instance, 5)}, after(lifecycle.ReasonReleased), list{ago(instance, 5)}},
		{"an earlier life of an object that was restored means nothing", list{ago(drains, 11)}, inWorld(after(lifecycle.ReasonDraining, lifecycle.Drain), pods), list{ago(drains, 0)}},
		{"the budgets refuse a scale-down", nil, inWorld(after(lifecycle.ReasonDisruptionBudget), budget(v1alpha1.ReasonScaleDown)), list{waits(v1alpha1.ReasonScaleDown, 0)}},
		{"the first cause stays", list{waits(v1alpha1.ReasonScaleDown, 9)}, inWorld(after(lifecycle.ReasonDisruptionBudget), budget(v1alpha1.ReasonManual)), list{waits(v1alpha1.ReasonScaleDown, 9)}},
		{"an unknown cause becomes known", list{waits("", 9)}, inWorld(after(lifecycle.ReasonDisruptionBudget), budget(v1alpha1.ReasonManual)), list{waits(v1alpha1.ReasonManual, 9)}},
		{"a drain keeps the cause of the wait before it", list{waits(v1alpha1.ReasonRollout, 9)}, after(lifecycle.ReasonDraining, lifecycle.Drain), list{waits(v1alpha1.ReasonRollout, 9), ago(drains, 0)}},
	}
	for _, r := range rows {
		if d := cmp.Diff(r.want, lifecycle.Begin(r.recorded, deleted, r.o)); d != "" {
			t.Errorf("%s (-want +got)\n%s", r.reason, d)
		}
	}
}

// The API server sets the deletion timestamp by its own clock. A step that begins by a slow clock counts from
// the deletion; otherwise the next pass would take it for older, and write it again each time.
func TestBeginByASlowClock(t *testing.T) {
	o := after(lifecycle.ReasonTerminating, lifecycle.Terminate)
	first := lifecycle.Begin(nil, now.Add(3*time.Second), o)
	o.At = o.At.Add(time.Second)
	if d := cmp.Diff(first, lifecycle.Begin(first, now.Add(3*time.Second), o)); d != "" || !first[0].At.Equal(now.Add(3*time.Second)) {
		t.Errorf("first %v, then %s", first, d)
	}
}

func TestStory(t *testing.T) {
	if s := lifecycle.Story(nil); s != "" {
		t.Errorf("of nothing: %q", s)
	}
	steps := []lifecycle.StartedStep{{Step: lifecycle.DeletionDrain, At: now}, {Step: lifecycle.DeletionInstance, At: now.Add(time.Minute)}}
	want := "begun: drain " + now.Format(time.RFC3339) + ", instance deletion " + now.Add(time.Minute).Format(time.RFC3339)
	if s := lifecycle.Story(steps); s != want {
		t.Errorf("%q, want %q", s, want)
	}
	if at := (lifecycle.Machine{Deletion: lifecycle.Deletion{Started: steps}}).Since(lifecycle.DeletionInstance); !at.Equal(now.Add(time.Minute)) {
		t.Errorf("since %v", at)
	}
}

// TestBeginProperties: for every decision of the engine, the steps are in order, none twice, none older than
// the deletion; the same outcome later changes nothing; and every wait has a step that began.
func TestBeginProperties(t *testing.T) {
	place := map[lifecycle.DeletionStep]int{}
	for i, s := range lifecycle.DeletionSteps {
		place[s] = i
	}
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.m.Deleted = now.Add(-drawSpan(t, "deleted"))
		for _, s := range lifecycle.DeletionSteps {
			if drawBool(t, "recorded "+string(s)) {
				f.m.Deletion.Started = append(f.m.Deletion.Started, lifecycle.StartedStep{Step: s, At: f.m.Deleted.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "at")) * time.Second)})
			}
		}
		o := lifecycle.Outcome{Decision: f.decide(), World: f.w, At: now}
		if !o.Waits() {
			o.Steps = append(o.Steps, o.Decision)
		}
		got := lifecycle.Begin(f.m.Deletion.Started, f.m.Deleted, o)
		for i, b := range got {
			if b.At.Before(f.m.Deleted) || i > 0 && place[got[i-1].Step] >= place[b.Step] {
				t.Fatalf("%v, deleted at %v", got, f.m.Deleted)
			}
		}
		o.At = o.At.Add(time.Hour)
		if d := cmp.Diff(got, lifecycle.Begin(got, f.m.Deleted, o)); d != "" {
			t.Fatalf("the same an hour later\n%s", d)
		}
		if f.m.HasFinalizer && o.Waits() && len(got) == 0 {
			t.Fatalf("%s (%s) is nothing that began", o.Step, o.Reason)
		}
	})
}
