package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// keeping is a machine that ran for an hour, with the preservation k.
func keeping(s lifecycle.Stage, k lifecycle.Preservation) lifecycle.Machine {
	m := machine(stage(s, time.Hour))
	m.Preservation = k
	return m
}

// keptOn is a world with a node with the preservation k.
func keptOn(n *corev1.Node, k lifecycle.NodePreservation, edits ...worldEdit) lifecycle.World {
	w := world(runningOn(n), func(w *lifecycle.World) { w.Node.Preservation = k })
	for _, e := range edits {
		e(&w)
	}
	return w
}

func keepDrained(d drain.Decision) worldEdit {
	return func(w *lifecycle.World) { w.Preserving.Drain = &d }
}

// keeper is the policy of an API in which machines are kept, for four days.
func keeper() lifecycle.Policy {
	p := brisk
	p.Preserve.Supported, p.Preserve.Timeout = true, 96*time.Hour
	return p
}

var (
	keepEnd  = now.Add(96 * time.Hour)
	keepPast = now.Add(-time.Hour)
)

type keepRow struct {
	name, reason string
	m            lifecycle.Machine
	w            lifecycle.World
	want         lifecycle.PreservePlan
}

func checkKeep(t *testing.T, rows []keepRow) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if d := cmp.Diff(r.want, lifecycle.Preserve(now, r.m, r.w, keeper())); d != "" {
				t.Errorf("%s\n(-want +got)\n%s", r.reason, d)
			}
		})
	}
}

const (
	running = lifecycle.StageRunning
	failed  = lifecycle.StageFailed
)

// What keeps ending.
const (
	nobodyAsks = "it is no longer requested"
	isOver     = "its time is over"
	isWell     = "the machine has not failed, or has recovered"
)

// TestKeepRows: each row of the table in gardener 2.10, for a wish of the
// machine's own.
func TestKeepRows(t *testing.T) {
	sick := node(corev1.ConditionFalse)
	own := func(w lifecycle.Wish, until time.Time) lifecycle.Preservation {
		return lifecycle.Preservation{Own: w, Until: until}
	}
	inForce := lifecycle.NodePreservation{Condition: lifecycle.PreserveActive}
	fenced := lifecycle.NodePreservation{Condition: lifecycle.PreserveActive, Fenced: true, FencedSince: now.Add(-time.Minute)}
	kept := lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}, Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive}, After: 96 * time.Hour}
	begins := kept
	begins.Node.Fence, begins.Node.Drain, begins.Node.Condition = true, lifecycle.DrainPatient, lifecycle.PreserveDraining
	chosen := begins
	chosen.Machine.ByOwner = true
	ends := func(why string) lifecycle.PreservePlan {
		return lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Condition: lifecycle.PreserveStopped, Message: why}}
	}
	forgotten := func(why string) lifecycle.PreservePlan {
		k := ends(why)
		k.Machine.DropWish = true
		return k
	}
	checkKeep(t, []keepRow{
		{"none, any, any", "stop", keeping(failed, own(lifecycle.WishNone, keepEnd)), keptOn(sick, fenced), ends(nobodyAsks)},
		{"false, any, any", "stop", keeping(running, own(lifecycle.WishNot, keepEnd)), keptOn(sick, inForce), ends(nobodyAsks)},
		{"false, never kept", "there is nothing to stop", keeping(running, own(lifecycle.WishNot, time.Time{})), keptOn(sick, lifecycle.NodePreservation{}), lifecycle.PreservePlan{Bound: true}},
		{"when-failed, expired, any", "stop, and forget it", keeping(failed, own(lifecycle.WishFailed, keepPast)), keptOn(sick, fenced), forgotten(isOver)},
		{"when-failed, not expired, not Failed", "stop; it counts again with the next failure", keeping(running, own(lifecycle.WishFailed, keepEnd)), keptOn(sick, fenced), ends(isWell)},
		{"when-failed, no time, not Failed", "a rollout's marks on the node are not touched", keeping(running, own(lifecycle.WishFailed, time.Time{})), keptOn(sick, lifecycle.NodePreservation{}), lifecycle.PreservePlan{Bound: true}},
		{"when-failed, not expired, Failed", "preserve", keeping(failed, own(lifecycle.WishFailed, time.Time{})), keptOn(sick, lifecycle.NodePreservation{}), begins},
		{"now, expired, any", "stop, and forget it", keeping(running, own(lifecycle.WishNow, keepPast)), keptOn(sick, inForce), forgotten(isOver)},
		{"now, not expired, Running", "preserve: nothing is wrong with its node", keeping(running, own(lifecycle.WishNow, time.Time{})), keptOn(sick, lifecycle.NodePreservation{}), kept},
		{"now, not expired, Failed", "preserve", keeping(failed, own(lifecycle.WishNow, keepEnd)), keptOn(sick, inForce), begins},
		{"auto-preserved, expired, Failed", "stop, and forget it", keeping(failed, own(lifecycle.WishOwner, keepPast)), keptOn(sick, fenced), forgotten(isOver)},
		{"auto-preserved, not expired, not Failed", "stop, and forget it", keeping(running, own(lifecycle.WishOwner, keepEnd)), keptOn(sick, fenced), forgotten(isWell)},
		{"auto-preserved, not expired, Failed", "preserve", keeping(failed, own(lifecycle.WishOwner, time.Time{})), keptOn(sick, lifecycle.NodePreservation{}), chosen},
	})
}

// TestKeepWish: the wish that counts, and its record.
func TestKeepWish(t *testing.T) {
	n := node(corev1.ConditionTrue)
	says := func(w lifecycle.Wish) lifecycle.World { return keptOn(n, lifecycle.NodePreservation{Wish: w}) }
	inForce := func(w lifecycle.Wish) lifecycle.World {
		return keptOn(n, lifecycle.NodePreservation{Wish: w, Condition: lifecycle.PreserveActive})
	}
	kept := lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}, Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive}, After: 96 * time.Hour}
	heard := func(k lifecycle.PreservePlan, w lifecycle.Wish, dropOwn bool) lifecycle.PreservePlan {
		k.Machine.LastApplied, k.Machine.DropWish = w, dropOwn
		return k
	}
	nothing := lifecycle.PreservePlan{Bound: true}
	ends := lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Condition: lifecycle.PreserveStopped, Message: nobodyAsks}}
	expired := lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Condition: lifecycle.PreserveStopped, Message: isOver, DropWish: true}, Machine: lifecycle.PreservedMachine{DropWish: true}}
	unheard := func(w *lifecycle.World) { w.Node.Looked, w.Node.Err = false, errTransient }
	checkKeep(t, []keepRow{
		{"nobody asks", "not bound at all", keeping(running, lifecycle.Preservation{}), says(lifecycle.WishNone), lifecycle.PreservePlan{}},
		{"the node asks", "N; L becomes N", keeping(running, lifecycle.Preservation{}), says(lifecycle.WishNow), heard(kept, lifecycle.WishNow, false)},
		{"both ask", "N; the machine's own annotation is deleted", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNot}), says(lifecycle.WishNow), heard(kept, lifecycle.WishNow, true)},
		{"the node asks no more", "N although it is empty: L is not", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow, LastApplied: lifecycle.WishNow, Until: keepEnd}), inForce(lifecycle.WishNone), heard(ends, lifecycle.WishNone, true)},
		{"the node says false", "N; and that is heard", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow, Until: keepEnd}), inForce(lifecycle.WishNot), heard(ends, lifecycle.WishNot, true)},
		{"the node's time is over", "both annotations and what was heard go", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow, LastApplied: lifecycle.WishNow, Until: keepPast}), inForce(lifecycle.WishNow), expired},
		{
			"no node", "M; what the node asked is forgotten with it", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow, LastApplied: lifecycle.WishNot}), world(runningOn(nil)),
			lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}, After: 96 * time.Hour},
		},
		{"no node, which asked", "M, which is empty: stop", keeping(failed, lifecycle.Preservation{LastApplied: lifecycle.WishNow, Until: keepEnd}), world(runningOn(nil)), lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Message: nobodyAsks}}},
		{"node not looked up", "nothing is known of N", keeping(failed, lifecycle.Preservation{LastApplied: lifecycle.WishNow, Until: keepEnd}), world(runningOn(nil), unheard), lifecycle.PreservePlan{}},
		{"machine's word unknown", "ignored, and said", keeping(running, lifecycle.Preservation{Own: lifecycle.WishUnknown}), says(lifecycle.WishNone), lifecycle.PreservePlan{Bound: true, Wish: lifecycle.PreserveFault{Ignored: true}}},
		{"node's word unknown", "aborts: all stays as it is", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNow, LastApplied: lifecycle.WishNow, Until: keepPast}), inForce(lifecycle.WishUnknown), lifecycle.PreservePlan{Bound: true, Wish: lifecycle.PreserveFault{Refused: true}, Machine: lifecycle.PreservedMachine{Until: keepPast, LastApplied: lifecycle.WishNow}}},
		{"left behind", "a node that says so of a machine which does not: stop", keeping(running, lifecycle.Preservation{}), inForce(lifecycle.WishNone), ends},
		{"stopped long ago", "not bound: what the node tells stays", keeping(running, lifecycle.Preservation{Own: lifecycle.WishNot}), keptOn(n, lifecycle.NodePreservation{Condition: lifecycle.PreserveStopped}), nothing},
		{"on its way out", "deletion wins", leaving(func(m *lifecycle.Machine) { m.Preservation.Own = lifecycle.WishNow }), says(lifecycle.WishNow), lifecycle.PreservePlan{}},
	})
}

// TestKeepDrain: what happens to the node of a machine that failed, and when the drain is forced (C30).
func TestKeepDrain(t *testing.T) {
	sick, silent := node(corev1.ConditionFalse), unready(6*time.Minute)
	m := keeping(failed, lifecycle.Preservation{Own: lifecycle.WishNow, Until: keepEnd})
	m.StageSince = now.Add(-50 * time.Hour)
	pushed := m
	pushed.ForceDrain = true
	fencedFor := func(d time.Duration, s lifecycle.PreserveCondition) lifecycle.NodePreservation {
		return lifecycle.NodePreservation{Fenced: true, FencedSince: now.Add(-d), Condition: s}
	}
	due := lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}, Node: lifecycle.PreservedNode{Fence: true, Drain: lifecycle.DrainPatient, Condition: lifecycle.PreserveDraining}, After: 96 * time.Hour}
	forced, waits, done := due, due, due
	forced.Node.Drain = lifecycle.DrainForced
	waits.Node.Drain, waits.Node.Message, waits.After = lifecycle.DrainNone, "1 pod has to leave", time.Minute
	done.Node.Drain, done.Node.Condition = lifecycle.DrainNone, lifecycle.PreserveActive
	soon := waits
	soon.After = 31 * time.Second
	recovered := lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}, Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive}, After: 96 * time.Hour}
	blocked := keepDrained(drain.Decision{Message: "1 pod has to leave", Next: time.Minute})
	unstamped := fencedFor(0, lifecycle.PreserveDraining)
	unstamped.FencedSince = time.Time{}
	draining := fencedFor(time.Minute, lifecycle.PreserveDraining)
	checkKeep(t, []keepRow{
		{"failed just now", "taint and drain; Failed since days is not the drain's time", m, keptOn(sick, lifecycle.NodePreservation{}), due},
		{"kept while it ran", "the sign of before is no drained node", m, keptOn(sick, lifecycle.NodePreservation{Condition: lifecycle.PreserveActive}), due},
		{"drain under way", "on and on", m, keptOn(sick, draining), due},
		{"pods are left", "asked again when the drain says so", m, keptOn(sick, draining, blocked), waits},
		{"pods are left, patience ends soon", "asked again then", m, keptOn(sick, fencedFor(brisk.Drain.Timeout-30*time.Second, lifecycle.PreserveDraining), blocked), soon},
		{"drained", "said", m, keptOn(sick, draining, keepDrained(drain.Decision{Done: true})), done},
		{"drained before", "once is enough", m, keptOn(sick, fencedFor(time.Hour, lifecycle.PreserveActive)), done},
		{"force: label", "force-drain", pushed, keptOn(sick, draining), forced},
		{"force: timeout", "counted from the taint", m, keptOn(sick, fencedFor(brisk.Drain.Timeout+time.Second, lifecycle.PreserveDraining)), forced},
		{"force: timeout, taint without a time", "from when it failed", m, keptOn(sick, unstamped), forced},
		{"force: node silent", "5m of it", m, keptOn(silent, draining), forced},
		{"running again", "the taint goes, the rest stays", keeping(running, m.Preservation), keptOn(sick, fencedFor(time.Hour, lifecycle.PreserveActive)), recovered},
	})
}

// TestKeepOver: the owner of a failed machine whose time is over must see that, so that it does not choose
// the machine to be kept once more.
func TestKeepOver(t *testing.T) {
	own := lifecycle.Preservation{Own: lifecycle.WishOwner, Until: keepPast}
	owned := func(m lifecycle.Machine) lifecycle.Machine { m.Owned = true; return m }
	sick := keptOn(node(corev1.ConditionFalse), lifecycle.NodePreservation{})
	end := lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Condition: lifecycle.PreserveStopped, Message: isOver}, Machine: lifecycle.PreservedMachine{DropWish: true}}
	seen := end
	seen.Machine.Until = keepPast
	after := seen
	after.Machine.DropWish = false
	checkKeep(t, []keepRow{
		{"owned", "all goes but the time", owned(keeping(failed, own)), sick, seen},
		{"owned, forgotten", "the time stays", owned(keeping(failed, lifecycle.Preservation{Until: keepPast})), sick, after},
		{"owned, recovered", "the time goes", owned(keeping(running, own)), sick, end},
		{"nobody's", "nobody would choose it", keeping(failed, own), sick, end},
	})
}

// drawKeep makes every second question one about keeping.
func drawKeep(t *rapid.T, f *facts) {
	wishes := rapid.SampledFrom([]lifecycle.Wish{
		lifecycle.WishNone, lifecycle.WishNot, lifecycle.WishNow, lifecycle.WishFailed, lifecycle.WishOwner, lifecycle.WishUnknown,
	})
	signs := rapid.SampledFrom([]lifecycle.PreserveCondition{lifecycle.PreserveNone, lifecycle.PreserveActive, lifecycle.PreserveDraining, lifecycle.PreserveStopped})
	f.p.Preserve.Supported, f.p.Preserve.Timeout = drawBool(t, "keeps"), drawSpan(t, "keepTimeout")
	f.m.Preservation = lifecycle.Preservation{Own: wishes.Draw(t, "own"), LastApplied: wishes.Draw(t, "heard")}
	if drawBool(t, "has a time") {
		f.m.Preservation.Until = now.Add(drawSpan(t, "left") - drawSpan(t, "over"))
	}
	if f.w.Node.Object != nil {
		f.w.Node.Preservation = lifecycle.NodePreservation{Wish: wishes.Draw(t, "wish"), Fenced: drawBool(t, "fenced"), FencedSince: now.Add(-drawSpan(t, "fencedFor")), Condition: signs.Draw(t, "sign")}
	}
}

// TestKeepConverges: machine and node in the planned state get a plan without changes, and nothing is drained
// twice.
func TestKeepConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		drawKeep(t, &f)
		var last lifecycle.PreservePlan
		for range 3 {
			last = lifecycle.Preserve(now, f.m, f.w, f.p)
			if last.After < 0 || last.Machine.Preserve && last.Node.End || last.Node.Drain != lifecycle.DrainNone && !last.Node.Fence {
				t.Fatalf("contradictory: %+v", last)
			}
			f.carryOut(last)
		}
		again := lifecycle.Preserve(now, f.m, f.w, f.p)
		if again.Bound && (again.Node.Drain != lifecycle.DrainNone || again.Machine.DropWish || again.Node.DropWish || again.Node.End && again.Machine.Until.IsZero() || again.Machine.LastApplied != f.m.Preservation.LastApplied || again.Machine.Preserve && !again.Machine.Until.Equal(f.m.Preservation.Until)) {
			t.Fatalf("wants more after three passes: %+v", again)
		}
	})
}

// carryOut carries out the plan; every drain succeeds.
func (f *facts) carryOut(k lifecycle.PreservePlan) {
	if !k.Bound || k.Wish.Refused {
		return
	}
	f.m.Preservation.Until, f.m.Preservation.LastApplied = k.Machine.Until, k.Machine.LastApplied
	if k.Machine.DropWish {
		f.m.Preservation.Own = lifecycle.WishNone
	}
	if f.w.Node.Object == nil {
		return
	}
	if k.Node.DropWish {
		f.w.Node.Preservation.Wish = lifecycle.WishNone
	}
	if k.Machine.Preserve || k.Node.End {
		f.w.Node.Preservation.Fenced = k.Node.Fence
	}
	if k.Node.Condition != lifecycle.PreserveNone {
		f.w.Node.Preservation.Condition = k.Node.Condition
	}
	if k.Node.Drain != lifecycle.DrainNone {
		f.w.Node.Preservation.Condition = lifecycle.PreserveActive
	}
}
