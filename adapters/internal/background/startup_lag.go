package background

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// StartupLag is the time after a process's first call during which an empty answer proves nothing: an earlier
// process may have requested an instance that is not shown yet. It is safe for concurrent use.
type StartupLag struct {
	clock clock.PassiveClock
	lag   time.Duration

	mu    sync.Mutex
	first time.Time
}

// NewStartupLag returns the startup lag of a process whose reads may lag this much.
func NewStartupLag(clk clock.PassiveClock, lag time.Duration) *StartupLag {
	return &StartupLag{clock: clk, lag: lag}
}

// Remaining records a call, and returns for how long an empty answer still proves nothing.
func (d *StartupLag) Remaining() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	if d.first.IsZero() {
		d.first = now
	}
	return d.first.Add(d.lag).Sub(now)
}

// Sleep waits for d, or returns the cause of the context's end.
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
