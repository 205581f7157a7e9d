package decorate

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Limits bound the calls of one account (credentials and region).
type Limits struct {
	// PerSecond is the highest rate of calls; 0 for 50.
	PerSecond float64
	// Floor is the lowest rate that throttling leads to; 0 for a fiftieth of PerSecond.
	Floor float64
	// Burst is how many calls may come at once after a rest; 0 for the calls of 2 s.
	Burst float64
	// Wait is how long a call may be held for its turn; a call that would wait longer is Throttled at once.
	// 0 holds none.
	Wait time.Duration
	// Writes are the limits of calls that change something, if the infrastructure counts those separately;
	// the other limits are then those of calls that only read. Nil: one limit is for all.
	Writes *Limits
}

func (l Limits) withDefaults() Limits {
	if l.PerSecond <= 0 {
		l.PerSecond = 50
	}
	if l.Floor <= 0 {
		l.Floor = l.PerSecond / 50
	}
	if l.Burst <= 0 {
		l.Burst = 2 * l.PerSecond
	}
	l.Burst = max(l.Burst, 1)
	return l
}

// Limit decorates p so that the calls of each account keep to a rate. The rate starts at l.PerSecond, is
// halved when the infrastructure throttles (which also stops calls for the requested time) and grows back
// within a minute.
//
// When calls are short, deletes go before creates and creates before reads. Callers are not queued: a
// refused call returns a Throttled error at once, whose After spreads the refused callers over the time
// that the rate needs for them.
func Limit(p provider.Provider, clk clock.Clock, l Limits) provider.Provider {
	limiter := &limiter{clock: clk, limits: l.withDefaults()}
	if l.Writes != nil {
		writes := l.Writes.withDefaults()
		limiter.writes = &writes
	}
	limiter.buckets = kit.NewClients[*bucket](clk, time.Hour, 2000)
	return Calls(p, limiter.around)
}

type limiter struct {
	clock  clock.Clock
	limits Limits
	// writes are the limits of calls that change something; nil: limits are for all.
	writes  *Limits
	buckets *kit.Clients[*bucket]
}

// bucket returns the bucket from which the call takes its token, and its priority: reads with a bucket of
// their own leave no reserve.
func (l *limiter) bucket(ctx context.Context, c Call) (*bucket, priority, error) {
	key, limits, p := c.Account, l.limits, priorityOf(c.Verb)
	switch {
	case l.writes == nil:
	case changes[c.Verb]:
		key, limits = key+"/writes", *l.writes
	default:
		p = deletes
	}
	b, err := l.buckets.Get(ctx, key, func(context.Context) (*bucket, error) {
		return newBucket(limits, l.clock.Now()), nil
	})
	return b, p, err
}

func (l *limiter) around(ctx context.Context, c Call, do func(context.Context) error) error {
	b, p, err := l.bucket(ctx, c)
	if err != nil {
		return fmt.Errorf("rate limit: %w", err)
	}
	wait, granted := b.take(l.clock.Now(), p)
	if !granted {
		return provider.ThrottledFor(wait, uncalled{fmt.Errorf("rate limit of the account: %s waits for its turn", c.Verb)})
	}
	if err := l.hold(ctx, wait); err != nil {
		b.giveBack()
		return uncalled{fmt.Errorf("waiting for the account's rate limit: %w", err)}
	}
	err = do(ctx)
	if provider.KindOf(err) == provider.Throttled {
		b.throttled(l.clock.Now(), provider.AfterOf(err))
	}
	return err
}

// hold waits, or returns ctx's error.
func (l *limiter) hold(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := l.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
