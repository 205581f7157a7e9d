package lifecycle

import "github.com/millwright-dev/millwright/internal/engine/drain"

// Preserving is the progress of this pass with preserving the machine.
type Preserving struct {
	// Did is the last of its steps that was performed; empty: none was.
	Did Step
	// Err is the failure of one of them on the node: no further step is tried.
	Err error
	// Drain is the result of draining the node; nil if this pass did not try.
	Drain *drain.Decision
	// Told says that an unknown wish was reported.
	Told bool
}

// preserveSteps are the steps of preserving a machine, in order; a pass takes those that it needs.
var preserveSteps = []Step{StorePreservation, WarnOfDrain, MarkPreserved, DrainPreserved, TellPreserved}

// preserving returns d, which ends the pass for the machine's life, with the preservation plan and its next
// step, as long as there is one.
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

// next returns the step after the given one, or the first if that is empty, for a machine with the node n;
// empty: this pass has nothing left to do.
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

// takes reports whether the plan needs the step.
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

// cutShort returns the part of the plan that the object may record after a failure on the node. A machine
// that is no longer preserved records that last, so that nothing is left behind: then it records nothing yet.
func (k PreservePlan) cutShort() PreservePlan {
	if k.Machine.Preserve {
		return k
	}
	return PreservePlan{}
}
