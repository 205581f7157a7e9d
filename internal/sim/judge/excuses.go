package judge

// excuse is one thing beyond what changed since a pass looked that speaks for a
// controller. Each is a place where a defect may hide, so there are few, and a test
// counts them: the number may only fall.
type excuse string

// The excuses.
const (
	// namesakesNode: the object of a machine was lost, and a machine of its name
	// deletes the node that both have the name of.
	namesakesNode excuse = "the node of a machine that was lost has the name of another's"
	// namesakesToken: bootstrap tokens are found by the name of their machine.
	namesakesToken excuse = "another instance has the name"
	// sizedByHand: people gave a set of a deployment its size, against what that
	// wants; it takes some passes to put that right.
	sizedByHand excuse = "people gave a set of the deployment its size"
	// nodeGoneSince: the node of a machine that counts is gone, and was ready as the
	// pass saw it.
	nodeGoneSince excuse = "the node was there when the deployment looked"
)

// excuses are all.
var excuses = []excuse{namesakesNode, namesakesToken, sizedByHand, nodeGoneSince}

// excuse reports whether the excuse holds.
func (*Judge) excuse(_ excuse, holds bool) bool { return holds }
