package cloud

import (
	"context"
	"fmt"
)

// Plant makes an instance beside those that there are. Its ID follows from its
// node name. That is the machine's name only when the instance has no UID, so
// that the machine can still have one; otherwise, or if the name is taken, it
// gets a number.
func (c *Cloud) Plant(ctx context.Context, r Record) (Sight, error) {
	unlock, err := c.store.Lock(r.Cluster, Key(r.UID, r.Node))
	if err != nil {
		return Sight{}, err
	}
	defer unlock()
	for n := 1; ; n++ {
		if n > 1 || r.UID != "" {
			r.Node = fmt.Sprintf("%s-%d", r.Name, n+1)
		}
		r.ID = InstanceID(Key(r.Cluster+"/"+r.UID+"/"+r.Node, ""))
		nic := r.dependants()[0]
		if _, taken, err := c.store.Holder(r.Cluster, nic.Kind, nic.Name); err != nil {
			return Sight{}, err
		} else if !taken {
			break
		}
	}
	if err := c.claim(r, Order{}); err != nil {
		return Sight{}, err
	}
	r.Created = c.clock.Now()
	if err := c.store.Put(r); err != nil {
		return Sight{}, err
	}
	kept := &r
	if err := c.advanceLocked(ctx, &kept); err != nil {
		return Sight{}, err
	}
	return c.sight(r), nil
}

// Leave makes the dependants of an instance without the instance.
func (c *Cloud) Leave(r Record) error {
	for _, d := range r.dependants() {
		if _, err := c.store.Claim(r.Cluster, d); err != nil {
			return err
		}
	}
	return nil
}
