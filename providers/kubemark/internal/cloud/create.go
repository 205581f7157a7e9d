package cloud

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/millwright-dev/millwright/provider"
)

// CreateRequest is a request for an instance.
type CreateRequest struct {
	// Record is the instance without the fields that the cloud sets: creation time and body.
	Record   Record
	UserData []byte
	// Recorded is that of [Query].
	Recorded string
	// FailureRate is the share of tries that fail, 0..1, and leave a network interface behind.
	FailureRate float64
	// Quota limits the instances of the same type in the cluster's zone; negative: no limit.
	Quota int
}

// Create creates the instance, or returns the machine's existing one.
func (c *Cloud) Create(ctx context.Context, o CreateRequest) (Instance, error) {
	r := o.Record
	unlock, err := c.store.Lock(r.Cluster, r.Key())
	if err != nil {
		return Instance{}, err
	}
	defer unlock()
	if s, ok, err := c.existing(ctx, r, o.Recorded); err != nil || ok {
		return s, err
	}
	if err := c.admit(&r, o); err != nil {
		return Instance{}, err
	}
	kept := &r
	if err := c.advanceLocked(ctx, &kept); err != nil {
		logBehind(ctx, err, r.ID)
	}
	return c.instanceOf(r), nil
}

// logBehind logs a failed effect. The instance exists nevertheless; its body is advanced again whenever the
// instance is read.
func logBehind(ctx context.Context, err error, id string) {
	logr.FromContextOrDiscard(ctx).Error(err, "failed to advance the instance", "instance", id)
}

// existing returns the machine's existing instance: the oldest of its own, or else the recorded one, or the
// one of its name. Instances that are due for deletion are deleted first.
func (c *Cloud) existing(ctx context.Context, draft Record, recorded string) (s Instance, ok bool, err error) {
	records, err := c.may(draft.Cluster, Query{UID: draft.UID, Name: draft.Node, Recorded: recorded})
	if err != nil {
		return Instance{}, false, err
	}
	for _, r := range records {
		if r.Key() != draft.Key() { // the held lock is not this record's
			if !ok {
				return c.instanceOf(r), true, nil
			}
			break
		}
		kept := &r
		if err := c.advanceLocked(ctx, &kept); err != nil {
			logBehind(ctx, err, r.ID)
		}
		if kept != nil && (!ok || kept.Created.Before(s.Created)) {
			s, ok = c.instanceOf(*kept), true
		}
	}
	return s, ok, nil
}

// claim creates the dependants of r.
func (c *Cloud) claim(r Record, o CreateRequest) error {
	for _, d := range r.dependants() {
		held, err := c.store.Claim(r.Cluster, d)
		if err != nil {
			return err
		}
		if held.Key != d.Key {
			return provider.Errorf(provider.Conflict,
				"the node name %q is taken by instance %s of another machine", r.Node, held.Instance)
		}
		if d.Kind == NIC && c.dice.fails(o.FailureRate, "create", r.ID) {
			return provider.Errorf(provider.Transient, "creation of instance %s failed by chance (createFailureRate)", r.ID)
		}
	}
	return nil
}

// admit creates the instance, if the quota allows it.
func (c *Cloud) admit(r *Record, o CreateRequest) error {
	if o.Quota < 0 {
		return c.put(r, o)
	}
	unlock, err := c.store.LockCluster(r.Cluster)
	if err != nil {
		return err
	}
	defer unlock()
	used, err := c.count(*r)
	if err != nil {
		return err
	}
	if used >= o.Quota {
		return provider.ExhaustedIn(provider.ScopeType, "the quota of %d instances of type %q in zone %q is used up",
			o.Quota, r.Traits.InstanceType, r.Traits.Zone)
	}
	return c.put(r, o)
}

// put creates the dependants, and then the instance.
func (c *Cloud) put(r *Record, o CreateRequest) error {
	body, err := c.body(r.Traits.Backend)
	if err != nil {
		return err
	}
	if err := body.Prepare(*r, o.UserData); err != nil {
		return err
	}
	if err := c.claim(*r, o); err != nil {
		return err
	}
	r.Created = c.clock.Now()
	return c.store.Put(*r)
}

// count counts the instances that share r's quota.
func (c *Cloud) count(r Record) (n int, err error) {
	const page = 500
	for after := ""; ; {
		records, next, err := c.store.Page(r.Cluster, after, page)
		if err != nil {
			return 0, err
		}
		for _, other := range records {
			if other.Traits.Zone == r.Traits.Zone && other.Traits.InstanceType == r.Traits.InstanceType {
				n++
			}
		}
		if next == "" {
			return n, nil
		}
		after = next
	}
}
