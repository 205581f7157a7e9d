package leading

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Handover is how long a request may take to arrive after another process has taken over. It is enough for
// processes that cancel their requests before others may lead, and for a process that was killed and started
// again.
const Handover = 2 * time.Second

// Tenure is the time for which a process leads. Requests of earlier processes may arrive for a [Handover] after
// its begin. It is safe for concurrent use; a nil tenure has no earlier process.
type Tenure struct {
	clock    clock.PassiveClock
	handover time.Duration

	mu    sync.Mutex
	began time.Time
}

// NewTenure returns a tenure that begins with its Start, or with its first use.
func NewTenure(clk clock.PassiveClock, handover time.Duration) *Tenure {
	return &Tenure{clock: clk, handover: handover}
}

// Start begins the tenure. The manager of a process calls it once the process leads.
func (t *Tenure) Start(context.Context) error {
	t.Settled(t.clock.Now())
	return nil
}

// Settled returns when the last request of an earlier process has arrived. The tenure began now at the
// latest: the clock may have been set back since.
func (t *Tenure) Settled(now time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() || now.Before(t.began) {
		t.began = now
	}
	return t.began.Add(t.handover)
}
