package lifecycle

// PreserveStep is one thing to do for keeping a machine.
type PreserveStep string

// The steps, in the order in which a pass comes to those that it needs. The set is
// closed: the machine controller has a handler for each.
const (
	// PreserveNothing: nothing is left to do in this pass.
	PreserveNothing PreserveStep = ""
	// PreserveStore: the object says that the machine is kept, before anything is done to
	// its node, lest that be taken for somebody else's.
	PreserveStore PreserveStep = "Store"
	// PreserveWarn: the node says that it is not drained, before anything makes it look so.
	PreserveWarn PreserveStep = "Warn"
	// PreserveMark: the node's annotations and taints are as the plan wants them.
	PreserveMark PreserveStep = "Mark"
	// PreserveDrain: the node's pods are moved away, as [PreservedNode].Drain says. What
	// that comes to is [Draining].Preserve, by which it is planned anew.
	PreserveDrain PreserveStep = "Drain"
	// PreserveTell: the node says how far it is.
	PreserveTell PreserveStep = "Tell"
)

// PreserveSteps are all of them, in order.
var PreserveSteps = []PreserveStep{PreserveStore, PreserveWarn, PreserveMark, PreserveDrain, PreserveTell}

// Next is what to do after a step, or first where that is [PreserveNothing], about a
// machine that has the node n.
func (k PreservePlan) Next(after PreserveStep, m Machine, n Node) PreserveStep {
	begun := after == PreserveNothing
	for _, s := range PreserveSteps {
		if begun && k.takes(s, m, n) {
			return s
		}
		begun = begun || s == after
	}
	return PreserveNothing
}

// takes reports whether the plan needs a step that has its turn.
func (k PreservePlan) takes(s PreserveStep, m Machine, n Node) bool {
	if s == PreserveStore {
		return k.Machine.Preserve && m.Preservation.Until.IsZero()
	}
	if !k.Bound || n.Object == nil {
		return false
	}
	switch s {
	case PreserveWarn:
		return k.Node.Drain != DrainNone && n.Preservation.Condition == PreserveActive
	case PreserveDrain:
		return k.Node.Drain != DrainNone
	case PreserveTell:
		return k.Node.Condition != PreserveNone
	}
	return true
}

// CutShort is what the object may say of the plan where something went wrong on the node.
// A machine that is kept no more says so last, lest anything be left behind: it says
// nothing yet.
func (k PreservePlan) CutShort() PreservePlan {
	if k.Machine.Preserve {
		return k
	}
	return PreservePlan{}
}
