package judge

// excuse is an excuse for a controller besides the changes since its pass looked. Each excuse may hide a defect, so
// there are few of them, and a test counts them: the number may only fall.
type excuse string

// The excuses.
const (
	// sizedByHand: users gave a set of a deployment another size than the deployment wants. The deployment needs some
	// passes to correct that size.
	sizedByHand excuse = "people gave a set of the deployment its size"
	// nodeGoneSince: the node of a counted machine does not exist, but was ready in the view of the pass.
	nodeGoneSince excuse = "the node was there when the deployment looked"
)

// excuses are all excuses.
var excuses = []excuse{sizedByHand, nodeGoneSince}

// excuse reports whether the excuse holds.
func (*Judge) excuse(_ excuse, holds bool) bool { return holds }
