package cloud

import (
	"context"
	"errors"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Removal asks for the end of a machine's instances.
type Removal struct {
	Cluster, UID string
	// Nodes are the names that dependants of the UID may have claimed.
	Nodes []string
	// Given are instances to remove besides those of the UID.
	Given []Given
	// Tokens are the idempotency tokens under which dependants may be left.
	Tokens      []string
	FailureRate float64
}

// Given is an instance that was found before.
type Given struct{ ID, UID, Node string }

// Delete begins, or continues, to remove the instances of a machine and what
// was made for them, and reports whether nothing is left.
func (c *Cloud) Delete(ctx context.Context, d Removal) (done bool, err error) {
	done, err = c.deleteMachine(ctx, d, Key(d.UID, ""), func(Record) bool { return true })
	for _, g := range d.Given {
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

// deleteMachine is Delete for those records under one key that match.
func (c *Cloud) deleteMachine(ctx context.Context, d Removal, key string, match func(Record) bool) (done bool, err error) {
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

// deleteOne begins, or continues, to remove one instance.
func (c *Cloud) deleteOne(ctx context.Context, r Record, failureRate float64) (gone bool, err error) {
	if c.dice.fails(failureRate, "delete", r.ID) {
		return false, provider.Errorf(provider.Transient, "deleting instance %s failed by chance (deleteFailureRate)", r.ID)
	}
	if r.Deleted.IsZero() {
		r.Deleted = c.clock.Now()
		// What goes at once needs no note of it: a delete that does not come
		// to its end is repeated.
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

// sweep removes what a creation left that failed half way: dependants, and
// what bodies had prepared.
func (c *Cloud) sweep(ctx context.Context, d Removal) error {
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

// sweepDependants releases those of the dependants that are the machine's.
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

// sweepBodies removes what Prepare left of an instance that never was.
func (c *Cloud) sweepBodies(ctx context.Context, r Record) error {
	var errs []error
	for _, body := range c.bodies {
		_, err := body.Remove(ctx, &r)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Leftovers are the dependants of the cluster whose instances are not there.
// Those of an instance that is being made are among them for a moment.
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
