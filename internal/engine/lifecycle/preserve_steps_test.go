package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestPreserveSteps: for each plan, all steps that are taken, in order.
func TestPreserveSteps(t *testing.T) {
	const store, warn, mark, drain, tell = lifecycle.PreserveStore, lifecycle.PreserveWarn, lifecycle.PreserveMark, lifecycle.PreserveDrain, lifecycle.PreserveTell
	kept := lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}
	on := func(c lifecycle.PreserveCondition, d lifecycle.DrainMode) lifecycle.PreservedNode {
		return lifecycle.PreservedNode{Condition: c, Drain: d}
	}
	says := func(c lifecycle.PreserveCondition) lifecycle.Node {
		return lifecycle.Node{Looked: true, Object: &corev1.Node{}, Preservation: lifecycle.NodePreservation{Condition: c}}
	}
	for _, c := range []struct {
		reason string
		k      lifecycle.PreservePlan
		until  time.Time
		n      lifecycle.Node
		want   []lifecycle.PreserveStep
	}{
		{"nobody asked", lifecycle.PreservePlan{}, time.Time{}, says(lifecycle.PreserveNone), nil},
		{"a wish that means nothing", lifecycle.PreservePlan{Bound: true}, time.Time{}, says(lifecycle.PreserveNone), []lifecycle.PreserveStep{mark}},
		{"it begins: stored before the node is touched", lifecycle.PreservePlan{Bound: true, Machine: kept, Node: on(lifecycle.PreserveActive, lifecycle.DrainNone)}, time.Time{}, says(lifecycle.PreserveNone), []lifecycle.PreserveStep{store, mark, tell}},
		{"it begins, without a node", lifecycle.PreservePlan{Bound: true, Machine: kept}, time.Time{}, lifecycle.Node{Looked: true}, []lifecycle.PreserveStep{store}},
		{"it goes on, without a node", lifecycle.PreservePlan{Bound: true, Machine: kept}, keepEnd, lifecycle.Node{Looked: true}, nil},
		{"it goes on", lifecycle.PreservePlan{Bound: true, Machine: kept, Node: on(lifecycle.PreserveActive, lifecycle.DrainNone)}, keepEnd, says(lifecycle.PreserveActive), []lifecycle.PreserveStep{mark, tell}},
		{"it begins for a failed machine", lifecycle.PreservePlan{Bound: true, Machine: kept, Node: on(lifecycle.PreserveDraining, lifecycle.DrainPatient)}, time.Time{}, says(lifecycle.PreserveNone), []lifecycle.PreserveStep{store, mark, drain, tell}},
		{"one that was kept fails: not drained, before the fence says so", lifecycle.PreservePlan{Bound: true, Machine: kept, Node: on(lifecycle.PreserveDraining, lifecycle.DrainForced)}, keepEnd, says(lifecycle.PreserveActive), []lifecycle.PreserveStep{warn, mark, drain, tell}},
		{"the drain goes on", lifecycle.PreservePlan{Bound: true, Machine: kept, Node: on(lifecycle.PreserveDraining, lifecycle.DrainPatient)}, keepEnd, says(lifecycle.PreserveDraining), []lifecycle.PreserveStep{mark, drain, tell}},
		{"it ends", lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true, Condition: lifecycle.PreserveStopped}}, keepEnd, says(lifecycle.PreserveActive), []lifecycle.PreserveStep{mark, tell}},
		{"it ends, without a node", lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true}}, keepEnd, lifecycle.Node{Looked: true}, nil},
	} {
		var got []lifecycle.PreserveStep
		m := lifecycle.Machine{Preservation: lifecycle.Preservation{Until: c.until}}
		for s := c.k.Next(lifecycle.PreserveNothing, m, c.n); s != lifecycle.PreserveNothing; s = c.k.Next(s, m, c.n) {
			if got = append(got, s); len(got) > len(lifecycle.PreserveSteps) {
				break
			}
			if s == store {
				m.Preservation.Until = c.k.Machine.Until
			}
			if s == warn {
				c.n.Preservation.Condition = c.k.Node.Condition
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestPreserveCutShort: that a machine is kept is said in any case, that it is no more only
// once nothing is left on its node.
func TestPreserveCutShort(t *testing.T) {
	kept := lifecycle.PreservePlan{Bound: true, Machine: lifecycle.PreservedMachine{Preserve: true, Until: keepEnd}}
	if got := kept.CutShort(); got != kept {
		t.Errorf("kept: %+v", got)
	}
	if got := (lifecycle.PreservePlan{Bound: true, Node: lifecycle.PreservedNode{End: true}}).CutShort(); got != (lifecycle.PreservePlan{}) {
		t.Errorf("kept no more: %+v", got)
	}
}
