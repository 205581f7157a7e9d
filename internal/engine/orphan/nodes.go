package orphan

import "time"

// Node is one node of the cluster that machines join.
type Node struct {
	Created time.Time
	// Machine says that there is a machine for it, of whatever API.
	Machine bool
	// Ours says that one of them is of the API whose finalizer may be on it.
	Ours bool
	// Marked says that it is marked as a node without a machine, HasFinalizer that the
	// machines' finalizer is on it.
	Marked, HasFinalizer bool
}

// NodeAct is what to do about a node.
type NodeAct string

// The acts.
const (
	// LeaveNode as it is.
	LeaveNode NodeAct = "Leave"
	// Disown it: mark it as a node without a machine, and let go of it.
	Disown NodeAct = "Disown"
	// Own it: take the mark away.
	Own NodeAct = "Own"
	// LetGo of it, and leave it to machines of another API, which do not know the
	// finalizer.
	LetGo NodeAct = "LetGo"
)

// JudgeNode decides about n. A node is not disowned, nor let go of, before a machine
// has had the time to join; after is when to look again, zero when a change of the node
// or of a machine will tell.
func JudgeNode(now time.Time, n Node, joinTimeout time.Duration) (act NodeAct, after time.Duration) {
	age := now.Sub(n.Created)
	switch {
	case n.Machine && n.Marked:
		return Own, 0
	case n.Machine && (n.Ours || !n.HasFinalizer), n.Marked && !n.HasFinalizer:
		return LeaveNode, 0
	case age < joinTimeout:
		return LeaveNode, joinTimeout - age
	case n.Machine:
		return LetGo, 0
	}
	return Disown, 0
}
