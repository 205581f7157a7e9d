package cloud

import (
	"context"
	"time"
)

// Announced has the announcements about an instance that a user has requested. A zero time means that the
// event is not announced.
type Announced struct {
	// Termination is when the instance is terminated.
	Termination time.Time `json:"termination,omitzero"`
	// Rebalance is the time of the recommendation to replace the instance, Maintenance the time of the
	// announced restart. Nothing follows from either.
	Rebalance   time.Time `json:"rebalance,omitzero"`
	Maintenance time.Time `json:"maintenance,omitzero"`
}

// InterruptedAt is when the infrastructure terminates the instance; zero: never.
func (r Record) InterruptedAt() time.Time {
	at := r.Announced.Termination
	if r.Traits.InterruptAfter == 0 {
		return at
	}
	return earlier(at, r.running().Add(r.Traits.InterruptAfter))
}

// AnnouncedAt is InterruptedAt if it is announced by now: events that users request are announced at once.
func (r Record) AnnouncedAt(now time.Time) time.Time {
	at := r.InterruptedAt()
	if at.IsZero() || !now.Before(at.Add(-r.Traits.InterruptNotice)) {
		return at
	}
	return r.Announced.Termination
}

// Named returns the instance with the node name.
func (c *Cloud) Named(ctx context.Context, cluster, node string) (s Instance, ok bool, err error) {
	records, err := c.recorded(cluster, node)
	if err != nil {
		return Instance{}, false, err
	}
	for _, r := range records {
		if s, ok := c.observe(ctx, r); ok {
			return s, true, nil
		}
	}
	return Instance{}, false, nil
}
