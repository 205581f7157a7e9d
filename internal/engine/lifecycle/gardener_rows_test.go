package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestRowsOfGardenerDeletionFlow: the guards of section 2.7 of the Gardener notes, in their order. They
// depend on the world here, and not on texts.
func TestRowsOfGardenerDeletionFlow(t *testing.T) {
	busy := runningOn(node(corev1.ConditionTrue))
	asked := func(w *lifecycle.World) { w.Unlisted.For = 6 * time.Second }
	fresh := leaving(func(m *lifecycle.Machine) { m.Recorded.Provisioned, m.Recorded.ProviderID = false, "" })
	check(t, []row{
		{
			name: "creation in flight ⇒ refuse, 3m: different, until listings have caught up (P4)", reason: "asked for 4 s ago, and listings lag 10 s",
			policy: brisk, m: fresh, w: world(asked, removal(lifecycle.RemovalDone)),
			want: waiting(lifecycle.ReasonUnconfirmed, "nothing is listed for the machine; the controller asks again before it acts on that", 6*time.Second),
		},
		{
			name: "MC finalizer missing on Machine ⇒ refuse", reason: "it is not ours to hold",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.HasFinalizer = false }), w: world(busy), want: out(lifecycle.Settled, lifecycle.ReasonReleased),
		},
		{name: "Initiate node drain ⇒ drain", reason: "the node is there", policy: brisk, m: leaving(), w: world(busy), want: out(lifecycle.Drain, lifecycle.ReasonDeleting)},
		{name: "Initiate VM deletion ⇒ DeleteMachine", reason: "drained", policy: brisk, m: leaving(), w: world(busy, drained(allDone)), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting)},
		{
			name: "Initiate node object deletion ⇒ DELETE node", reason: "after the instance", policy: brisk, m: leaving(),
			w: world(joined(node(corev1.ConditionTrue)), drained(allDone), removal(lifecycle.RemovalDone)), want: out(lifecycle.DeleteNode, lifecycle.ReasonInstanceGone),
		},
		{
			name: "Initiate machine object finalizer removal ⇒ Update without MC finalizer", reason: "nothing is left", policy: brisk, m: leaving(),
			w: world(drained(allDone), removal(lifecycle.RemovalDone)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
	})
	for _, s := range stages {
		t.Run("phase ≠ Terminating ⇒ write phase Terminating: "+string(s), func(t *testing.T) {
			if d := lifecycle.Decide(now, leaving(stage(s, time.Hour)), world(busy), brisk); d.Stage != lifecycle.StageDeleting {
				t.Errorf("%s (%s), stage %q", d.Step, d.Reason, d.Stage)
			}
		})
	}
}

// TestRowsOfGardenerNodeResolution: the results of GetMachineStatus in "node label resolution".
func TestRowsOfGardenerNodeResolution(t *testing.T) {
	onNode := joined(node(corev1.ConditionTrue))
	uninitialized := instance(provider.Running)
	uninitialized.Uninitialized = true
	stays := func(err error, after time.Duration) lifecycle.Decision {
		return because(waiting(lifecycle.ReasonDeletionNeedsHelp, err.Error(), after), joinedError{err})
	}
	check(t, []row{
		{
			name: "no target ⇒ skipping node drain", reason: "straight to the instance", policy: targetless(brisk), m: leaving(),
			w: world(having(instance(provider.Running))), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{name: "ok ⇒ drain", reason: "the instance says which node", policy: brisk, m: leaving(), w: world(runningOn(node(corev1.ConditionTrue))), want: out(lifecycle.Drain, lifecycle.ReasonDeleting)},
		{
			name: "NotFound ⇒ leftovers still get DeleteMachine", reason: "of an instance that is not there any more", policy: brisk, m: leaving(),
			w: world(joined(node(corev1.ConditionUnknown))), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name: "Uninitialized ⇒ moving forward to node drain", reason: "it may have joined all the same", policy: brisk, m: leaving(),
			w: world(having(uninitialized), onNode), want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name: "Uninitialized, no node ⇒ DeleteMachine", reason: "nothing to drain, and nothing is initialized", policy: brisk, m: leaving(),
			w: world(having(uninitialized)), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name: "Unknown/DeadlineExceeded/Aborted/Unavailable ⇒ stay, 5s", reason: "at most", policy: brisk, m: leaving(),
			w: world(blind(errTransient), failedAt(lifecycle.Await, errTransient, 0, 40)), want: stays(errTransient, 5*time.Second),
		},
		{
			name: "others ⇒ stay, 3m", reason: "PermissionDenied", policy: brisk, m: leaving(),
			w: world(blind(errDenied), failedAt(lifecycle.Await, errDenied, 0, 1)), want: stays(errDenied, 3*time.Minute),
		},
		{
			name: "stay: different, the drain goes on without the infrastructure", reason: "the node is known", policy: brisk, m: leaving(),
			w: world(blind(errDenied), onNode), want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
	})
}

// TestRowsOfGardenerRemovalErrors: "VM deletion errors" and "node deletion".
func TestRowsOfGardenerRemovalErrors(t *testing.T) {
	refused := func(err error, after time.Duration) lifecycle.Decision {
		return because(waiting(lifecycle.ReasonTerminateFailed, err.Error(), after), err)
	}
	check(t, []row{
		{
			name: "VM deletion: Unknown/DeadlineExceeded/Aborted/Unavailable ⇒ Failed, 5s, stay", reason: "at most", policy: brisk, m: leaving(),
			w: world(removeFailed(errTransient, 40)), want: refused(errTransient, 5*time.Second),
		},
		{
			name: "VM deletion: NotFound ⇒ continuing deletion flow", reason: "the node is next", policy: brisk, m: leaving(),
			w: world(joined(node(corev1.ConditionTrue)), removal(lifecycle.RemovalDone)), want: out(lifecycle.DeleteNode, lifecycle.ReasonInstanceGone),
		},
		{
			name: "VM deletion: other codes ⇒ Failed, 10m, stay: an upper bound, 3m here", reason: "PermissionDenied", policy: brisk, m: leaving(),
			w: world(removeFailed(errDenied, 1)), want: refused(errDenied, 3*time.Minute),
		},
		{
			name: "VM deletion: other codes ⇒ Failed, 10m, stay", reason: "ResourceExhausted", policy: brisk, m: leaving(),
			w: world(removeFailed(errExhausted, 1)), want: refused(errExhausted, 10*time.Minute),
		},
		{
			name: "VM deletion must block until the VM is really gone: different, it is asked again", reason: "and the node stays till then", policy: brisk, m: leaving(),
			w:    world(having(instance(provider.Stopping)), joined(node(corev1.ConditionUnknown)), removal(lifecycle.RemovalUnderway)),
			want: waiting(lifecycle.ReasonTerminating, "the infrastructure is removing the instance", 250*time.Millisecond),
		},
		{
			name: "node deletion: label empty or node NotFound ⇒ proceed", reason: "there is none", policy: brisk, m: leaving(),
			w: world(removal(lifecycle.RemovalDone)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name: "node deletion: other errors ⇒ Failed, 5s", reason: "it may be there", policy: brisk, m: leaving(),
			w:    world(nodeBlind, removal(lifecycle.RemovalDone)),
			want: because(waiting(lifecycle.ReasonNodeUnknown, "connection reset", 5*time.Second), errTransient),
		},
		{
			name: "node deletion: no target ⇒ proceed", reason: "none is expected", policy: targetless(brisk), m: leaving(),
			w: world(nodeBlind, removal(lifecycle.RemovalDone)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
	})
}

// TestRowsOfGardenerForceRules: the table of section 2.8, each row on both sides
// of its border.
func TestRowsOfGardenerForceRules(t *testing.T) {
	with := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Duration) *corev1.Node {
		n := node(corev1.ConditionTrue)
		if kind == corev1.NodeReady {
			n.Status.Conditions = nil
		}
		n.Status.Conditions = append(n.Status.Conditions, lasting(kind, status, since))
		return n
	}
	deleted := func(ago time.Duration) machineEdit {
		return func(m *lifecycle.Machine) { m.Deleted = now.Add(-ago) }
	}
	readOnly := corev1.NodeConditionType("ReadonlyFilesystem")
	well := node(corev1.ConditionTrue)
	for _, r := range []struct {
		row    string
		node   *corev1.Node
		m      lifecycle.Machine
		step   lifecycle.Step
		forced bool
	}{
		{"node label empty ⇒ no drain; straight to VM deletion", nil, leaving(), lifecycle.Terminate, false},
		{"Ready ≠ True for > 5m: False", with(corev1.NodeReady, corev1.ConditionFalse, 5*time.Minute+time.Second), leaving(), lifecycle.Drain, true},
		{"Ready ≠ True for > 5m: Unknown", with(corev1.NodeReady, corev1.ConditionUnknown, 5*time.Minute+time.Second), leaving(), lifecycle.Drain, true},
		{"Ready ≠ True for 5m is not more than 5m", with(corev1.NodeReady, corev1.ConditionUnknown, 5*time.Minute), leaving(), lifecycle.Drain, false},
		{"Ready = True for > 5m", with(corev1.NodeReady, corev1.ConditionTrue, time.Hour), leaving(), lifecycle.Drain, false},
		{"ReadonlyFilesystem ≠ False for > 5m: True", with(readOnly, corev1.ConditionTrue, 5*time.Minute+time.Second), leaving(), lifecycle.Drain, true},
		{"ReadonlyFilesystem ≠ False for > 5m: Unknown", with(readOnly, corev1.ConditionUnknown, 5*time.Minute+time.Second), leaving(), lifecycle.Drain, true},
		{"ReadonlyFilesystem ≠ False for 5m is not more than 5m", with(readOnly, corev1.ConditionTrue, 5*time.Minute), leaving(), lifecycle.Drain, false},
		{"ReadonlyFilesystem = False for > 5m", with(readOnly, corev1.ConditionFalse, time.Hour), leaving(), lifecycle.Drain, false},
		{"label force-deletion true", well, leaving(func(m *lifecycle.Machine) { m.Deletion.Force = true }), lifecycle.Drain, true},
		{"now > deletionTimestamp + drainTimeout", well, leaving(deleted(2*time.Hour + time.Second)), lifecycle.Drain, true},
		{"now = deletionTimestamp + drainTimeout is not later", well, leaving(deleted(2 * time.Hour)), lifecycle.Drain, false},
		{"label force-drain is about updates and preservation", well, leaving(func(m *lifecycle.Machine) { m.ForceDrain = true }), lifecycle.Drain, false},
	} {
		t.Run(r.row, func(t *testing.T) {
			p := brisk
			p.Drain.DefectConditions = []string{"ReadonlyFilesystem"}
			w := world(having(instance(provider.Running)), joined(r.node))
			if d := lifecycle.Decide(now, r.m, w, p); d.Step != r.step || d.Force != r.forced {
				t.Errorf("%s, forced %v; want %s, %v", d.Step, d.Force, r.step, r.forced)
			}
		})
	}
}

// TestRowsOfGardenerDrainResults: the decisions after the results of a drain.
func TestRowsOfGardenerDrainResults(t *testing.T) {
	busy := runningOn(node(corev1.ConditionTrue))
	forced := func(m *lifecycle.Machine) { m.Deletion.Force = true }
	failing := drain.Decision{Message: "evicting pod db/db-0: denied", Next: 5 * time.Second}
	check(t, []row{
		{name: "ok+forced ⇒ Force Drain successful", reason: "the instance is next", policy: brisk, m: leaving(forced), w: world(busy, drained(allDone)), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting)},
		{name: "ok ⇒ Drain successful. Initiate VM deletion", reason: "the instance is next", policy: brisk, m: leaving(), w: world(busy, drained(allDone)), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting)},
		{
			name: "error ⇒ Will retry in next sync, 5s", reason: "nothing is deleted", policy: brisk, m: leaving(), w: world(busy, drained(failing)),
			want: waiting(lifecycle.ReasonDraining, "evicting pod db/db-0: denied", 5*time.Second),
		},
		{
			name: "error+forceMachine ⇒ shall continue deletion of VM: different, it is tried again for a minute", reason: "most refusals are over by then, and a forced drain that could not ask anybody has not saved anything",
			policy: brisk, m: leaving(forced), w: world(busy, drained(failing), refusing(59*time.Second)),
			want: waiting(lifecycle.ReasonDraining, "evicting pod db/db-0: denied", 5*time.Second),
		},
		{
			name: "error+forceMachine ⇒ shall continue deletion of VM", reason: "a person's word is enough", policy: brisk, m: leaving(forced), w: world(busy, drained(failing), refusing(time.Minute)),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name: "error for long, and not forced", reason: "no timeout takes silence for consent", policy: brisk, m: leaving(), w: world(busy, drained(failing), refusing(time.Hour)),
			want: waiting(lifecycle.ReasonDraining, "evicting pod db/db-0: denied", 5*time.Second),
		},
		{
			name: "waits for its turn, forced and long after a refusal", reason: "a node of the control plane is not refused, it waits", policy: brisk, m: leaving(forced),
			w:    world(busy, drained(failing), func(w *lifecycle.World) { w.Drain.RefusedFor = time.Hour }),
			want: waiting(lifecycle.ReasonDraining, "evicting pod db/db-0: denied", 5*time.Second),
		},
		{
			name: "the node cannot be looked up, forced", reason: "likewise, for a minute", policy: brisk, m: leaving(forced), w: world(busy, unlooked(59*time.Second)),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnknown, Stage: lifecycle.StageDeleting, Err: errAway, Message: "away", After: brisk.Delays.Transient},
		},
		{
			name: "the node cannot be looked up, forced, for a minute", reason: "the cluster may be gone for good", policy: brisk, m: leaving(forced), w: world(busy, unlooked(time.Minute)),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name: "the node cannot be deleted, forced, for a minute", reason: "nor does the object stay for that", policy: brisk, m: leaving(forced),
			w:    world(busy, unlooked(time.Minute), func(w *lifecycle.World) { w.Removal.State = lifecycle.RemovalDone }),
			want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
	})
}

var errAway = errors.New("away")

// refusing is a cluster that has refused to drain for so long.
func refusing(d time.Duration) func(*lifecycle.World) {
	return func(w *lifecycle.World) { w.Drain.Err, w.Drain.RefusedFor = errAway, d }
}

// unlooked is a cluster that has not answered about the node for so long.
func unlooked(d time.Duration) func(*lifecycle.World) {
	return func(w *lifecycle.World) {
		w.Node.Object, w.Node.Looked, w.Node.Err, w.Drain.RefusedFor = nil, false, errAway, d
	}
}

// TestRowsOfGardenerPreservationByNode: the table of section 2.10 where the
// effective value is the node's; [TestKeepRows] has them for the machine's own.
func TestRowsOfGardenerPreservationByNode(t *testing.T) {
	sick := node(corev1.ConditionFalse)
	asks := func(w lifecycle.Wish) lifecycle.World {
		return keptOn(sick, lifecycle.NodePreservation{Wish: w, Condition: lifecycle.PreserveActive})
	}
	heard := func(s lifecycle.Stage, w lifecycle.Wish, until time.Time) lifecycle.Machine {
		return keeping(s, lifecycle.Preservation{LastApplied: w, Until: until})
	}
	kept := func(w lifecycle.Wish) lifecycle.PreservePlan {
		return lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd, LastApplied: w}, Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive}, After: 96 * time.Hour}
	}
	failing := func(w lifecycle.Wish) lifecycle.PreservePlan {
		k := kept(w)
		k.Node.Fence, k.Node.Drain, k.Node.Condition, k.Machine.ByOwner = true, lifecycle.DrainPatient, lifecycle.PreserveDraining, w == lifecycle.WishOwner
		return k
	}
	stop := func(w lifecycle.Wish, why string) lifecycle.PreservePlan {
		return lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Condition: lifecycle.PreserveStopped, Message: why}, Machine: lifecycle.PreservedMachine{LastApplied: w}}
	}
	remove := func(why string) lifecycle.PreservePlan {
		k := stop(lifecycle.WishNone, why)
		k.Node.DropWish = true
		return k
	}
	now, when, auto, not := lifecycle.WishNow, lifecycle.WishFailed, lifecycle.WishOwner, lifecycle.WishNot
	checkKeep(t, []keepRow{
		{`"" | any | any | stop preservation`, "L is not empty, so N counts", heard(failed, now, keepEnd), asks(lifecycle.WishNone), stop(lifecycle.WishNone, nobodyAsks)},
		{"false | any | any | stop preservation", "Failed", heard(failed, now, keepEnd), asks(not), stop(not, nobodyAsks)},
		{"false | yes | any | stop preservation", "the annotation stays", heard(running, now, keepPast), asks(not), stop(not, isOver)},
		{"when-failed | yes | any | stop + remove annotations", "Failed", heard(failed, when, keepPast), asks(when), remove(isOver)},
		{"when-failed | yes | any | stop + remove annotations: Running", "any", heard(running, when, keepPast), asks(when), remove(isOver)},
		{"when-failed | no | no | stop", "recovered", heard(running, when, keepEnd), asks(when), stop(when, isWell)},
		{"when-failed | no | yes | preserve", "drained first", heard(failed, when, time.Time{}), asks(when), failing(when)},
		{"now | yes | any | stop + remove annotations", "Running", heard(running, now, keepPast), asks(now), remove(isOver)},
		{"now | no | any | preserve", "Running", heard(running, now, time.Time{}), asks(now), kept(now)},
		{"now | no | any | preserve: Failed", "drained first", heard(failed, now, keepEnd), asks(now), failing(now)},
		{"auto-preserved | yes | any | stop + remove annotations", "Failed", heard(failed, auto, keepPast), asks(auto), remove(isOver)},
		{"auto-preserved | any | ≠Failed | stop + remove annotations", "recovered", heard(running, auto, keepEnd), asks(auto), remove(isWell)},
		{"auto-preserved | no | yes | preserve", "drained first", heard(failed, auto, time.Time{}), asks(auto), failing(auto)},
	})
}

// The moment of expiry belongs to the time after it.
func TestRowsOfGardenerPreservationExpiry(t *testing.T) {
	for row, left := range map[string]time.Duration{"E expired: not yet": time.Second, "E expired: yes": 0} {
		t.Run(row, func(t *testing.T) {
			m := keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow, Until: now.Add(left)})
			n := node(corev1.ConditionTrue)
			n.CreationTimestamp = metav1.NewTime(born)
			if k := lifecycle.Preserve(now, m, keptOn(n, lifecycle.NodePreservation{Condition: lifecycle.PreserveActive}), keeper()); k.Machine.Preserve != (left > 0) || k.Node.End != (left == 0) {
				t.Errorf("%v before it ends: keep %v, end %v", left, k.Machine.Preserve, k.Node.End)
			}
		})
	}
}
