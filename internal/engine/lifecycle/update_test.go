package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// updating is a world with a running instance and a node with the update u.
func updating(n *corev1.Node, u inplace.Node, edits ...worldEdit) lifecycle.World {
	w := world(runningOn(n), func(w *lifecycle.World) { w.Node.Update = u })
	for _, e := range edits {
		e(&w)
	}
	return w
}

// candidate, selected and answered are nodes that may be updated, whose turn has come, and whose agent has
// answered, since a minute.
func candidate(m inplace.Mark) inplace.Node {
	return inplace.Node{Request: inplace.RequestCandidate, Mark: m, Since: now.Add(-time.Minute)}
}

func selected(m inplace.Mark) inplace.Node {
	u := candidate(m)
	u.Request = inplace.RequestSelected
	return u
}

func answered(m inplace.Mark, a inplace.Answer) inplace.Node {
	u := selected(m)
	u.Answer = a
	return u
}

func selectedFor(d time.Duration) inplace.Node {
	u := selected(inplace.MarkSelected)
	u.Since = now.Add(-d)
	return u
}

func impatient(m *lifecycle.Machine) { m.ForceDrain = true }

// unready is a node that has been silent for so long.
func unready(d time.Duration) *corev1.Node {
	n := node(corev1.ConditionUnknown)
	n.Status.Conditions[0].LastTransitionTime.Time = now.Add(-d)
	return n
}

// TestNotes restates the changes of the node condition in section 2.9: every combination of labels and
// condition that has a successor.
func TestNotes(t *testing.T) {
	ready := node(corev1.ConditionTrue)
	ran := machine(stage(lifecycle.StageRunning, time.Minute))
	during, failed := machine(stage(lifecycle.StageUpdating, time.Minute)), machine(stage(lifecycle.StageUpdateFailed, time.Minute))
	gone := drained(drain.Decision{Done: true})
	note := func(mark inplace.Mark, r lifecycle.Reason, s lifecycle.Stage, uncordon bool) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.MarkUpdate, Reason: r, Stage: s, Mark: mark, Uncordon: uncordon}
	}
	toCandidate := note(inplace.MarkCandidate, lifecycle.ReasonUpdateCandidate, lifecycle.StageRunning, false)
	withdrawn := note(inplace.MarkNone, lifecycle.ReasonUpdateWithdrawn, lifecycle.StageRunning, true)
	retried := note(inplace.MarkCandidate, lifecycle.ReasonUpdateCandidate, lifecycle.StageUpdateFailed, true)
	check(t, []row{
		{
			name: "gardener 2.9: candidate, no condition", reason: "the first step",
			policy: brisk, m: ran, w: updating(ready, candidate(inplace.MarkNone)), want: toCandidate,
		},
		{
			name: "gardener 2.9: candidate, UpdateSuccessful without a result", reason: "the next rollout: what was done is over",
			policy: brisk, m: ran, w: updating(ready, candidate(inplace.MarkUpdated)), want: toCandidate,
		},
		{
			name: "gardener 2.9: candidate, UpdateFailed without a result (C33)", reason: "whoever takes the answer away wants another try; until then the node works",
			policy: brisk, m: failed, w: updating(ready, candidate(inplace.MarkFailed)), want: retried,
		},
		{
			name: "gardener 2.9: selected, UpdateFailed without a result (C33)", reason: "another try at once: the node stays cordoned",
			policy: brisk, m: failed, w: updating(ready, selected(inplace.MarkFailed)),
			want: note(inplace.MarkCandidate, lifecycle.ReasonUpdateCandidate, lifecycle.StageUpdateFailed, false),
		},
		{
			name: "gardener 2.9: selected, CandidateForUpdate", reason: "it is its turn",
			policy: brisk, m: ran, w: updating(ready, selected(inplace.MarkCandidate)),
			want: note(inplace.MarkSelected, lifecycle.ReasonUpdateSelected, lifecycle.StageRunning, false),
		},
		{
			name: "gardener 2.9: deselected, SelectedForUpdate", reason: "nothing has begun: the pods may come back",
			policy: brisk, m: ran, w: updating(ready, candidate(inplace.MarkSelected)),
			want: note(inplace.MarkCandidate, lifecycle.ReasonUpdateCandidate, lifecycle.StageRunning, true),
		},
		{
			name: "gardener 2.9: selected, SelectedForUpdate, drained", reason: "the machine is InPlaceUpdating before its node says DrainSuccessful",
			policy: brisk, m: ran, w: updating(ready, selected(inplace.MarkSelected), gone),
			want: note(inplace.MarkDrained, lifecycle.ReasonUpdateDrained, lifecycle.StageUpdating, false),
		},
		{
			name: "gardener 2.9: selected, SelectedForUpdate, InPlaceUpdating", reason: "the note was lost after the drain: no second drain",
			policy: brisk, m: during, w: updating(ready, selected(inplace.MarkSelected)),
			want: note(inplace.MarkDrained, lifecycle.ReasonUpdateDrained, lifecycle.StageUpdating, false),
		},
		{
			name: "gardener 2.9: DrainSuccessful", reason: "the agent may begin",
			policy: brisk, m: during, w: updating(ready, selected(inplace.MarkDrained)),
			want: note(inplace.MarkReady, lifecycle.ReasonUpdateReady, lifecycle.StageUpdating, false),
		},
		{
			name: "gardener 2.9: DrainSuccessful, not InPlaceUpdating", reason: "whoever drained it: the machine says so before the agent begins",
			policy: brisk, m: ran, w: updating(ready, selected(inplace.MarkDrained)),
			want: note(inplace.MarkReady, lifecycle.ReasonUpdateReady, lifecycle.StageUpdating, false),
		},
		{
			name: "gardener 2.9: result successful", reason: "UpdateSuccessful, whatever stood there",
			policy: brisk, m: during, w: updating(ready, answered(inplace.MarkReady, inplace.AnswerDone)),
			want: note(inplace.MarkUpdated, lifecycle.ReasonUpdated, lifecycle.StageUpdating, false),
		},
		{
			name: "gardener 2.9: result failed", reason: "UpdateFailed, whatever stood there",
			policy: brisk, m: during, w: updating(ready, answered(inplace.MarkReady, inplace.AnswerFailed)),
			want: note(inplace.MarkFailed, lifecycle.ReasonUpdateFailed, lifecycle.StageUpdating, false),
		},
		{
			name: "gardener 2.9: result successful after UpdateFailed", reason: "an agent that mended it is heard",
			policy: brisk, m: failed, w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerDone)),
			want: note(inplace.MarkUpdated, lifecycle.ReasonUpdated, lifecycle.StageUpdateFailed, false),
		},
		{
			name: "gardener 2.9: deselected after the time was over (C33)", reason: "another try, once somebody asks for it",
			policy: brisk, m: failed, w: updating(ready, candidate(inplace.MarkReady)), want: retried,
		},
		{
			name: "gardener 2.9: no candidate any more, SelectedForUpdate", reason: "called off: neither drained nor cordoned any longer",
			policy: brisk, m: ran, w: updating(ready, inplace.Node{Mark: inplace.MarkSelected}), want: withdrawn,
		},
		{
			name: "gardener 2.9: no candidate any more, ReadyForUpdate, Running", reason: "else the agent would begin, some day, on a node that nobody drained for it",
			policy: brisk, m: ran, w: updating(ready, inplace.Node{Mark: inplace.MarkReady}), want: withdrawn,
		},
		{
			name: "gardener 2.9: no candidate any more, CandidateForUpdate", reason: "nobody asks; it was never cordoned",
			policy: brisk, m: ran, w: updating(ready, inplace.Node{Mark: inplace.MarkCandidate}),
			want: note(inplace.MarkNone, lifecycle.ReasonUpdateWithdrawn, lifecycle.StageRunning, false),
		},
		{
			name: "gardener 2.9: InPlaceUpdating on a node that knows of nothing", reason: "a new node object was not drained: the update begins anew",
			policy: brisk, m: during, w: updating(ready, candidate(inplace.MarkNone)), want: toCandidate,
		},
	})
}

// TestUpdates restates sections 2.4 and 2.9 and the rows of 1.3 about updates in place: the waits, and their
// results.
func TestUpdates(t *testing.T) {
	ready, silent := node(corev1.ConditionTrue), node(corev1.ConditionUnknown)
	ran := machine(stage(lifecycle.StageRunning, time.Minute))
	during := func(d time.Duration) lifecycle.Machine { return machine(stage(lifecycle.StageUpdating, d)) }
	failed := func(d time.Duration) lifecycle.Machine { return machine(stage(lifecycle.StageUpdateFailed, d)) }
	given := machine(stage(lifecycle.StageFailed, time.Minute))
	runs := lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning}
	stays := lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonFailed, Stage: lifecycle.StageFailed}
	waits := drained(drain.Decision{Message: "1 pod has to leave: db/db-0", Next: time.Minute})
	drains := func(force bool) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.Drain, Reason: lifecycle.ReasonUpdateSelected, Stage: lifecycle.StageRunning, Force: force}
	}
	underway := func(after time.Duration) lifecycle.Decision {
		return lifecycle.Decision{
			Step: lifecycle.Await, Reason: lifecycle.ReasonUpdating, Stage: lifecycle.StageUpdating, After: after,
			Message: "Machine m-1 is undergoing an in-place update",
		}
	}
	missed := func(after time.Duration) lifecycle.Decision {
		return lifecycle.Decision{
			Step: lifecycle.Await, Reason: lifecycle.ReasonUpdateFailed, Stage: lifecycle.StageUpdateFailed, After: after,
			Message: "the update in place failed; it is tried again when its requests and its answer are removed from the node",
		}
	}
	detailed := answered(inplace.MarkFailed, inplace.AnswerFailed)
	detailed.Detail = "no space left"
	unselected := answered(inplace.MarkFailed, inplace.AnswerFailed)
	unselected.Request = inplace.RequestCandidate
	unknownSince := selected(inplace.MarkSelected)
	unknownSince.Since = time.Time{}
	check(t, []row{
		{
			name: "gardener 2.9: CandidateForUpdate", reason: "a candidate works like any other machine",
			policy: brisk, m: ran, w: updating(ready, candidate(inplace.MarkCandidate)), want: runs,
		},
		{
			name: "gardener 2.9: labels where nobody updates in place", reason: "only one API speaks of that",
			policy: patient, m: ran, w: updating(ready, selected(inplace.MarkSelected)), want: runs,
		},
		{
			name: "gardener 2.9: SelectedForUpdate", reason: "drained with the patience of a deletion",
			policy: brisk, m: ran, w: updating(ready, selected(inplace.MarkSelected)), want: drains(false),
		},
		{
			name: "gardener 2.9: SelectedForUpdate, force-drain", reason: "an operator has no patience",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Minute), impatient), w: updating(ready, selected(inplace.MarkSelected)), want: drains(true),
		},
		{
			name: "gardener 2.9: SelectedForUpdate for the drain timeout", reason: "not over yet",
			policy: brisk, m: ran, w: updating(ready, selectedFor(2*time.Hour)), want: drains(false),
		},
		{
			name: "gardener 2.9: SelectedForUpdate for longer", reason: "patience ends at lastTransitionTime + drainTimeout",
			policy: brisk, m: ran, w: updating(ready, selectedFor(2*time.Hour+time.Second)), want: drains(true),
		},
		{
			name: "gardener 2.9: SelectedForUpdate since nobody knows when", reason: "no time is no long time",
			policy: brisk, m: ran, w: updating(ready, unknownSince), want: drains(false),
		},
		{
			name: "gardener 2.9: SelectedForUpdate, not Ready for 5 minutes", reason: "not more than that",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: updating(unready(5*time.Minute), selected(inplace.MarkSelected)),
			want: lifecycle.Decision{Step: lifecycle.Drain, Reason: lifecycle.ReasonUpdateSelected, Stage: lifecycle.StageLost},
		},
		{
			name: "gardener 2.9: SelectedForUpdate, not Ready for longer", reason: "nobody is there to end the pods",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: updating(unready(5*time.Minute+time.Second), selected(inplace.MarkSelected)),
			want: lifecycle.Decision{Step: lifecycle.Drain, Reason: lifecycle.ReasonUpdateSelected, Stage: lifecycle.StageLost, Force: true},
		},
		{
			name: "gardener 2.9: drain not done", reason: "what blocks is told; the machine runs meanwhile",
			policy: brisk, m: ran, w: updating(ready, selected(inplace.MarkSelected), waits),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdateDraining, Stage: lifecycle.StageRunning,
				Message: "1 pod has to leave: db/db-0", After: time.Minute,
			},
		},
		{
			name: "gardener 2.9: drain not done, 30s before the drain timeout", reason: "asked again when patience ends",
			policy: brisk, m: ran, w: updating(ready, selectedFor(2*time.Hour-30*time.Second), waits),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdateDraining, Stage: lifecycle.StageRunning,
				Message: "1 pod has to leave: db/db-0", After: 31 * time.Second,
			},
		},
		{
			name: "gardener 2.9: unhealthy before the drain is done", reason: "the agent has not begun, so this is no restart",
			policy: brisk, m: ran, w: updating(silent, selected(inplace.MarkSelected), waits),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: time.Minute,
				Message: "the node is not healthy: Ready is Unknown (Test)", Args: lifecycle.Args{Conditions: "[Ready=Unknown]"},
			},
		},
		{
			name: "gardener 2.9: unhealthy for too long before the drain is done", reason: "it is replaced",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 10*time.Minute)), w: updating(silent, selected(inplace.MarkSelected), waits),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonHealthTimeout, Stage: lifecycle.StageFailed,
				Message: "the machine was not healthy for 10 minutes; conditions of its node: [Ready=Unknown]",
				Args:    lifecycle.Args{Conditions: "[Ready=Unknown]", Timeout: 10 * time.Minute},
			},
		},
		{
			name: "gardener 2.9: ReadyForUpdate", reason: "asked again when its time is over, not every 3 minutes",
			policy: brisk, m: during(4 * time.Minute), w: updating(ready, selected(inplace.MarkReady)), want: underway(16 * time.Minute),
		},
		{
			name: "gardener 2.4 step 2: InPlaceUpdating and not Ready", reason: "it is being restarted: neither Unknown nor Failed",
			policy: brisk, m: during(19 * time.Minute), w: updating(unready(18*time.Minute), selected(inplace.MarkReady)), want: underway(time.Minute),
		},
		{
			name: "gardener 2.9: ReadyForUpdate, not InPlaceUpdating", reason: "the phase was lost; the agent's time begins now",
			policy: brisk, m: ran, w: updating(ready, selected(inplace.MarkReady)), want: underway(20 * time.Minute),
		},
		{
			name: "gardener 2.9: no candidate any more, InPlaceUpdating", reason: "what the agent may have begun has to end first",
			policy: brisk, m: during(time.Minute), w: updating(silent, inplace.Node{Mark: inplace.MarkReady}), want: underway(19 * time.Minute),
		},
		{
			name: "gardener 2.4 step 4: InPlaceUpdating past the timeout", reason: "InPlaceUpdateFailed",
			policy: brisk, m: during(20 * time.Minute), w: updating(silent, selected(inplace.MarkReady)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdateTimeout, Stage: lifecycle.StageUpdateFailed, After: 10 * time.Minute,
				Message: "Machine m-1 was not updated in place in 20 minutes",
			},
		},
		{
			name: "gardener 2.4 step 3: result successful, InPlaceUpdating", reason: "InPlaceUpdateSuccessful for a moment, for those who watch",
			policy: brisk, m: during(time.Minute), w: updating(ready, answered(inplace.MarkUpdated, inplace.AnswerDone)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdated, Stage: lifecycle.StageUpdated, After: 500 * time.Millisecond,
				Message: "Machine m-1 was updated in place",
			},
		},
		{
			name: "gardener 2.4 step 3: result successful, InPlaceUpdateFailed", reason: "late, and good all the same",
			policy: brisk, m: failed(9 * time.Minute), w: updating(ready, answered(inplace.MarkUpdated, inplace.AnswerDone)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdated, Stage: lifecycle.StageUpdated, After: 500 * time.Millisecond,
				Message: "Machine m-1 was updated in place",
			},
		},
		{
			name: "gardener 2.4 step 3: result failed, InPlaceUpdating", reason: "with what the agent says",
			policy: brisk, m: during(time.Minute), w: updating(ready, detailed),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdateFailed, Stage: lifecycle.StageUpdateFailed, After: 10 * time.Minute,
				Message: "Machine m-1 could not be updated in place: no space left",
			},
		},
		{
			name: "gardener 2.4 step 3: result failed, Running", reason: "our own word that it was under way was lost; half updated it would stay for ever",
			policy: brisk, m: ran, w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerFailed)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdateFailed, Stage: lifecycle.StageUpdateFailed, After: 10 * time.Minute,
				Message: "Machine m-1 could not be updated in place",
			},
		},
		{
			name: "gardener 2.4 step 3: result failed, Running, selected no more", reason: "what was not asked for does not fail",
			policy: brisk, m: ran, w: updating(ready, unselected), want: runs,
		},
		{
			name: "gardener 1.3: InPlaceUpdateSuccessful, healthy", reason: "Running",
			policy: brisk, m: machine(stage(lifecycle.StageUpdated, time.Second)), w: updating(ready, answered(inplace.MarkUpdated, inplace.AnswerDone)), want: runs,
		},
		{
			name: "gardener 1.3: InPlaceUpdateSuccessful, healthy, held by a taint", reason: "taints hold those that never ran",
			policy: brisk, m: machine(stage(lifecycle.StageUpdated, time.Second)),
			w:    updating(tainted(node(corev1.ConditionTrue), "critical"), inplace.Node{Mark: inplace.MarkUpdated}),
			want: runs,
		},
		{
			name: "gardener 1.3: InPlaceUpdateSuccessful, not Ready yet", reason: "agents answer before kubelets do",
			policy: brisk, m: machine(stage(lifecycle.StageUpdated, time.Minute)), w: updating(silent, answered(inplace.MarkUpdated, inplace.AnswerDone)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUpdated, Stage: lifecycle.StageUpdated, After: 9 * time.Minute,
				Message: "the node was updated in place and does not count as healthy yet: Ready is Unknown (Test)",
			},
		},
		{
			name: "gardener 1.3: InPlaceUpdateSuccessful, not Ready for too long", reason: "else it would wait for ever: Unknown, and its time runs",
			policy: brisk, m: machine(stage(lifecycle.StageUpdated, 10*time.Minute)), w: updating(silent, answered(inplace.MarkUpdated, inplace.AnswerDone)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "the node is not healthy: Ready is Unknown (Test)", Args: lifecycle.Args{Conditions: "[Ready=Unknown]"},
			},
		},
		{
			name: "gardener 1.3: InPlaceUpdateFailed, node healthy", reason: "healthy is not updated: it does not run again by that",
			policy: brisk, m: failed(4 * time.Minute), w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerFailed)), want: missed(6 * time.Minute),
		},
		{
			name: "gardener 1.3: InPlaceUpdateFailed past the health timeout", reason: "Failed, so that its set replaces it",
			policy: brisk, m: failed(10 * time.Minute), w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerFailed)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonHealthTimeout, Stage: lifecycle.StageFailed,
				Message: "the machine was not healthy for 10 minutes; conditions of its node: [Ready=True]",
				Args:    lifecycle.Args{Conditions: "[Ready=True]", Timeout: 10 * time.Minute},
			},
		},
		{
			name: "gardener 1.3: InPlaceUpdateFailed past the health timeout, reason known", reason: "the last word is not without it",
			policy: brisk, m: failed(10 * time.Minute), w: updating(ready, detailed),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonHealthTimeout, Stage: lifecycle.StageFailed,
				Message: "the machine was not healthy for 10 minutes; conditions of its node: [Ready=True]. Its update in place failed: no space left",
				Args:    lifecycle.Args{Conditions: "[Ready=True]", Timeout: 10 * time.Minute, Detail: "no space left"},
			},
		},
		{
			name: "gardener 2.5: InPlaceUpdateFailed past the health timeout, no permit", reason: "one at a time",
			policy: brisk, m: failed(11 * time.Minute),
			w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerFailed), func(w *lifecycle.World) { w.MayFail = false }),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonFailureWithheld, Stage: lifecycle.StageUpdateFailed, After: 5 * time.Second,
				Message: "another machine of the group is being replaced",
			},
		},
		{
			name: "gardener 1.3: InPlaceUpdateFailed, disableHealthTimeout (C33)", reason: "for ever, until somebody asks for another try",
			policy: untimed(brisk), m: failed(24 * time.Hour), w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerFailed)), want: missed(0),
		},
		{
			name: "gardener 1.3: InPlaceUpdateFailed, asked for no more", reason: "by its health, as any other",
			policy: brisk, m: failed(time.Minute), w: updating(ready, inplace.Node{}), want: runs,
		},
		{
			name: "gardener 1.3: Failed after InPlaceUpdateFailed, node healthy", reason: "what was given up does not come back half updated",
			policy: brisk, m: given, w: updating(ready, answered(inplace.MarkFailed, inplace.AnswerFailed)), want: stays,
		},
		{
			name: "gardener 1.3: Failed after the agent's silence, node healthy", reason: "the agent may still be at work",
			policy: brisk, m: given, w: updating(ready, selected(inplace.MarkReady)), want: stays,
		},
		{
			name: "gardener 1.3: Failed after InPlaceUpdateFailed, updated after all", reason: "it runs again if its owner has not deleted it yet",
			policy: brisk, m: given, w: updating(ready, answered(inplace.MarkUpdated, inplace.AnswerDone)), want: runs,
		},
		{
			name: "gardener 2.1 node delete: InPlaceUpdating", reason: "a restart does not delete the node object; people do",
			policy: brisk, m: during(time.Minute), w: world(having(instance(provider.Running)), nodeDeleted),
			want: lifecycle.Decision{
				Step: lifecycle.Replace, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageUpdating, Message: "the node object was deleted",
			},
		},
		{
			name: "gardener 2.4: cluster does not answer, InPlaceUpdating", reason: "the update goes on unseen",
			policy: brisk, m: during(time.Minute), w: world(having(instance(provider.Running)), nodeBlind),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnknown, Stage: lifecycle.StageUpdating,
				Message: "connection reset", Err: errTransient, After: 5 * time.Second,
			},
		},
		{
			name: "gardener 2.7: deleted while InPlaceUpdating", reason: "deletion wins; its drain finds what is left",
			policy: brisk, m: leaving(), w: updating(silent, selected(inplace.MarkReady)),
			want: lifecycle.Decision{Step: lifecycle.Drain, Reason: lifecycle.ReasonDeleting, Stage: lifecycle.StageDeleting},
		},
	})
}

// TestUpdatesBeginDrained: no agent may begin on a node that was not drained, nor before the machine records
// it.
func TestUpdatesBeginDrained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		was := f.w.Node.Update.Mark
		d := f.decide()
		if d.Step != lifecycle.MarkUpdate || d.Mark != inplace.MarkDrained && d.Mark != inplace.MarkReady {
			return
		}
		empty := f.w.Drain.Result != nil && f.w.Drain.Result.Done || f.m.Stage == lifecycle.StageUpdating
		switch {
		case d.Stage != lifecycle.StageUpdating:
			t.Fatalf("the node becomes %s and the machine %s", d.Mark, d.Stage)
		case d.Mark == inplace.MarkDrained && (was != inplace.MarkSelected || !empty):
			t.Fatalf("%s after %q, machine %s, drain %v", d.Mark, was, f.m.Stage, f.w.Drain.Result)
		case d.Mark == inplace.MarkReady && was != inplace.MarkDrained:
			t.Fatalf("%s after %q", d.Mark, was)
		case f.w.Node.Update.Answer != inplace.AnswerNone, !f.w.Node.Update.Request.Candidate():
			t.Fatalf("%s although %+v", d.Mark, f.w.Node.Update)
		}
	})
}

// TestRestartsAreNoLoss: while the agent's timeout runs, the health of the node does not change the machine.
func TestRestartsAreNoLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts{m: drawMachine(t), w: drawWorld(t), p: brisk}
		f.m.Deleted, f.m.HasFinalizer, f.m.Faults, f.m.Recorded.Provisioned = time.Time{}, true, nil, true
		f.m.Stage, f.m.StageSince = lifecycle.StageUpdating, now.Add(-19*time.Minute)
		f.w.Node.Object, f.w.Node.Looked, f.w.Node.Update = unready(drawSpan(t, "silent")), true, selected(inplace.MarkReady)
		f.w.Retry = lifecycle.Retry{}
		if d := f.decide(); d.Stage != lifecycle.StageUpdating && d.Step != lifecycle.Initialize {
			t.Fatalf("%s (%s) makes it %s", d.Step, d.Reason, d.Stage)
		}
	})
}

// TestOthersDoNotUpdate: without updates in place, the node's requests and answers are ignored.
func TestOthersDoNotUpdate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.p.Update.InPlace = false
		heard := f.decide()
		f.w.Node.Update = inplace.Node{}
		deaf := f.decide()
		heard.Err, deaf.Err = nil, nil // its text is the message
		if heard != deaf {
			t.Fatalf("%+v, and without labels %+v", heard, deaf)
		}
	})
}
