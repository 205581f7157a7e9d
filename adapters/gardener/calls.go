package gardener

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
)

// verb is what a driver's call changes.
type verb string

const (
	creating     verb = "creation"
	initializing verb = "initialization"
	deleting     verb = "removal"
)

// calls are those of a driver that change something. They run beside the workers, one at a time for
// each key: what is under way for a machine's name is waited for, and never joined by another. It
// is safe for concurrent use.
type calls struct {
	clock clock.WithTicker
	// life ends all calls, timeout each of them. A call that does not heed its context stays
	// under way until it returns.
	life    context.Context
	timeout time.Duration

	mu  sync.Mutex
	all map[string]*call
}

// call is one that is under way, or whose outcome nobody has taken yet.
type call struct {
	verb  verb
	uid   string // of the machine; empty: it is for an instance by itself
	what  string // is changed, where that is not the machine's instance as a whole
	began time.Time
	ended chan struct{}
	err   error // once ended
	stop  context.CancelCauseFunc
}

// untaken is for how long the outcome of a call is kept that nobody asks for.
const untaken = time.Hour

func newCalls(life context.Context, clk clock.WithTicker, timeout time.Duration) *calls {
	return &calls{clock: clk, life: life, timeout: timeout, all: map[string]*call{}}
}

// of is the call that is under way for the key; nil where there is none.
func (c *calls) of(key string) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.all[key]; one != nil && one.underWay() {
		return one
	}
	return nil
}

// is reports whether both calls are for the same.
func (one *call) is(v verb, uid, what string) bool {
	return one.verb == v && one.uid == uid && one.what == what
}

// begin begins a call, unless there is one of the key already, which it returns: under way, or with
// an outcome for the same that was not taken yet.
func (c *calls) begin(key string, v verb, uid, what string, do func(context.Context) error) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	maps.DeleteFunc(c.all, func(_ string, one *call) bool { return !one.underWay() && now.Sub(one.began) > c.timeout+untaken })
	if one := c.all[key]; one != nil && (one.underWay() || one.is(v, uid, what)) {
		return one
	}
	ctx, stop := context.WithCancelCause(c.life)
	one := &call{verb: v, uid: uid, what: what, began: now, ended: make(chan struct{}), stop: stop}
	c.all[key] = one
	go c.run(ctx, one, do)
	return one
}

// run makes the call. A driver that panics has failed, and takes nothing else with it.
func (c *calls) run(ctx context.Context, one *call, do func(context.Context) error) {
	defer one.stop(nil)
	late := c.clock.NewTimer(c.timeout)
	defer late.Stop()
	go func() {
		select {
		case <-late.C():
			one.stop(fmt.Errorf("the %s has taken longer than %v", one.verb, c.timeout))
		case <-one.ended:
		}
	}()
	err := sheltered(ctx, do)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = provider.Errorf(provider.Transient, "%w: %w", cause, err)
	}
	one.err = err
	close(one.ended)
}

func sheltered(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = provider.Errorf(provider.Transient, "the driver panicked: %v", p)
		}
	}()
	return do(ctx)
}

// take forgets the call, whose outcome the caller passes on.
func (c *calls) take(key string, one *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[key] == one {
		delete(c.all, key)
	}
	return one.err
}

// patience is how long a worker waits for a call that runs beside it: what fails does so at once.
const patience = 2 * time.Second

// ends waits until the call has ended, with patience, and reports whether it has. An error is that of
// a caller who gave up.
func (c *calls) ends(ctx context.Context, one *call) (bool, error) {
	late := c.clock.NewTimer(patience)
	defer late.Stop()
	select {
	case <-one.ended:
		return true, nil
	case <-late.C():
		return false, nil
	case <-ctx.Done():
		return false, &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("the %s is under way, its outcome is not known: %w", one.verb, context.Cause(ctx))}
	}
}

func (one *call) underWay() bool {
	select {
	case <-one.ended:
		return false
	default:
		return true
	}
}
