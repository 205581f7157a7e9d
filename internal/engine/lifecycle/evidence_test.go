package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestContradiction: the facts that contradict an infrastructure that lists no instance.
func TestContradiction(t *testing.T) {
	nodeWith := func(edit func(*corev1.Node)) worldEdit {
		n := node(corev1.ConditionTrue)
		edit(n)
		return joined(n)
	}
	nameless := func(n *corev1.Node) { n.Spec.ProviderID = "" }
	recorded := func(m *lifecycle.Machine) { m.Recorded.NodeName, m.Recorded.NodeUID = "node-1", "node-uid" }
	never := func(m *lifecycle.Machine) { m.Recorded.Provisioned, m.Recorded.ProviderID = false, "" }
	seen := func(w *lifecycle.World) { w.Instances.SeenToGo = true }
	doubtful := func(w *lifecycle.World) { w.Instances.Doubt = "it lists 1 of 7" }
	abandon := func(m *lifecycle.Machine) { m.Deletion.Abandon = true }
	for _, r := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		want   string // a part of the text; empty: the answer is trusted
	}{
		{"a kubelet that reports runs on something", machine(), world(joined(node(corev1.ConditionTrue))), "cloud:///i-1, but node node-1 reports Ready"},
		{"so it does on the way out", leaving(), world(joined(node(corev1.ConditionTrue))), "millwright.dev/abandon-instance"},
		{"a silent one says nothing", machine(), world(joined(node(corev1.ConditionUnknown))), ""},
		{"one that reports trouble is no proof of a running instance", machine(), world(joined(node(corev1.ConditionFalse))), ""},
		{"there is no node", machine(), world(), ""},
		{"the node cannot be looked up", machine(), world(nodeBlind), ""},
		{"the instance is listed", machine(), world(runningOn(node(corev1.ConditionTrue))), ""},
		{"nobody answered, so there is nothing to speak against", machine(), world(joined(node(corev1.ConditionTrue)), blind(errDenied)), ""},
		{"a machine that lives and never had an instance has nothing to miss", fresh(), world(nodeWith(nameless)), ""},
		{"one on its way out would have its node deleted", leaving(never), world(nodeWith(nameless)), "an instance of the machine, but node node-1"},
		{"the recorded node shows no provider ID", machine(recorded), world(nodeWith(nameless)), "node node-1"},
		{"another node took its name, and shows none", machine(recorded), world(nodeWith(func(n *corev1.Node) { nameless(n); n.UID = "other" })), ""},
		{"the same, and it would be deleted", leaving(recorded), world(nodeWith(func(n *corev1.Node) { nameless(n); n.UID = "other" })), "node node-1"},
		{"a node that came anew with the recorded provider ID is the machine's", machine(recorded), world(nodeWith(func(n *corev1.Node) { n.UID = "other" })), "node node-1"},
		{"the instance was seen to go", leaving(), world(joined(node(corev1.ConditionTrue)), seen), ""},
		{"a person has said so", leaving(abandon), world(joined(node(corev1.ConditionTrue)), doubtful), ""},
		{"who abandons a machine that lives has said it for later", machine(abandon), world(joined(node(corev1.ConditionTrue))), "reports Ready"},
		{"the fleet is not listed either", machine(), world(doubtful), "contradicts other facts: it lists 1 of 7"},
		{"nor is it on the way out", leaving(), world(doubtful), "contradicts other facts: it lists 1 of 7"},
		{"of a machine that never had one, nothing is expected", leaving(never), world(doubtful), ""},
		{"doubles go without it", leaving(), world(joined(node(corev1.ConditionTrue)), func(w *lifecycle.World) { w.Instances.Duplicates = []provider.Instance{instance(provider.Running)} }), ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			got := r.w.Contradiction(r.m)
			if r.want == "" && got != "" || !strings.Contains(got, r.want) || (got != "") != lifecycle.Contradicts(got) {
				t.Errorf("%s: %q, want %q", r.reason, got, r.want)
			}
		})
	}
}

// TestUnbelievedAbsence has the decisions about machines meanwhile.
func TestUnbelievedAbsence(t *testing.T) {
	ready, silent := world(joined(node(corev1.ConditionTrue))), world(joined(node(corev1.ConditionUnknown)))
	doubtful := world(func(w *lifecycle.World) { w.Instances.Doubt = "it lists 1 of 7" })
	says := func(w lifecycle.World, m lifecycle.Machine, d lifecycle.Decision) lifecycle.Decision {
		d.Message = w.Contradiction(m)
		return d
	}
	running := machine(stage(lifecycle.StageRunning, time.Hour))
	gone := func(w lifecycle.World) lifecycle.World { w.Drain.Result = &allDone; return w }
	held := func(after time.Duration) lifecycle.Decision { return waiting(lifecycle.ReasonContradicted, "", after) }
	check(t, []row{
		{
			name: "decision 18: the node is Ready", reason: "no Failed on the word of an infrastructure that may be wrong",
			policy: patient, m: running, w: ready,
			want: says(ready, running, lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonContradicted, Stage: lifecycle.StageRunning, After: time.Minute}),
		},
		{
			name: "decision 18: the node is silent", reason: "nothing speaks for the instance any more",
			policy: patient, m: running, w: silent,
			want: lifecycle.Decision{Step: lifecycle.Fail, Reason: lifecycle.ReasonMissing, Stage: lifecycle.StageFailed, Message: "the infrastructure does not list the instance", Args: lifecycle.Args{Missing: true}},
		},
		{
			name: "decision 18: the node cannot be looked up", reason: "what cannot be asked may speak for it",
			policy: patient, m: running, w: world(nodeBlind),
			want: because(lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnknown, Stage: lifecycle.StageRunning, Message: "connection reset", After: 30 * time.Second}, errTransient),
		},
		{
			name: "decision 18: the fleet is not listed either, and the machine has lost its node", reason: "it is not failed for its instance; its node is another question",
			policy: patient, m: running, w: doubtful,
			want: lifecycle.Decision{Step: lifecycle.Await, After: time.Minute, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, Message: "the node does not exist: it comes back only if its kubelet registers again; otherwise delete the machine, or have a health check do that"},
		},
		{
			name: "decision 18: deletion, the node is Ready", reason: "its pods live, and are moved",
			policy: brisk, m: leaving(), w: ready, want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name: "decision 18: deletion, drained", reason: "neither the instance's removal is asked for where it is not, nor the node deleted, nor the object let go",
			policy: brisk, m: leaving(), w: gone(ready), want: says(ready, leaving(), held(3*time.Minute)),
		},
		{
			name: "decision 18: forced deletion", reason: "a person's word about pods is none about instances",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Force = true }), w: gone(ready), want: says(ready, leaving(), held(3*time.Minute)),
		},
		{
			name: "decision 18: deletion, drain excluded", reason: "that is about pods, too",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Deletion.SkipDrain = true }), w: ready, want: says(ready, leaving(), held(time.Minute)),
		},
		{
			name: "decision 18: deletion, the fleet is not listed either", reason: "the machine has no node to speak for it, and waits",
			policy: patient, m: leaving(), w: doubtful, want: says(doubtful, leaving(), held(time.Minute)),
		},
		{
			name: "decision 18: deletion, the node cannot be looked up", reason: "it may have pods",
			policy: patient, m: leaving(), w: world(nodeBlind),
			want: because(waiting(lifecycle.ReasonNodeUnknown, "connection reset", 30*time.Second), errTransient),
		},
		{
			name: "decision 18: deletion, the node is silent, and the infrastructure does not answer", reason: "nobody said that the instance is gone",
			policy: brisk, m: leaving(), w: world(joined(node(corev1.ConditionUnknown)), blind(errDenied)), want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name: "decision 18: deletion, abandoned, not drained", reason: "the instance may run, and its pods with it",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Abandon = true }), w: ready, want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name: "decision 18: deletion, abandoned, drained", reason: "a person has decided",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Abandon = true }), w: gone(ready), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name: "decision 18: no node is expected", reason: "there is none to ask, and the answer counts",
			policy: targetless(patient), m: running, w: world(nodeBlind),
			want: lifecycle.Decision{Step: lifecycle.Fail, Reason: lifecycle.ReasonMissing, Stage: lifecycle.StageFailed, Message: "the infrastructure does not list the instance", Args: lifecycle.Args{Missing: true}},
		},
	})
}

// TestTwoSilencesAreNoProof: world 100200669. A user forces the deletion of a machine whose instance is not
// listed while the cluster that it joined does not answer. Neither fact proves that the instance is
// terminated.
func TestTwoSilencesAreNoProof(t *testing.T) {
	forced := func(m *lifecycle.Machine) { m.Deletion.Force = true }
	never := func(m *lifecycle.Machine) { m.Recorded.Provisioned, m.Recorded.ProviderID = false, "" }
	unnamed := func(m *lifecycle.Machine) { m.Recorded.ProviderID = "" }
	asked := func(w *lifecycle.World) { w.Removal.State = lifecycle.RemovalDone }
	heard := func(w *lifecycle.World) { w.Node.Object = node(corev1.ConditionUnknown) }
	held := func(instance string) lifecycle.Decision {
		return because(waiting(lifecycle.ReasonNodeUnknown, "away; the infrastructure does not list "+instance+", and its node cannot be read: "+
			"the forced deletion continues as soon as the instance or the node is found again; "+
			"or set the annotation millwright.dev/abandon-instance to delete the machine without its instance", brisk.Delays.Transient), errAway)
	}
	terminate, let := out(lifecycle.Terminate, lifecycle.ReasonDeleting), out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft)
	check(t, []row{
		{name: "before the drain", reason: "the node might speak for the instance", policy: brisk, m: leaving(forced), w: world(unlooked(time.Hour)), want: held("instance cloud:///i-1")},
		{name: "no provider ID is recorded", reason: "there is an instance all the same", policy: brisk, m: leaving(forced, unnamed), w: world(unlooked(time.Hour)), want: held("an instance of the machine")},
		{name: "drained before", reason: "that says nothing of the instance", policy: brisk, m: leaving(forced, func(m *lifecycle.Machine) { m.Deletion.Drained = true }), w: world(unlooked(time.Hour), asked), want: held("instance cloud:///i-1")},
		{name: "for less than a minute", reason: "nothing is held up yet by more than the cluster", policy: brisk, m: leaving(forced), w: world(unlooked(59 * time.Second)), want: because(waiting(lifecycle.ReasonNodeUnknown, "away", brisk.Delays.Transient), errAway)},
		{name: "the instance is listed", reason: "it can be removed", policy: brisk, m: leaving(forced), w: world(having(instance(provider.Running)), unlooked(time.Hour)), want: terminate},
		{name: "the instance was seen to go", reason: "nothing speaks for it", policy: brisk, m: leaving(forced), w: world(unlooked(time.Hour), removal(lifecycle.RemovalDone)), want: let},
		{name: "the node was heard, and cannot be deleted", reason: "it is silent", policy: brisk, m: leaving(forced), w: world(unlooked(time.Hour), heard, asked), want: let},
		{name: "there never was an instance", reason: "nothing is what is to be expected", policy: brisk, m: leaving(forced, never), w: world(unlooked(time.Hour)), want: terminate},
		{name: "abandoned", reason: "a person has decided", policy: brisk, m: leaving(forced, func(m *lifecycle.Machine) { m.Deletion.Abandon = true }), w: world(unlooked(time.Hour)), want: terminate},
		{name: "no node is expected", reason: "there is none to ask, and the answer counts", policy: targetless(brisk), m: leaving(forced), w: world(nodeBlind), want: terminate},
	})
}

// TestUnheardNodeIsNotOverruled: for any other facts, a machine that has had an instance is not released
// while neither its instance is listed nor its node can be read, unless the instance was seen terminating or
// a user has decided.
func TestUnheardNodeIsNotOverruled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.m.HasFinalizer, f.m.Deleted, f.m.Recorded.Provisioned = true, now.Add(-time.Hour), true
		f.m.Deletion.PreDrain, f.m.Deletion.PreTerminate, f.m.Deletion.Force = nil, nil, true
		f.w.Drain.Result, f.w.Drain.RefusedFor, f.w.Removal.Err = nil, time.Hour, nil
		f.w.Node.Object, f.w.Node.Looked, f.w.Node.Err = nil, false, errAway
		f.w.Instances.Own, f.w.Instances.Duplicates = nil, nil
		f.w.Instances.Looked, f.w.Instances.SeenToGo, f.m.Deletion.Abandon, f.p.Targetless = true, false, false, false
		if d := f.decide(); d.Step == lifecycle.RemoveFinalizer {
			t.Fatalf("%s (%s) although nobody can say whether there is an instance", d.Step, d.Reason)
		}
	})
}

// TestReadyNodeIsKept: for any other facts, a Ready node is not deleted, nor its machine released or failed
// because of a missing instance, unless that was seen terminating or a user has decided.
func TestReadyNodeIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.w.Node.Object, f.w.Node.Looked, f.w.Node.Err = node(corev1.ConditionTrue), true, nil
		f.w.Instances.SeenToGo, f.m.Deletion.Abandon, f.p.Targetless = false, false, false
		switch d := f.decide(); {
		case d.Step == lifecycle.DeleteNode, d.Step == lifecycle.RemoveFinalizer, d.Step == lifecycle.Fail && d.Reason == lifecycle.ReasonMissing:
			t.Fatalf("%s (%s) although the node is Ready", d.Step, d.Reason)
		}
	})
}
