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

// retryAfter is how long an effect that failed, or is under way, waits for its
// next turn when nobody asks for it.
const retryAfter = 250 * time.Millisecond

// atOnce is how many instances get on at the same time: real ones boot without regard to each other.
const atOnce = 32

// Cloud runs the instances of a store.
type Cloud struct {
	store  Store
	clock  clock.Clock
	bodies map[string]Body
	agenda *agenda
	dice   *dice
	// running says that Run does what is due. A caller who looks at instances does not wait for that then: a listing of a thousand that have booted
	// would last as long as all of them take to join.
	running atomic.Bool
}

// New makes a cloud of a store and the bodies of its back ends.
func New(store Store, c clock.Clock, bodies map[string]Body) *Cloud {
	return &Cloud{store: store, clock: c, bodies: bodies, agenda: newAgenda(), dice: newDice()}
}

// RawError is the state of an instance that was given up.
const RawError = "error"

// Sight is an instance as it shows itself.
type Sight struct {
	Record
	State provider.State
	// Raw is this cloud's word for the state.
	Raw string
}

// Wanted names what may be a machine's.
type Wanted struct {
	UID string
	// Name is the machine's; an instance without a UID that claims it may be
	// the machine's.
	Name string
	// Recorded is the node name of the instance that the machine has recorded;
	// empty when it has none.
	Recorded string
}

// Find returns the instances with the UID, the one recorded, whatever UID it
// has, and those without a UID that claim the name.
func (c *Cloud) Find(ctx context.Context, cluster string, w Wanted) ([]Sight, error) {
	records, err := c.may(cluster, w)
	if err != nil {
		return nil, err
	}
	var out []Sight
	for _, r := range records {
		if s, ok := c.observe(ctx, r); ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// Locate is the cluster that has an instance of the machine with the UID; empty where none
// has.
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
func (c *Cloud) may(cluster string, w Wanted) ([]Record, error) {
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

// recorded returns the record of the instance that has the node name.
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
func (c *Cloud) List(ctx context.Context, cluster string, pageSize int) iter.Seq2[Sight, error] {
	return func(yield func(Sight, error) bool) {
		for after := ""; ; {
			if err := ctx.Err(); err != nil {
				yield(Sight{}, err)
				return
			}
			records, next, err := c.store.Page(cluster, after, pageSize)
			if err != nil {
				yield(Sight{}, err)
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

// observe looks at an instance, for which it first does what is due, or has Run do it.
func (c *Cloud) observe(ctx context.Context, r Record) (s Sight, exists bool) {
	switch due := c.due(r); {
	case due && c.running.Load():
		c.agenda.set(r.appointment(), c.clock.Now())
	case due:
		now, err := c.advance(ctx, r)
		if err != nil {
			behind(ctx, err, r.ID)
		} else if now == nil {
			return Sight{}, false
		}
		if now != nil {
			r = *now
		}
	}
	return c.sight(r), true
}

// due reports whether the body of r is not as it should be by now.
func (c *Cloud) due(r Record) bool {
	want := r.LifeAt(c.clock.Now()).Want
	return want != Absent && want != r.Body.Want
}

// advance does for the instance what is due, and returns it as it is then: nil
// when it is gone.
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

// reread returns the instance as the store has it; nil when it is gone.
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

// advanceLocked is advance for a holder of the machine's lock. It sets r to nil
// when the instance is gone.
func (c *Cloud) advanceLocked(ctx context.Context, r **Record) error {
	rec := *r
	when := rec.appointment()
	for {
		life := rec.LifeAt(c.clock.Now())
		if life.Want == Absent || life.Want == rec.Body.Want {
			c.agenda.set(when, life.Next)
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
				c.agenda.set(when, c.clock.Now().Add(retryAfter))
				return err
			}
			*r = nil
			c.agenda.set(when, time.Time{})
			return nil
		}
		if reached && rec.Power == PowerReboot {
			rec.Power, rec.PowerAt, rec.Body.Want = PowerOn, c.clock.Now(), Absent
		}
		if rec.Body != before {
			err = errors.Join(err, c.store.Put(*rec))
		}
		if err != nil || !reached {
			c.agenda.set(when, c.clock.Now().Add(retryAfter))
			return err
		}
	}
}

// forget removes what the store has of an instance. The record goes last: as
// long as it is there, somebody knows that there is something to remove.
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

// sight says how an instance shows itself.
func (c *Cloud) sight(r Record) Sight {
	life := r.LifeAt(c.clock.Now())
	s := Sight{Record: r, State: life.State}
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

// Sync does all that is due and says when something will be due again; zero
// when nothing is known to.
func (c *Cloud) Sync(ctx context.Context) (next time.Time, err error) {
	due := c.agenda.take(c.clock.Now())
	errs := make([]error, len(due))
	var all errgroup.Group
	all.SetLimit(atOnce)
	for n, m := range due {
		all.Go(func() error {
			if errs[n] = c.keep(ctx, m); errs[n] != nil {
				c.agenda.set(m, c.clock.Now().Add(retryAfter))
			}
			return nil
		})
	}
	_ = all.Wait() // each error is in its place
	return c.agenda.next(), errors.Join(errs...)
}

// keep keeps an appointment.
func (c *Cloud) keep(ctx context.Context, m appointment) error {
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

// Recall puts all machines of the store on the agenda, as a fresh process has
// to.
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
			if !c.due(s.Record) { // what is due is on the agenda already
				c.agenda.set(s.appointment(), s.LifeAt(c.clock.Now()).Next)
			}
		}
	}
	return nil
}

// coalesce is the shortest time between two rounds of Run: what is due within
// it is done together.
const coalesce = 20 * time.Millisecond

// Run does what is due when it is due, until ctx is done.
func (c *Cloud) Run(ctx context.Context, pageSize int) error {
	c.running.Store(true)
	defer c.running.Store(false)
	if err := c.Recall(ctx, pageSize); err != nil && ctx.Err() == nil {
		// Those that were not recalled are seen to when they are looked at.
		logr.FromContextOrDiscard(ctx).Error(err, "not all instances were recalled")
	}
	for {
		next, err := c.Sync(ctx)
		if err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "instances are behind what they should be")
		}
		if !c.wait(ctx, next) {
			return nil
		}
	}
}

// wait returns when next has come or the agenda has changed, but not at once.
// It reports false when ctx is done.
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
	case <-c.agenda.change:
	}
	return true
}

// untilOr is how long it is until t, or other when t is zero.
func (c *Cloud) untilOr(t time.Time, other time.Duration) time.Duration {
	if t.IsZero() {
		return other
	}
	return t.Sub(c.clock.Now())
}
