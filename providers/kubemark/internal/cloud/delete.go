package cloud

import (
	"context"
	"errors"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// DeleteRequest is a request to delete a machine's instances.
type DeleteRequest struct {
	Cluster, UID string
	// Nodes are the names that dependants of the UID may have claimed.
	Nodes []string
	// Instances are deleted besides those with the UID.
	Instances []InstanceRef
	// Tokens are the idempotency tokens under which dependants may be left.
	Tokens      []string
	FailureRate float64
}

// InstanceRef identifies an instance that was found before.
type InstanceRef struct{ ID, UID, Node string }

// Delete begins or continues to delete the instances of a machine and their dependants, and reports whether
// none is left.
func (c *Cloud) Delete(ctx context.Context, d DeleteRequest) (done bool, err error) {
	done, err = c.deleteMachine(ctx, d, Key(d.UID, ""), func(Record) bool { return true })
	for _, g := range d.Instances {
		if err != nil {
			return false, err
		}
		var gone bool
		gone, err = c.deleteMachine(ctx, d, Key(g.UID, g.Node), func(r Record) bool { return r.ID == g.ID })
		done = done && gone
	}
	if err != nil || !done {
		return false, err
	}
	return true, c.sweep(ctx, d)
}

// deleteMachine is Delete for the matching records of one key.
func (c *Cloud) deleteMachine(ctx context.Context, d DeleteRequest, key string, match func(Record) bool) (done bool, err error) {
	unlock, err := c.store.Lock(d.Cluster, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	records, err := c.store.Get(d.Cluster, key)
	if err != nil {
		return false, err
	}
	done = true
	for _, r := range records {
		if !match(r) {
			continue
		}
		gone, err := c.deleteOne(ctx, r, d.FailureRate)
		if err != nil {
			return false, err
		}
		done = done && gone
	}
	return done, nil
}

// deleteOne begins or continues to delete one instance.
func (c *Cloud) deleteOne(ctx context.Context, r Record, failureRate float64) (gone bool, err error) {
	if c.dice.fails(failureRate, "delete", r.ID) {
		return false, provider.Errorf(provider.Transient, "deleting instance %s failed by chance (deleteFailureRate)", r.ID)
	}
	if r.Deleted.IsZero() {
		r.Deleted = c.clock.Now()
		// An immediate deletion is not recorded: an interrupted one is repeated.
		if r.Traits.DeleteLatency > 0 {
			if err := c.store.Put(r); err != nil {
				return false, err
			}
		}
	}
	kept := &r
	if err := c.advanceLocked(ctx, &kept); err != nil {
		return false, err
	}
	return kept == nil, nil
}

// sweep deletes the leftovers of an interrupted creation: dependants, and data that bodies had prepared.
func (c *Cloud) sweep(ctx context.Context, d DeleteRequest) error {
	key := Key(d.UID, "")
	unlock, err := c.store.Lock(d.Cluster, key)
	if err != nil {
		return err
	}
	defer unlock()
	for _, token := range d.Tokens {
		id := InstanceID(token)
		if err := c.sweepBodies(ctx, Record{ID: id, Cluster: d.Cluster, UID: d.UID}); err != nil {
			return err
		}
		for _, node := range d.Nodes {
			if err := c.sweepDependants(d.Cluster, dependants(d.UID, id, node)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepDependants releases the machine's dependants.
func (c *Cloud) sweepDependants(cluster string, left []Dependant) error {
	for _, d := range left {
		held, ok, err := c.store.Holder(cluster, d.Kind, d.Name)
		if err != nil {
			return err
		}
		if !ok || held.Key != d.Key {
			continue
		}
		if err := c.store.Release(cluster, held); err != nil {
			return err
		}
	}
	return nil
}

// sweepBodies deletes the data of Prepare for an instance that was never created.
func (c *Cloud) sweepBodies(ctx context.Context, r Record) error {
	var errs []error
	for _, body := range c.bodies {
		_, err := body.Remove(ctx, &r)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Leftovers are the dependants of the cluster without an instance. For a moment, they include those of an
// instance that is being created.
func (c *Cloud) Leftovers(ctx context.Context, cluster string, pageSize int) ([]Dependant, error) {
	all, err := c.store.Dependants(cluster)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for s, err := range c.List(ctx, cluster, pageSize) {
		if err != nil {
			return nil, err
		}
		there[s.ID] = true
	}
	return slices.DeleteFunc(all, func(d Dependant) bool { return there[d.Instance] }), nil
}
