package orphan

import "time"

// Node is one node of the cluster that machines join.
type Node struct {
	Created time.Time
	// Machine says that it has a machine, of any API.
	Machine bool
	// Ours says that a machine of it is of the API whose finalizer it may have.
	Ours bool
	// Marked says that it is marked as a node without a machine, HasFinalizer that it has the machines'
	// finalizer.
	Marked, HasFinalizer bool
}

// NodeAct is the action for a node.
type NodeAct string

// The acts.
const (
	// LeaveNode leaves it as it is.
	LeaveNode NodeAct = "Leave"
	// Disown marks it as a node without a machine, and removes the finalizer.
	Disown NodeAct = "Disown"
	// Own removes the mark.
	Own NodeAct = "Own"
	// LetGo removes the finalizer, and leaves the node to machines of another API, which do not know the
	// finalizer.
	LetGo NodeAct = "LetGo"
)

// JudgeNode decides about n. A node is neither disowned nor released before a machine has had the time to
// join. After is when to decide again; zero if only a change of the node or of a machine matters.
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
