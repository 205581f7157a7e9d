package cloud

import (
	"context"
	"fmt"
)

// Plant creates a further instance. Its ID is derived from its node name. That is the machine's name only if
// the instance has no UID, so that the machine can still get an instance of its own; otherwise, or if the
// name is taken, a number is appended.
func (c *Cloud) Plant(ctx context.Context, r Record) (Instance, error) {
	unlock, err := c.store.Lock(r.Cluster, Key(r.UID, r.Node))
	if err != nil {
		return Instance{}, err
	}
	defer unlock()
	for n := 1; ; n++ {
		if n > 1 || r.UID != "" {
			r.Node = fmt.Sprintf("%s-%d", r.Name, n+1)
		}
		r.ID = InstanceID(Key(r.Cluster+"/"+r.UID+"/"+r.Node, ""))
		nic := r.dependants()[0]
		if _, taken, err := c.store.Holder(r.Cluster, nic.Kind, nic.Name); err != nil {
			return Instance{}, err
		} else if !taken {
			break
		}
	}
	if err := c.claim(r, CreateRequest{}); err != nil {
		return Instance{}, err
	}
	r.Created = c.clock.Now()
	if err := c.store.Put(r); err != nil {
		return Instance{}, err
	}
	kept := &r
	if err := c.advanceLocked(ctx, &kept); err != nil {
		return Instance{}, err
	}
	return c.instanceOf(r), nil
}

// Leave creates the dependants of an instance without the instance.
func (c *Cloud) Leave(r Record) error {
	for _, d := range r.dependants() {
		if _, err := c.store.Claim(r.Cluster, d); err != nil {
			return err
		}
	}
	return nil
}
