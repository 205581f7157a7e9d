package cloud

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
)

// retryAfter is the retry interval of an effect that failed or is in progress, if no caller reads the
// instance earlier.
const retryAfter = 250 * time.Millisecond

// atOnce is the number of instances that advance concurrently: real instances boot independently.
const atOnce = 32

// Cloud runs the instances of a store.
type Cloud struct {
	store    Store
	clock    clock.Clock
	bodies   map[string]Body
	schedule *schedule
	dice     *dice
	// running: Run advances due instances, so that callers do not wait for them: a listing of a thousand
	// booted instances would otherwise last until all have joined.
	running atomic.Bool
}

// New returns a cloud for a store and the bodies of its back ends.
func New(store Store, c clock.Clock, bodies map[string]Body) *Cloud {
	return &Cloud{store: store, clock: c, bodies: bodies, schedule: newAgenda(), dice: newDice()}
}

// RawError is the raw state of a failed instance.
const RawError = "error"

// Instance is a visible instance.
type Instance struct {
	Record
	State provider.State
	// Raw is the state in the cloud's words.
	Raw string
}

// Query selects the instances that may be a machine's.
type Query struct {
	UID string
	// Name is the machine's name; an instance without a UID that claims it may be the machine's.
	Name string
	// Recorded is the node name of the machine's recorded instance; empty: it has none.
	Recorded string
}

// Find returns the instances with the UID, the recorded one with any UID, and those without a UID that claim
// the name.
func (c *Cloud) Find(ctx context.Context, cluster string, w Query) ([]Instance, error) {
	records, err := c.may(cluster, w)
	if err != nil {
		return nil, err
	}
	var out []Instance
	for _, r := range records {
		if s, ok := c.observe(ctx, r); ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// Locate returns the cluster that has an instance of the machine with the UID; empty: none has.
func Locate(ctx context.Context, c *Cloud, uid string) (string, error) {
	clusters, err := c.store.Clusters()
	if err != nil {
		return "", err
	}
	for _, cluster := range clusters {
		records, err := c.store.Get(cluster, Key(uid, ""))
		if err != nil {
			return "", err
		}
		for _, r := range records {
			if s, ok := c.observe(ctx, r); ok && s.State != provider.Terminated {
				return cluster, nil
			}
		}
	}
	return "", nil
}

// may returns the records that may be a machine's: its own first.
func (c *Cloud) may(cluster string, w Query) ([]Record, error) {
	own, err := c.store.Get(cluster, Key(w.UID, ""))
	if err != nil {
		return nil, err
	}
	recorded, err := c.recorded(cluster, w.Recorded)
	if err != nil {
		return nil, err
	}
	named, err := c.store.Get(cluster, Key("", w.Name))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Concat(own, recorded, named), func(r Record) bool {
		double := seen[r.ID]
		seen[r.ID] = true
		return double
	}), nil
}

// recorded returns the record of the instance with the node name.
func (c *Cloud) recorded(cluster, node string) ([]Record, error) {
	if node == "" {
		return nil, nil
	}
	held, ok, err := c.store.Holder(cluster, NIC, node)
	if err != nil || !ok {
		return nil, err
	}
	records, err := c.store.Get(cluster, held.Key)
	return slices.DeleteFunc(records, func(r Record) bool { return r.ID != held.Instance }), err
}

// List yields all instances of the cluster, reading pageSize machines at once.
func (c *Cloud) List(ctx context.Context, cluster string, pageSize int) iter.Seq2[Instance, error] {
	return func(yield func(Instance, error) bool) {
		for after := ""; ; {
			if err := ctx.Err(); err != nil {
				yield(Instance{}, err)
				return
			}
			records, next, err := c.store.Page(cluster, after, pageSize)
			if err != nil {
				yield(Instance{}, err)
				return
			}
			for _, r := range records {
				if s, ok := c.observe(ctx, r); ok && !yield(s, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			after = next
		}
	}
}

// observe reads an instance. It first advances the instance if it is due, or leaves that to Run.
func (c *Cloud) observe(ctx context.Context, r Record) (s Instance, exists bool) {
	switch due := c.due(r); {
	case due && c.running.Load():
		c.schedule.set(r.appointment(), c.clock.Now())
	case due:
		now, err := c.advance(ctx, r)
		if err != nil {
			logBehind(ctx, err, r.ID)
		} else if now == nil {
			return Instance{}, false
		}
		if now != nil {
			r = *now
		}
	}
	return c.instanceOf(r), true
}

// due reports whether the body of r differs from its wanted state.
func (c *Cloud) due(r Record) bool {
	want := r.LifeAt(c.clock.Now()).Want
	return want != Absent && want != r.Body.Want
}

// advance brings the instance to its wanted state, and returns it; nil: it was deleted.
func (c *Cloud) advance(ctx context.Context, r Record) (*Record, error) {
	unlock, err := c.store.Lock(r.Cluster, r.Key())
	if err != nil {
		return nil, err
	}
	defer unlock()
	fresh, err := c.reread(r)
	if err != nil || fresh == nil {
		return nil, err
	}
	err = c.advanceLocked(ctx, &fresh)
	return fresh, err
}

// reread returns the instance in the store; nil: it was deleted.
func (c *Cloud) reread(r Record) (*Record, error) {
	records, err := c.store.Get(r.Cluster, r.Key())
	if err != nil {
		return nil, err
	}
	for _, f := range records {
		if f.ID == r.ID {
			return &f, nil
		}
	}
	return nil, nil
}

// advanceLocked is advance for a holder of the machine's lock. It sets r to nil if the instance was deleted.
func (c *Cloud) advanceLocked(ctx context.Context, r **Record) error {
	rec := *r
	when := rec.appointment()
	for {
		life := rec.LifeAt(c.clock.Now())
		if life.Want == Absent || life.Want == rec.Body.Want {
			c.schedule.set(when, life.Next)
			return nil
		}
		body, err := c.body(rec.Traits.Backend)
		if err != nil {
			return err
		}
		before := rec.Body
		reached, err := effect(ctx, body, rec, life.Want)
		if reached && life.Want == Removed {
			if err := c.forget(*rec); err != nil {
				c.schedule.set(when, c.clock.Now().Add(retryAfter))
				return err
			}
			*r = nil
			c.schedule.set(when, time.Time{})
			return nil
		}
		if reached && rec.Power == PowerReboot {
			rec.Power, rec.PowerAt, rec.Body.Want = PowerOn, c.clock.Now(), Absent
		}
		if rec.Body != before {
			err = errors.Join(err, c.store.Put(*rec))
		}
		if err != nil || !reached {
			c.schedule.set(when, c.clock.Now().Add(retryAfter))
			return err
		}
	}
}

// forget deletes an instance from the store. It deletes the record last: the record shows that dependants may
// remain.
func (c *Cloud) forget(r Record) error {
	for _, d := range r.dependants() {
		if err := c.store.Release(r.Cluster, d); err != nil {
			return err
		}
	}
	return c.store.Drop(r)
}

func (c *Cloud) body(backend string) (Body, error) {
	b, ok := c.bodies[backend]
	if !ok {
		return nil, fmt.Errorf("back end %q is not configured", backend)
	}
	return b, nil
}

// instanceOf is the visible instance of a record.
func (c *Cloud) instanceOf(r Record) Instance {
	life := r.LifeAt(c.clock.Now())
	s := Instance{Record: r, State: life.State}
	switch {
	case life.State == provider.Pending:
		s.Raw = "pending"
	case life.State == provider.Stopping:
		s.Raw = "shutting-down"
	case life.State == provider.Stopped && r.Traits.Fault != "":
		s.Raw = RawError
	case life.State == provider.Stopped:
		s.Raw = "stopped"
	case c.died(r):
		s.State, s.Raw = provider.Stopped, "exited"
	default:
		s.Raw = "running"
	}
	return s
}

// died reports whether the body ended by itself.
func (c *Cloud) died(r Record) bool {
	if r.Body.Want != Up && r.Body.Want != Silent {
		return false
	}
	body, err := c.body(r.Traits.Backend)
	return err == nil && !body.Alive(r)
}

// Sync advances all due instances and returns when the next one is due; zero: none is known.
func (c *Cloud) Sync(ctx context.Context) (next time.Time, err error) {
	due := c.schedule.take(c.clock.Now())
	errs := make([]error, len(due))
	var all errgroup.Group
	all.SetLimit(atOnce)
	for n, m := range due {
		all.Go(func() error {
			if errs[n] = c.runDue(ctx, m); errs[n] != nil {
				c.schedule.set(m, c.clock.Now().Add(retryAfter))
			}
			return nil
		})
	}
	_ = all.Wait() // each error is in its place
	return c.schedule.next(), errors.Join(errs...)
}

// runDue advances the instance of an entry.
func (c *Cloud) runDue(ctx context.Context, m entry) error {
	records, err := c.store.Get(m.cluster, m.key)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.ID != m.id {
			continue
		}
		if _, err := c.advance(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Recall adds all machines of the store to the schedule, after the start of a process.
func (c *Cloud) Recall(ctx context.Context, pageSize int) error {
	clusters, err := c.store.Clusters()
	if err != nil {
		return err
	}
	for _, cluster := range clusters {
		for s, err := range c.List(ctx, cluster, pageSize) {
			if err != nil {
				return err
			}
			if !c.due(s.Record) { // due instances are in the schedule already
				c.schedule.set(s.appointment(), s.LifeAt(c.clock.Now()).Next)
			}
		}
	}
	return nil
}

// coalesce is the minimum interval between two rounds of Run: what becomes due within it is done together.
const coalesce = 20 * time.Millisecond

// Run advances instances when they are due, until ctx is done.
func (c *Cloud) Run(ctx context.Context, pageSize int) error {
	c.running.Store(true)
	defer c.running.Store(false)
	if err := c.Recall(ctx, pageSize); err != nil && ctx.Err() == nil {
		// Instances that were not recalled are advanced when they are read.
		logr.FromContextOrDiscard(ctx).Error(err, "not all instances were recalled")
	}
	for {
		next, err := c.Sync(ctx)
		if err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "failed to advance instances")
		}
		if !c.wait(ctx, next) {
			return nil
		}
	}
}

// wait returns when next has come or the schedule has changed, but not at once. It returns false when ctx is
// done.
func (c *Cloud) wait(ctx context.Context, next time.Time) bool {
	pause := c.clock.NewTimer(coalesce)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C():
	}
	alarm := c.clock.NewTimer(c.untilOr(next, time.Hour))
	defer alarm.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-alarm.C():
	case <-c.schedule.change:
	}
	return true
}

// untilOr is the time until t, or other if t is zero.
func (c *Cloud) untilOr(t time.Time, other time.Duration) time.Duration {
	if t.IsZero() {
		return other
	}
	return t.Sub(c.clock.Now())
}
