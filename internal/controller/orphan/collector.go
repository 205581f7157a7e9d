package orphan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// Options are what a [Collector] is made of.
type Options struct {
	// Kinds are the machines of every API group, those that this process does not serve included: their
	// instances may be in the same scope.
	Kinds    []Kind
	Provider provider.Provider
	Clock    clock.Clock
	// Policy has the limits and periods; its Period is that of the listings.
	Policy   orphan.Policy
	Recorder events.EventRecorder
	// Metrics may be nil.
	Metrics *Metrics
	// Nodes is the cluster that machines join; nil when they join none.
	Nodes *node.Cluster
	// Connectivity is how well the clusters are seen; nil: perfectly.
	Connectivity connectivity.Source
	// Random returns numbers from 0 to 1, which keep processes that started together from listing together;
	// nil: math/rand.
	Random func() float64
}

// Collector removes instances without a machine. Its passes follow one another.
type Collector struct {
	Options
	scopes map[string]*scope
	live   *live
	// next is when to list again, poll the pause between checks of removals under way.
	next time.Time
	poll time.Duration
}

// New returns a collector.
func New(o Options) *Collector {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Collector{Options: o, live: &live{kinds: o.Kinds, clock: o.Clock}, poll: firstPoll}
}

const (
	// firstPoll is the pause between two checks of removals under way. It doubles while none completes.
	firstPoll = 10 * time.Second
	// freshness is the greatest age of a reading of all machines on which a removal relies.
	freshness = 10 * time.Second
	// listingTimeout bounds one listing, all its pages together.
	listingTimeout = 5 * time.Minute
	// startSpread is the longest time between the start and the first listing.
	startSpread = time.Minute
)

// NeedLeaderElection says that only the leader collects.
func (c *Collector) NeedLeaderElection() bool { return true }

// Start makes passes until ctx ends.
func (c *Collector) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("orphans"))
	wait := time.Duration(c.Random() * float64(min(startSpread, c.Policy.Period/10)))
	for {
		timer := c.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		wait = c.Pass(ctx)
	}
}

// Pass lists and decides if a listing is due, otherwise continues removals, and returns when to be called
// again.
func (c *Collector) Pass(ctx context.Context) time.Duration {
	now := c.Clock.Now()
	if seen := connectivity.Of(c.Connectivity); seen.Frozen(now) != "" {
		return seen.Again()
	}
	if now.Before(c.next) {
		c.resume(ctx)
	} else {
		c.next = now.Add(c.jittered(c.Policy.Period))
		c.poll = firstPoll
		c.sweep(ctx)
	}
	var all []orphan.Memory
	removing := 0
	for _, s := range c.scopes {
		all = append(all, s.memory)
		removing += s.memory.Removing()
	}
	c.Metrics.count(all)
	wait := max(c.next.Sub(c.Clock.Now()), 0)
	if removing > 0 {
		wait = min(wait, c.poll)
		c.poll *= 2
	}
	return wait
}

// jittered is d, up to a tenth more or less.
func (c *Collector) jittered(d time.Duration) time.Duration {
	return d + time.Duration((c.Random()-0.5)/5*float64(d))
}

// sweep lists every scope and acts on the listings.
func (c *Collector) sweep(ctx context.Context) {
	if err := c.find(ctx); err != nil {
		c.Metrics.failed("class")
		logr.FromContextOrDiscard(ctx).Error(err, "orphans are not looked for")
		return
	}
	ready, err := c.readyNodes(ctx)
	if err != nil {
		c.Metrics.failed("nodes")
		logr.FromContextOrDiscard(ctx).Error(err, "orphans are not looked for")
		return
	}
	c.Metrics.identified(c.Policy.Owner != "")
	for _, s := range c.sorted() {
		anonymous(c, s)
		l := c.list(ctx, s)
		l.Ready = ready
		// The machines are read after the instances are listed, so that every listed instance is compared
		// with a later list of machines.
		c.live.forget()
		machines, err := c.machines(ctx, s)
		if err != nil {
			c.Metrics.failed("machines")
			logr.FromContextOrDiscard(ctx).Error(err, "nothing is concluded about orphans")
			return
		}
		c.decide(ctx, s, l, machines)
	}
}

// list lists all instances of a scope, and the leftovers of instances.
func (c *Collector) list(ctx context.Context, s *scope) orphan.Listing {
	ctx, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	l := orphan.Listing{Cluster: s.class.Cluster}
	for i, err := range s.session.List(ctx) {
		if err != nil {
			l.Err = err
			return l
		}
		l.Instances = append(l.Instances, i)
	}
	lister, ok := provider.As[provider.LeftoverLister](s.session)
	if !ok {
		return l
	}
	for left, err := range lister.Leftovers(ctx) {
		if err != nil {
			l.Leftovers, l.LeftoversErr = nil, err
			return l
		}
		l.Leftovers = append(l.Leftovers, left)
	}
	return l
}

// machines are those of all APIs, from the API server.
func (c *Collector) machines(ctx context.Context, s *scope) ([]orphan.Machine, error) {
	seen, err := c.live.machines(ctx, freshness)
	if err != nil {
		return nil, err
	}
	out := make([]orphan.Machine, len(seen))
	for n, m := range seen {
		out[n] = m.Machine
		out[n].Here = s.machines[m.UID]
		for _, other := range c.scopes {
			out[n].Elsewhere = out[n].Elsewhere || other != s && other.machines[m.UID]
		}
	}
	return out, nil
}

// decide acts on one listing.
func (c *Collector) decide(ctx context.Context, s *scope, l orphan.Listing, machines []orphan.Machine) {
	log := logr.FromContextOrDiscard(ctx).WithValues("cluster", s.class.Cluster, "region", s.class.Region)
	policy := c.Policy
	var bad error
	policy.Approved, policy.Named, bad = s.approved()
	policy.Untagged = s.untagged
	plan := orphan.Sweep(c.Clock.Now(), s.memory, l, machines, policy)
	s.memory = plan.Memory
	if plan.Doubt != "" {
		c.Metrics.failed(doubtReason(l))
		log.Info("nothing is concluded from a listing of instances", "why", plan.Doubt)
		c.giveUp(s, l)
		return
	}
	if l.LeftoversErr != nil {
		c.Metrics.failed(string(provider.KindOf(l.LeftoversErr)))
		log.Info("what instances left behind is not known", "why", l.LeftoversErr.Error())
	}
	if len(l.Instances) == 0 && len(l.Leftovers) == 0 {
		c.drop(s)
	}
	log.V(1).Info("instances listed", "instances", len(l.Instances), "leftovers", len(l.Leftovers), "suspects", len(s.memory.Suspects))
	c.tell(ctx, s, plan, bad)
	c.act(ctx, s, plan)
}

// giveUp forgets a scope that Millwright cannot access.
func (c *Collector) giveUp(s *scope, l orphan.Listing) {
	switch provider.KindOf(l.Err) {
	case provider.Denied, provider.Invalid:
		c.drop(s)
	}
}

// drop forgets a scope that has no class any more. If its classes return within the hour, the removals of
// that hour still count.
func (c *Collector) drop(s *scope) {
	if len(s.anchors) == 0 && len(s.memory.Begun) == 0 {
		delete(c.scopes, s.key)
	}
}

func doubtReason(l orphan.Listing) string {
	if l.Err != nil {
		return string(provider.KindOf(l.Err))
	}
	return "Doubted"
}

// resume continues removals that have begun.
func (c *Collector) resume(ctx context.Context) {
	for _, s := range c.sorted() {
		if s.memory.Removing() == 0 {
			continue
		}
		machines, err := c.machines(ctx, s)
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "removals of orphans wait")
			return
		}
		plan := orphan.Resume(s.memory, machines)
		s.memory = plan.Memory
		c.act(ctx, s, plan)
	}
}

// describe names the subject of a verdict.
func describe(v orphan.Verdict) string {
	if len(v.Left) > 0 {
		return fmt.Sprintf("%s %s of %s", v.Left[0].Kind, v.Left[0].ID, v.Left[0].UID)
	}
	return fmt.Sprintf("instance %s (%s)", v.Key, v.Instance.Name)
}
