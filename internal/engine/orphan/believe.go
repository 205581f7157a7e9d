package orphan

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// doubt says why nothing may be concluded from a listing; empty when it is
// believed. Losing sight is not losing machines: a listing that ended early, or
// that shows much less than the last one did or than machines have recorded,
// is of something else, or a lie.
//
// That there is much less is believed when two listings say so: a fleet may
// shrink.
func doubt(m Memory, l Listing, c *census) (why string, next Memory) {
	if l.Err != nil {
		return fmt.Sprintf("the listing is incomplete (%s): %v", provider.KindOf(l.Err), l.Err), m
	}
	n := len(l.Instances)
	if shrunk(n, m.Count) && (!m.Doubted || shrunk(n, m.Rest)) {
		m.Doubted, m.Rest = true, n
		return fmt.Sprintf("the listing has %d instances, the one before had %d", n, m.Count), m
	}
	recorded, seen := c.seen(l.Instances)
	if shrunk(seen, recorded) {
		return fmt.Sprintf("the listing shows %d of the %d instances that machines have recorded", seen, recorded), m
	}
	m.Doubted, m.Rest, m.Count = false, 0, n
	return "", m
}
