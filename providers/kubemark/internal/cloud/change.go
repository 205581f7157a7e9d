package cloud

import (
	"context"
	"time"
)

// Lookup returns the current instance.
func (c *Cloud) Lookup(ctx context.Context, cluster string, g InstanceRef) (s Instance, ok bool, err error) {
	r, err := c.reread(Record{ID: g.ID, Cluster: cluster, UID: g.UID, Node: g.Node})
	if err != nil || r == nil {
		return Instance{}, false, err
	}
	s, ok = c.observe(ctx, *r)
	return s, ok, nil
}

// Change is a change that a caller makes to an instance.
type Change func(r *Record, now time.Time)

// Change changes the instance and then advances it; failed effects are repeated later. It returns false if
// the instance does not exist.
func (c *Cloud) Change(ctx context.Context, cluster string, g InstanceRef, change Change) (s Instance, ok bool, err error) {
	r := Record{ID: g.ID, Cluster: cluster, UID: g.UID, Node: g.Node}
	unlock, err := c.store.Lock(r.Cluster, r.Key())
	if err != nil {
		return Instance{}, false, err
	}
	defer unlock()
	kept, err := c.reread(r)
	if err != nil || kept == nil {
		return Instance{}, false, err
	}
	change(kept, c.clock.Now())
	if err := c.store.Put(*kept); err != nil {
		return Instance{}, false, err
	}
	id := kept.ID
	if err := c.advanceLocked(ctx, &kept); err != nil {
		logBehind(ctx, err, id)
	}
	if kept == nil {
		return Instance{}, false, nil
	}
	return c.instanceOf(*kept), true, nil
}

// Reboot is the change of a reboot request. Repeating the same request changes nothing.
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

// SetPower is the change of a power operation. PowerOn also starts a body that ended by itself.
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
