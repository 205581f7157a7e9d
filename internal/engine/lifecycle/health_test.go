package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestRowsOfGardenerHealth: the decisions about machines that have run, by sections 2.4 and 2.5 of the
// Gardener notes. Steps 3 and 4 of machines that are updated in place are in TestUpdate, those of machines
// without a node in TestLiveBrisk.
func TestRowsOfGardenerHealth(t *testing.T) {
	ran := machine(stage(lifecycle.StageRunning, time.Hour), aged(2*time.Hour))
	check(t, []row{
		{
			name:   "gardener 2.1: Node delete ⇒ DELETE the machine",
			reason: "deleting a node always means replacing its machine",
			policy: brisk, m: ran, w: world(having(instance(provider.Running)), nodeDeleted),
			want: lifecycle.Decision{
				Step: lifecycle.Replace, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, Message: "the node object was deleted",
			},
		},
		{
			name:   "gardener 2.1: Node update, deletionTimestamp set ⇒ DELETE the machine",
			reason: "our finalizer keeps the node only until the wish was seen; waiting for it to go would be for ever",
			policy: brisk, m: ran, w: world(runningOn(withdrawn(node(corev1.ConditionTrue)))),
			want: lifecycle.Decision{
				Step: lifecycle.Replace, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, Message: "the node object was deleted",
			},
		},
		{
			name:   "gardener 2.1: Node update, deletionTimestamp set ⇒ DELETE the machine, also one that is Pending",
			reason: "whoever deletes a node that has just joined means its machine too; only our finalizer keeps the node",
			policy: brisk, m: machine(stage(lifecycle.StageJoining, time.Minute)), w: world(runningOn(withdrawn(node(corev1.ConditionTrue)))),
			want: lifecycle.Decision{
				Step: lifecycle.Replace, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageJoining, Message: "the node object was deleted",
			},
		},
		{
			name:   "gardener 2.1: Node update, deletionTimestamp set ⇒ DELETE the machine, also one that is Failed",
			reason: "nobody else takes our finalizer off the node of a machine without a set",
			policy: brisk, m: machine(stage(lifecycle.StageFailed, time.Minute)), w: world(runningOn(withdrawn(node(corev1.ConditionUnknown)))),
			want: lifecycle.Decision{
				Step: lifecycle.Replace, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageFailed, Message: "the node object was deleted",
			},
		},
		{
			name:   "gardener 2.1: Node delete ⇒ DELETE the machine, not where another instance has its node now",
			reason: "nobody deleted anything: the machine has lost its node, and its time runs",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Hour), aged(2*time.Hour), onNode1), w: world(nodeTaken),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "node node-1 is that of instance cloud:///i-9, and the machine's own instance does not exist",
			},
		},
		{
			name:   "gardener 2.1: likewise, its instance is there, and the other's node is silent",
			reason: "nothing reports for the machine, whatever its kubelet has made up before",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Hour), aged(2*time.Hour), onNode1), w: world(having(instance(provider.Running)), nodeTaken),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "node node-1 is that of instance cloud:///i-9",
			},
		},
		{
			name:   "gardener 2.1: likewise, and the other's node reports Ready",
			reason: "the kubelet of the instance may be what reports: pods that nobody can drain are left alone",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Hour), aged(2*time.Hour), onNode1), w: world(having(instance(provider.Running)), nodeTaken, takenReady),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, Message: "node node-1 is that of instance cloud:///i-9",
			},
		},
		{
			name:   "gardener 2.4: likewise, and it reports again",
			reason: "as before: a silence that is over gives nothing up",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 11*time.Minute), onNode1), w: world(having(instance(provider.Running)), nodeTaken, takenReady),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, Message: "node node-1 is that of instance cloud:///i-9",
			},
		},
		{
			name:   "gardener 2.4: a node of another is Ready, and the machine has no instance",
			reason: "it cannot be the machine's kubelet that reports",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Hour), aged(2*time.Hour), onNode1), w: world(nodeTaken, takenReady),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "node node-1 is that of instance cloud:///i-9, and the machine's own instance does not exist",
			},
		},
		{
			name:   "gardener 2.4: likewise, its time is over",
			reason: "it is given up like one whose node does not answer",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 11*time.Minute)), w: world(nodeTaken),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonHealthTimeout, Stage: lifecycle.StageFailed,
				Message: "the machine was not healthy for 10 minutes; conditions of its node: []",
				Args:    lifecycle.Args{Conditions: "[]", Timeout: 10 * time.Minute},
			},
		},
		{
			name:   "gardener 2.4: cluster does not answer",
			reason: "not to know the node is not to have lost it: nothing is replaced",
			policy: brisk, m: ran, w: world(having(instance(provider.Running)), nodeBlind),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnknown, Stage: lifecycle.StageRunning,
				Message: "connection reset", Err: errTransient, After: 5 * time.Second,
			},
		},
		{
			name:   "gardener 2.4.2: unhealthy and phase Running ⇒ Unknown",
			reason: "Unknown, with the conditions of the node in the wording that clients know",
			policy: brisk, m: ran, w: world(runningOn(node(corev1.ConditionTrue, "DiskPressure", "True"))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "the node is not healthy: DiskPressure is True (Test)", Args: lifecycle.Args{Conditions: "[Ready=True DiskPressure=True]"},
			},
		},
		{
			name:   "gardener 2.4: True and Unknown both unhealthy",
			reason: "every listed condition must be False",
			policy: brisk, m: ran, w: world(runningOn(node(corev1.ConditionTrue, "KernelDeadlock", "Unknown"))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "the node is not healthy: KernelDeadlock is Unknown (Test)", Args: lifecycle.Args{Conditions: "[Ready=True KernelDeadlock=Unknown]"},
			},
		},
		{
			name:   "gardener 2.4: every condition whose type is in the effective comma list: others do not count",
			reason: "only the listed ones matter",
			policy: brisk, m: ran, w: world(runningOn(node(corev1.ConditionTrue, "PIDPressure", "True"))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 2.4.2: not (Pending with critical taint): a Running one stays",
			reason: "it holds new machines only",
			policy: brisk, m: ran, w: world(runningOn(tainted(node(corev1.ConditionTrue), "critical"))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 2.4: started anew long after the creation timeout",
			reason: "an instance that is pending again is judged by its node, never by the time to join",
			policy: brisk, m: ran, w: world(having(instance(provider.Pending)), joined(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning, After: time.Second},
		},
		{
			name:   "gardener 2.4.2: healthy, phase≠Running ⇒ Running, from Unknown",
			reason: "it runs again",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: world(runningOn(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 2.4.4: Unknown, not elapsed ⇒ requeue in 1m: different, when it elapses",
			reason: "asked again exactly when it elapses: 4 of 10 minutes are over",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 4*time.Minute)), w: world(runningOn(node(corev1.ConditionUnknown))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 6 * time.Minute,
				Message: "Ready is Unknown (Test)",
			},
		},
		{
			name:   "gardener 2.5: not markable ⇒ error, 5s",
			reason: "one machine of a deployment at a time: an outage that makes all unhealthy does not replace all",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 11*time.Minute)),
			w: world(runningOn(node(corev1.ConditionUnknown)), func(w *lifecycle.World) { w.MayFail = false }),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonFailureWithheld, Stage: lifecycle.StageLost, After: 5 * time.Second,
				Message: "another machine of the group is being replaced",
			},
		},
		{
			name:   "gardener 2.5: markable ⇒ status Failed",
			reason: "Failed, in the wording that clients know",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 10*time.Minute)), w: world(runningOn(node(corev1.ConditionUnknown))),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonHealthTimeout, Stage: lifecycle.StageFailed,
				Message: "the machine was not healthy for 10 minutes; conditions of its node: [Ready=Unknown]",
				Args:    lifecycle.Args{Conditions: "[Ready=Unknown]", Timeout: 10 * time.Minute},
			},
		},
		{
			name:   "gardener 1.3: disableHealthTimeout true ⇒ health timeout never marks Failed",
			reason: "Unknown for ever, and nobody has to ask again",
			policy: untimed(brisk), m: machine(stage(lifecycle.StageLost, 24*time.Hour)), w: world(runningOn(node(corev1.ConditionUnknown))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, Message: "Ready is Unknown (Test)",
			},
		},
		{
			name:   "gardener 2.4.2: healthy, phase≠Running ⇒ Running, from Failed",
			reason: "it runs again if its owner has not deleted it yet",
			policy: brisk, m: machine(stage(lifecycle.StageFailed, time.Minute)), w: world(runningOn(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 1.3: Failed, still unhealthy: it waits for its owner",
			reason: "it waits for its owner",
			policy: brisk, m: machine(stage(lifecycle.StageFailed, time.Minute)), w: world(runningOn(node(corev1.ConditionUnknown))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonFailed, Stage: lifecycle.StageFailed},
		},
		{
			name:   "gardener 1.3: Failed, healthy with the critical taint: different, it stays",
			reason: "what kept it from joining in time keeps it from coming back, else it would flap",
			policy: brisk, m: machine(stage(lifecycle.StageFailed, 0), aged(21*time.Minute)),
			w:    world(runningOn(tainted(node(corev1.ConditionTrue), "critical"))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonFailed, Stage: lifecycle.StageFailed},
		},
		{
			name:   "gardener 2.2: running, the instance vanished",
			reason: "it is not created again and not failed by that: its node becomes unhealthy, and that is timed",
			policy: brisk, m: ran, w: world(joined(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonContradicted, Stage: lifecycle.StageRunning, After: 3 * time.Minute,
				Message: "the infrastructure does not list instance cloud:///i-1, but node node-1 reports Ready under it: " +
					"check the credentials and their account; until then the controller does not touch the instance",
			},
		},
	})
}

func untimed(p lifecycle.Policy) lifecycle.Policy { p.Health.Timeout = 0; return p }

func TestAilment(t *testing.T) {
	for _, c := range []struct {
		name, reason, want string
		node               *corev1.Node
	}{
		{"none", "no node is no healthy node", "there is no node", nil},
		{"ready", "Ready, and nothing else said", "", node(corev1.ConditionTrue)},
		{"not ready", "Ready must be True", "Ready is False (Test)", node(corev1.ConditionFalse)},
		{"silent", "C13: a kubelet that never reported is not healthy, although no condition objects", "the node has not reported Ready", &corev1.Node{}},
		{"other", "listed and True", "DiskPressure is True (Test)", node(corev1.ConditionTrue, "DiskPressure", "True")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lifecycle.Ailment(c.node, brisk); got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
			if got := lifecycle.Healthy(c.node, brisk); got != (c.want == "") {
				t.Errorf("Healthy is %v although the ailment is %q", got, c.want)
			}
		})
	}
}
