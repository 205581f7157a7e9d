package judge

// excuse is one thing beyond what changed since a pass looked that speaks for a
// controller. Each is a place where a defect may hide, so there are few, and a test
// counts them: the number may only fall.
type excuse string

// The excuses.
const (
	// sizedByHand: people gave a set of a deployment its size, against what that
	// wants; it takes some passes to put that right.
	sizedByHand excuse = "people gave a set of the deployment its size"
	// nodeGoneSince: the node of a machine that counts is gone, and was ready as the
	// pass saw it.
	nodeGoneSince excuse = "the node was there when the deployment looked"
)

// excuses are all.
var excuses = []excuse{sizedByHand, nodeGoneSince}

// excuse reports whether the excuse holds.
func (*Judge) excuse(_ excuse, holds bool) bool { return holds }
