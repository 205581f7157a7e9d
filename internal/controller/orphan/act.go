package orphan

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// live reads all machines from the API server, and shares the result for a moment. It is safe for
// concurrent use.
type live struct {
	kinds []Kind
	clock clock.PassiveClock

	mu   sync.Mutex
	at   time.Time
	seen []Seen
}

// machines are those of all kinds, read at most age ago.
func (l *live) machines(ctx context.Context, age time.Duration) ([]Seen, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if !l.at.IsZero() && now.Sub(l.at) < age {
		return l.seen, nil
	}
	var all []Seen
	for _, k := range l.kinds {
		some, err := k.Machines(ctx)
		if err != nil {
			l.at = time.Time{}
			return nil, err
		}
		all = append(all, some...)
	}
	l.at, l.seen = now, all
	return all, nil
}

func (l *live) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

// act carries out the removals of a plan. Before each it checks again: the machines, if they were read too
// long ago, and the instance.
func (c *Collector) act(ctx context.Context, s *scope, plan orphan.Plan) {
	log := logr.FromContextOrDiscard(ctx)
	for _, v := range plan.Verdicts {
		if v.Fate != orphan.Remove || ctx.Err() != nil {
			continue
		}
		why, err := c.objection(ctx, s, v)
		if err != nil || why != "" {
			log.Info("orphan not removed for now", "orphan", describe(v), "why", why, "err", err)
			continue
		}
		c.remove(ctx, s, v)
	}
}

// remove requests a removal, or repeats the request. A ready node is drained first.
func (c *Collector) remove(ctx context.Context, s *scope, v orphan.Verdict) {
	log := logr.FromContextOrDiscard(ctx).WithValues("orphan", describe(v), "providerID", v.Instance.ProviderID, "uid", v.Instance.UID)
	n, err := c.serving(ctx, v)
	if err != nil {
		log.Info("orphan not removed for now", "why", err.Error())
		return
	}
	if _, named, _ := s.approved(); n != nil && !orphan.Named(v.Instance, named) {
		log.Info("orphan not removed for now", "why", "its node "+n.Name+" is Ready")
		return
	}
	if !v.Begun {
		log.Info("removing an orphan", "why", v.Message, "since", v.Since)
	}
	s.memory = s.memory.Begin(v, c.Clock.Now())
	if why, err := c.drain(ctx, n); why != "" || err != nil {
		log.Info("removing an orphan waits for its node", "node", n.Name, "why", why, "err", err)
		return
	}
	var given []provider.Instance
	if len(v.Left) == 0 {
		given = append(given, v.Instance)
	}
	done, err := s.session.Delete(ctx, v.Ref, given)
	if err != nil {
		log.Info("removing an orphan goes on later", "why", err.Error())
		return
	}
	if !done {
		return
	}
	s.memory = s.memory.Finish(v.Key)
	c.poll = firstPoll
	c.Metrics.deleted()
	log.Info("orphan removed")
	c.event(s, v, ReasonDeleted, "%s was removed: %s", describe(v), v.Message)
}

// objection says why a planned removal must wait.
func (c *Collector) objection(ctx context.Context, s *scope, v orphan.Verdict) (string, error) {
	// Deletions of one plan may take long: by now a machine may exist.
	machines, err := c.machines(ctx, s)
	if err != nil {
		return "", err
	}
	if why := orphan.Wanted(v, machines); why != "" {
		return why, nil
	}
	// The infrastructure may have refused the request: a duplicate is checked again until it is being
	// deleted, in case it has become the only one.
	double := v.Cause == orphan.ReasonDouble
	if v.Begun && !double || len(v.Left) > 0 {
		return "", nil
	}
	i := v.Instance
	found, err := s.session.Find(ctx, provider.Ref{UID: i.UID, Name: i.Name, ProviderID: i.ProviderID})
	if err != nil {
		return "", fmt.Errorf("look at it again: %w", err)
	}
	n := slices.IndexFunc(found, func(o provider.Instance) bool { return o.ID == i.ID && o.Exists() })
	switch {
	case v.Begun && (n < 0 || found[n].State == provider.Stopping):
		return "", nil // the rest of it may still exist
	case n < 0:
		return "it is not found any more", nil
	case !double:
		return "", nil
	}
	return c.lastOne(ctx, s, v)
}

// lastOne objects to the removal of a duplicate if the other instance is not found.
func (c *Collector) lastOne(ctx context.Context, s *scope, v orphan.Verdict) (string, error) {
	m := v.Machine
	found, err := s.session.Find(ctx, provider.Ref{UID: m.UID, Namespace: m.Namespace, Name: m.Name, ProviderID: m.ProviderID})
	if err != nil {
		return "", fmt.Errorf("look at the instance that machine %s has recorded: %w", m.Name, err)
	}
	other := func(o provider.Instance) bool {
		return o.ID != v.Instance.ID && o.Exists() && o.State != provider.Stopping
	}
	if !slices.ContainsFunc(found, other) {
		return fmt.Sprintf("machine %s/%s has no other", m.Namespace, m.Name), nil
	}
	return "", nil
}
