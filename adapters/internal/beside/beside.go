// Package beside makes calls of others' code beside the workers: a driver and an actuator block for
// as long as it takes, and the engine's calls return promptly.
package beside

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

// Task is what a call is for.
type Task struct {
	// Verb is a noun for messages: "creation".
	Verb string
	// UID is that of the machine; empty: it is for an instance by itself.
	UID string
	// What is changed, where that is not the machine's instance as a whole.
	What string
}

// Calls run beside the workers, one at a time for each key: what is under way for a machine is
// waited for, and never joined by another. It is safe for concurrent use.
type Calls struct {
	clock clock.WithTicker
	// life ends all calls, timeout each of them. A call that does not heed its context stays
	// under way until it returns.
	life    context.Context
	timeout time.Duration
	// whose are the calls, for messages: "driver".
	whose string

	mu  sync.Mutex
	all map[string]*Call
}

// Call is one that is under way, or whose outcome nobody has taken yet.
type Call struct {
	Task
	Began time.Time
	ended chan struct{}
	err   error // once ended
	stop  context.CancelCauseFunc
}

// untaken is for how long the outcome of a call is kept that nobody asks for.
const untaken = time.Hour

// New returns calls of whose code they are, a noun for messages: "driver". They end with life, and each after the timeout, as far as
// they heed their contexts.
func New(life context.Context, clk clock.WithTicker, timeout time.Duration, whose string) *Calls {
	return &Calls{clock: clk, life: life, timeout: timeout, whose: whose, all: map[string]*Call{}}
}

// Of is the call that is under way for the key; nil where there is none.
func (c *Calls) Of(key string) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.all[key]; one != nil && one.underWay() {
		return one
	}
	return nil
}

// Do begins a call and waits a moment for it, and reports whether it has ended. What comes of one that has not is told by the next Do
// for the same. While the key has another call it is a Conflict; what names the instance in messages: "an instance named m-1".
func (c *Calls) Do(ctx context.Context, key, what string, t Task, do func(context.Context) error) (one *Call, ended bool, err error) {
	one = c.Begin(key, t, do)
	if one.Task != t {
		return one, false, one.conflict(what)
	}
	ended, err = c.Ends(ctx, one, Patience)
	switch {
	case err != nil:
		c.GiveUp(key, one, err)
	case ended:
		err = c.Take(key, one)
	}
	return one, ended, err
}

// ErrLeft is what a removal returns that was accepted while the instance is still there: it is asked for again.
var ErrLeft = errors.New("it is still there")

// Remove is Do for a removal, and reports whether that is done. It calls off what else is under way for the machine: a removal must
// not be followed by what a creation still makes.
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
		return false, nil // it is asked for again
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
		err = provider.Errorf(provider.Conflict, "the %s was told to stop the %s of the instance, and has not returned yet", c.whose, one.Verb)
	}
	return err
}

func (one *Call) conflict(what string) error {
	return provider.Errorf(provider.Conflict, "the %s of %s is under way", one.Verb, what)
}

// Begin begins a call, unless there is one of the key already, which it returns: under way, or with
// an outcome for the same that was not taken yet.
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

// run makes the call. One that panics has failed, and takes nothing else with it.
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

// Take forgets the call, whose outcome the caller passes on.
func (c *Calls) Take(key string, one *Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[key] == one {
		delete(c.all, key)
	}
	return one.err
}

// Patience is how long a worker waits for a call that changes something: what fails does so at once.
const Patience = 2 * time.Second

// Ends waits until the call has ended, for so long, and reports whether it has. An error is that of
// a caller who gave up.
func (c *Calls) Ends(ctx context.Context, one *Call, patience time.Duration) (bool, error) {
	late := c.clock.NewTimer(patience)
	defer late.Stop()
	select {
	case <-one.ended:
		return true, nil
	case <-late.C():
		return false, nil
	case <-ctx.Done():
		return false, &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("the %s is under way, its outcome is not known: %w", one.Verb, context.Cause(ctx))}
	}
}

// Stop tells the call to end, and why.
func (one *Call) Stop(why error) { one.stop(why) }

// GiveUp stops the call of a caller who has gone. What comes of it was told: its outcome is not known.
func (c *Calls) GiveUp(key string, one *Call, why error) {
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
