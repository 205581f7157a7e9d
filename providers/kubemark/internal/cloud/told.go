package cloud

import (
	"context"
	"time"
)

// Told is what the infrastructure announces about an instance because somebody
// wants to see what happens then. The times are zero for what was not told.
type Told struct {
	// Termination is when the instance is taken back.
	Termination time.Time `json:"termination,omitzero"`
	// Rebalance is since when it is recommended to replace the instance,
	// Maintenance when it is to be restarted. Nothing follows from either.
	Rebalance   time.Time `json:"rebalance,omitzero"`
	Maintenance time.Time `json:"maintenance,omitzero"`
}

// InterruptedAt is when the infrastructure takes the instance back; zero when
// it does not.
func (r Record) InterruptedAt() time.Time {
	at := r.Told.Termination
	if r.Traits.InterruptAfter == 0 {
		return at
	}
	return earlier(at, r.running().Add(r.Traits.InterruptAfter))
}

// AnnouncedAt is InterruptedAt from the moment at which that is announced: what
// was told is announced at once.
func (r Record) AnnouncedAt(now time.Time) time.Time {
	at := r.InterruptedAt()
	if at.IsZero() || !now.Before(at.Add(-r.Traits.InterruptNotice)) {
		return at
	}
	return r.Told.Termination
}

// Named returns the instance that has the node name.
func (c *Cloud) Named(ctx context.Context, cluster, node string) (s Sight, ok bool, err error) {
	records, err := c.recorded(cluster, node)
	if err != nil {
		return Sight{}, false, err
	}
	for _, r := range records {
		if s, ok := c.observe(ctx, r); ok {
			return s, true, nil
		}
	}
	return Sight{}, false, nil
}
