package orphan

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// distrust returns why nothing may be concluded from a listing; empty if the listing is trusted. A listing that
// ended early, or that has far fewer instances than the last one or than machines have recorded, shows
// another scope or is wrong: it does not prove that machines are lost.
//
// A much smaller number is trusted when two listings in a row show it: a fleet may shrink.
func distrust(m Memory, l Listing, c *census) (why string, next Memory) {
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
