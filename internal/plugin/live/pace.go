package live

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Times between two looks at the same objects: settleTime after a change, and restFactor times as long as the last
// look took, so that changes without end cost a part of a processor; at most longestRest, because answers change with
// time alone.
const (
	settleTime  = 250 * time.Millisecond
	restFactor  = 4
	longestRest = 10 * time.Second
)

// Await waits until it is time to look again: for a change, or for longestRest without one, and then for the rest
// after a look that took so long. It returns false if ctx has ended.
func Await(ctx context.Context, clk clock.Clock, changed <-chan struct{}, took time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-clk.After(longestRest):
		return true
	case <-changed:
	}
	select {
	case <-ctx.Done():
		return false
	case <-clk.After(min(max(settleTime, restFactor*took), longestRest)):
		return true
	}
}
