package cloud

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/millwright-dev/millwright/provider"
)

// Order asks for an instance.
type Order struct {
	// Record is the instance without what the cloud decides: creation time
	// and body.
	Record   Record
	UserData []byte
	// Recorded is that of [Wanted].
	Recorded string
	// FailureRate is the share of tries that fail, 0..1, leaving a network
	// interface behind.
	FailureRate float64
	// Quota is how many instances of the same type may be in the cluster's
	// zone; negative means any number.
	Quota int
}

// Create makes the instance, or returns the one that the machine has already.
func (c *Cloud) Create(ctx context.Context, o Order) (Sight, error) {
	r := o.Record
	unlock, err := c.store.Lock(r.Cluster, r.Key())
	if err != nil {
		return Sight{}, err
	}
	defer unlock()
	if s, ok, err := c.made(ctx, r, o.Recorded); err != nil || ok {
		return s, err
	}
	if err := c.admit(&r, o); err != nil {
		return Sight{}, err
	}
	kept := &r
	if err := c.advanceLocked(ctx, &kept); err != nil {
		behind(ctx, err, r.ID)
	}
	return c.sight(r), nil
}

// behind logs an effect that failed. The instance is there all the same; its
// body gets another chance whenever it is looked at.
func behind(ctx context.Context, err error, id string) {
	logr.FromContextOrDiscard(ctx).Error(err, "instance is behind what it should be", "instance", id)
}

// made returns the instance that the machine has already: of its own the oldest,
// else the one recorded or of its name. What is due to go makes room first.
func (c *Cloud) made(ctx context.Context, draft Record, recorded string) (s Sight, ok bool, err error) {
	records, err := c.may(draft.Cluster, Wanted{UID: draft.UID, Name: draft.Node, Recorded: recorded})
	if err != nil {
		return Sight{}, false, err
	}
	for _, r := range records {
		if r.Key() != draft.Key() { // the lock that is held is not its
			if !ok {
				return c.sight(r), true, nil
			}
			break
		}
		kept := &r
		if err := c.advanceLocked(ctx, &kept); err != nil {
			behind(ctx, err, r.ID)
		}
		if kept != nil && (!ok || kept.Created.Before(s.Created)) {
			s, ok = c.sight(*kept), true
		}
	}
	return s, ok, nil
}

// claim makes the dependants of r.
func (c *Cloud) claim(r Record, o Order) error {
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
			return provider.Errorf(provider.Transient, "creating instance %s failed by chance (createFailureRate)", r.ID)
		}
	}
	return nil
}

// admit makes the instance, if the quota allows it.
func (c *Cloud) admit(r *Record, o Order) error {
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

// put makes the dependants, and then the instance.
func (c *Cloud) put(r *Record, o Order) error {
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
