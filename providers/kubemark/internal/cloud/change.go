package cloud

import (
	"context"
	"time"
)

// Lookup returns the instance as it is now.
func (c *Cloud) Lookup(ctx context.Context, cluster string, g Given) (s Sight, ok bool, err error) {
	r, err := c.reread(Record{ID: g.ID, Cluster: cluster, UID: g.UID, Node: g.Node})
	if err != nil || r == nil {
		return Sight{}, false, err
	}
	s, ok = c.observe(ctx, *r)
	return s, ok, nil
}

// Change is what a caller may alter in an instance.
type Change func(r *Record, now time.Time)

// Change alters the instance and then does what is due for it; what fails of
// that is done later. It returns false when the instance is gone.
func (c *Cloud) Change(ctx context.Context, cluster string, g Given, change Change) (s Sight, ok bool, err error) {
	r := Record{ID: g.ID, Cluster: cluster, UID: g.UID, Node: g.Node}
	unlock, err := c.store.Lock(r.Cluster, r.Key())
	if err != nil {
		return Sight{}, false, err
	}
	defer unlock()
	kept, err := c.reread(r)
	if err != nil || kept == nil {
		return Sight{}, false, err
	}
	change(kept, c.clock.Now())
	if err := c.store.Put(*kept); err != nil {
		return Sight{}, false, err
	}
	id := kept.ID
	if err := c.advanceLocked(ctx, &kept); err != nil {
		behind(ctx, err, id)
	}
	if kept == nil {
		return Sight{}, false, nil
	}
	return c.sight(*kept), true, nil
}

// Reboot is the change that a request for a reboot makes. The same request again
// makes none.
func (c *Cloud) Reboot(request string) Change {
	reboot := c.SetPower(PowerReboot)
	return func(r *Record, now time.Time) {
		if r.Rebooted == request {
			return
		}
		r.Rebooted = request
		reboot(r, now)
	}
}

// SetPower is the change that a power operation makes. A body that ended by
// itself is started again by PowerOn.
func (c *Cloud) SetPower(p Power) Change {
	return func(r *Record, now time.Time) {
		running := (r.Body.Want == Up || r.Body.Want == Silent) && !c.died(*r)
		switch {
		case p == PowerOn && running:
			return
		case p != PowerOff && !running:
			p = PowerOn
			r.Body.Want = Absent
		}
		r.Power, r.PowerAt = p, now
	}
}
