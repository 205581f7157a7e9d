package lifecycle

import "github.com/millwright-dev/millwright/internal/engine/drain"

// Preserving is how far this pass is with preserving the machine.
type Preserving struct {
	// Did is the last of its steps that was performed; empty: none was.
	Did Step
	// Err is what went wrong with one of them on the node: none is tried after that.
	Err error
	// Drain is what draining the node came to; nil when this pass did not try.
	Drain *drain.Decision
	// Told says that people heard of a wish that means nothing.
	Told bool
}

// preserveSteps are the steps for preserving a machine, in the order in which a pass comes
// to those that it needs.
var preserveSteps = []Step{StorePreservation, WarnOfDrain, MarkPreserved, DrainPreserved, TellPreserved}

// preserving is d, which ends a pass as far as the machine's life goes, with what becomes of
// preserving the machine; and the next step for that, as long as there is one.
func preserving(q input, d Decision) Decision {
	if f := q.w.Final; f != nil && (f.Step == Replace || f.Step == RemoveFinalizer) {
		return d.waiting()
	}
	m := q.m
	if d.Stage != StageNew {
		m.Stage = d.Stage
	}
	k := Preserve(q.now, m, q.w, q.p)
	k.Wish.Told = q.w.Preserving.Told
	d.After = Earlier(d.After, k.After)
	if q.w.Preserving.Err != nil {
		d.Preserve = k.cutShort()
		return d.waiting()
	}
	d.Preserve = k
	if s := k.next(q.w.Preserving.Did, m, q.w.Node); s != "" {
		d.Step = s
		return d
	}
	return d.waiting()
}

// next is what to do after a step, or first where that is empty, about a machine that has
// the node n; empty: nothing is left to do in this pass.
func (k PreservePlan) next(after Step, m Machine, n Node) Step {
	begun := after == ""
	for _, s := range preserveSteps {
		if begun && k.takes(s, m, n) {
			return s
		}
		begun = begun || s == after
	}
	return ""
}

// takes reports whether the plan needs a step that has its turn.
func (k PreservePlan) takes(s Step, m Machine, n Node) bool {
	if s == StorePreservation {
		return k.Machine.Preserve && m.Preservation.Until.IsZero()
	}
	if !k.Bound || n.Object == nil {
		return false
	}
	switch s {
	case WarnOfDrain:
		return k.Node.Drain != DrainNone && n.Preservation.Condition == PreserveActive
	case DrainPreserved:
		return k.Node.Drain != DrainNone
	case TellPreserved:
		return k.Node.Condition != PreserveNone
	}
	return true
}

// cutShort is what the object may say of the plan where something went wrong on the node.
// A machine that is preserved no more says so last, lest anything be left behind: it says
// nothing yet.
func (k PreservePlan) cutShort() PreservePlan {
	if k.Machine.Preserve {
		return k
	}
	return PreservePlan{}
}
