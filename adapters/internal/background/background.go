// Package background runs calls of third-party code in the background: a driver or an actuator blocks until a
// call is complete, and the engine's calls must return promptly.
package background

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
)

// Task describes a call.
type Task struct {
	// Verb is a noun for messages: "creation".
	Verb string
	// UID is the UID of the machine; empty: the call is for an instance alone.
	UID string
	// What is changed, if it is not the machine's instance as a whole.
	What string
}

// Calls runs calls in the background, one at a time for each key. It is safe for concurrent use.
type Calls struct {
	clock clock.WithTicker
	// life ends all calls, timeout each of them. A call that ignores its context stays in progress until it
	// returns.
	life    context.Context
	timeout time.Duration
	// whose names the callee in messages: "driver".
	whose string

	mu  sync.Mutex
	all map[string]*Call
}

// Call is a call in progress, or a finished one whose outcome no caller has taken yet.
type Call struct {
	Task
	Began time.Time
	ended chan struct{}
	err   error // after the end
	stop  context.CancelCauseFunc
}

// untaken is how long the outcome of a call is kept for a caller.
const untaken = time.Hour

// New returns Calls. whose names the callee in messages: "driver". The calls end with life, and each after
// the timeout, if they respect their contexts.
func New(life context.Context, clk clock.WithTicker, timeout time.Duration, whose string) *Calls {
	return &Calls{clock: clk, life: life, timeout: timeout, whose: whose, all: map[string]*Call{}}
}

// Of returns the call in progress for the key, or nil.
func (c *Calls) Of(key string) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.all[key]; one != nil && one.underWay() {
		return one
	}
	return nil
}

// Do begins a call, waits a moment for it, and reports whether it has ended. If it has not, the next Do for
// the same task returns the outcome. Another call of the key is a Conflict. what names the instance in
// messages: "an instance named m-1".
func (c *Calls) Do(ctx context.Context, key, what string, t Task, do func(context.Context) error) (one *Call, ended bool, err error) {
	one = c.Begin(key, t, do)
	if one.Task != t {
		return one, false, one.conflict(what)
	}
	ended, err = c.Ends(ctx, one, Patience)
	switch {
	case err != nil:
		c.Abandon(key, one, err)
	case ended:
		err = c.Take(key, one)
	}
	return one, ended, err
}

// ErrLeft is the result of a deletion that was accepted while the instance still exists: the call is
// repeated.
var ErrLeft = errors.New("it still exists")

// Remove is Do for a deletion, and reports whether it is complete. It stops other calls for the machine, so
// that no creation continues after a deletion.
func (c *Calls) Remove(ctx context.Context, key, what string, t Task, do func(context.Context) error) (done bool, err error) {
	if err := c.callOff(ctx, key, t); err != nil {
		return false, err
	}
	one := c.Begin(key, t, do)
	if one.Verb != t.Verb {
		return false, one.conflict(what)
	}
	ended, err := c.Ends(ctx, one, Patience)
	if err != nil || !ended {
		return false, err
	}
	err = c.Take(key, one)
	if errors.Is(err, ErrLeft) || one.Task != t {
		return false, nil // the call is repeated
	}
	return err == nil, err
}

func (c *Calls) callOff(ctx context.Context, key string, removal Task) error {
	one := c.Of(key)
	if one == nil || one.Verb == removal.Verb || one.UID != removal.UID {
		return nil
	}
	one.Stop(errors.New("its machine is being deleted"))
	ended, err := c.Ends(ctx, one, Patience)
	if err == nil && !ended {
		err = provider.Errorf(provider.Conflict, "the %s has not yet stopped the %s of the instance", c.whose, one.Verb)
	}
	return err
}

func (one *Call) conflict(what string) error {
	return provider.Errorf(provider.Conflict, "the %s of %s is in progress", one.Verb, what)
}

// Begin begins a call, unless the key has one: then it returns that, in progress or with an untaken outcome
// of the same task.
func (c *Calls) Begin(key string, t Task, do func(context.Context) error) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	maps.DeleteFunc(c.all, func(_ string, one *Call) bool { return !one.underWay() && now.Sub(one.Began) > c.timeout+untaken })
	if one := c.all[key]; one != nil && (one.underWay() || one.Task == t) {
		return one
	}
	ctx, stop := context.WithCancelCause(c.life)
	one := &Call{Task: t, Began: now, ended: make(chan struct{}), stop: stop}
	c.all[key] = one
	go c.run(ctx, one, do)
	return one
}

// run makes the call. A panic is an error of this call alone.
func (c *Calls) run(ctx context.Context, one *Call, do func(context.Context) error) {
	defer one.stop(nil)
	late := c.clock.NewTimer(c.timeout)
	defer late.Stop()
	go func() {
		select {
		case <-late.C():
			one.stop(fmt.Errorf("the %s has taken longer than %v", one.Verb, c.timeout))
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
			err = provider.Errorf(provider.Transient, "the call panicked: %v", p)
		}
	}()
	return do(ctx)
}

// Take forgets the call; the caller reports its outcome.
func (c *Calls) Take(key string, one *Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[key] == one {
		delete(c.all, key)
	}
	return one.err
}

// Patience is how long a worker waits for a changing call: failures usually return at once.
const Patience = 2 * time.Second

// Ends waits up to patience until the call has ended, and reports whether it has. It returns an error if ctx
// ends first.
func (c *Calls) Ends(ctx context.Context, one *Call, patience time.Duration) (bool, error) {
	late := c.clock.NewTimer(patience)
	defer late.Stop()
	select {
	case <-one.ended:
		return true, nil
	case <-late.C():
		return false, nil
	case <-ctx.Done():
		return false, &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("the %s is in progress, its outcome is unknown: %w", one.Verb, context.Cause(ctx))}
	}
}

// Stop cancels the call with a cause.
func (one *Call) Stop(why error) { one.stop(why) }

// Abandon stops the call after its caller was canceled. The caller got an error, so the outcome stays
// unknown.
func (c *Calls) Abandon(key string, one *Call, why error) {
	one.stop(why)
	select {
	case <-one.ended:
		_ = c.Take(key, one)
	case <-c.clock.After(Patience):
	}
}

func (one *Call) underWay() bool {
	select {
	case <-one.ended:
		return false
	default:
		return true
	}
}
