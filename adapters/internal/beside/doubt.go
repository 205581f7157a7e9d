package beside

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Doubt is for how long after its first call a process doubts that nothing is there: one before it may have asked for what is not
// shown yet. It is safe for concurrent use.
type Doubt struct {
	clock clock.PassiveClock
	lag   time.Duration

	mu    sync.Mutex
	first time.Time
}

// NewDoubt returns the doubt of a process whose answers may run so far behind.
func NewDoubt(clk clock.PassiveClock, lag time.Duration) *Doubt {
	return &Doubt{clock: clk, lag: lag}
}

// Met notes a call, and returns for how long yet an empty answer is doubted.
func (d *Doubt) Met() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	if d.first.IsZero() {
		d.first = now
	}
	return d.first.Add(d.lag).Sub(now)
}

// Sleep waits for d, or returns why the context has ended.
func Sleep(ctx context.Context, clk clock.WithTicker, d time.Duration) error {
	t := clk.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
