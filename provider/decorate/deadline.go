package decorate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
)

// Deadlines bound how long a call may take.
type Deadlines struct {
	// Read is for calls that only ask, and for the time until a listing has its
	// next item; 0 for a minute. Write is for calls that change something; 0 for
	// 5 minutes.
	Read, Write time.Duration
}

func (d Deadlines) withDefaults() Deadlines {
	if d.Read <= 0 {
		d.Read = time.Minute
	}
	if d.Write <= 0 {
		d.Write = 5 * time.Minute
	}
	return d
}

func (d Deadlines) of(verb string) time.Duration {
	if changes[verb] {
		return d.Write
	}
	return d.Read
}

// grace is what a call that is called off has to return.
const grace = time.Second

// Deadline decorates p so that no call holds its caller for longer than d says.
// What became of a call that took longer is not known: that is a
// [provider.Transient] error.
//
// A call whose context has ended, and that goes on all the same, is left behind.
// Until it returns, nothing else is asked of the same machine by that verb, and
// nothing at all is changed about it if it was to change something: a creation
// that lands late must not land beside another, nor behind a deletion. Leftovers
// are left to their caller's deadline.
func Deadline(p provider.Provider, clk clock.Clock, d Deadlines) provider.Provider {
	b := &bounds{clock: clk, limits: d.withDefaults(), left: map[string]*endless{}}
	return &bounded{Provider: Calls(p, b.around), bounds: b}
}

type bounded struct {
	provider.Provider
	bounds *bounds
}

func (p *bounded) Unwrap() any { return p.Provider }

func (p *bounded) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	if err != nil {
		return nil, err
	}
	return &boundedSession{Session: s, bounds: p.bounds, key: List + "/" + string(provider.KeyOf(class.Credentials, class.Cluster, class.Region))}, nil
}

type boundedSession struct {
	provider.Session
	bounds *bounds
	key    string
}

func (s *boundedSession) Unwrap() any { return s.Session }

// bounds is safe for concurrent use.
type bounds struct {
	clock  clock.Clock
	limits Deadlines

	mu sync.Mutex
	// left are the calls that were left behind.
	left map[string]*endless
}

// endless is a call that may be left behind.
type endless struct {
	verb string
	over bool
}

func (b *bounds) around(ctx context.Context, c Call, do func(context.Context) error) error {
	if c.Verb == List || c.Verb == Leftovers {
		return do(ctx) // it runs in its caller's own loop
	}
	key := keyOf(c)
	if verb := b.before(key); verb != "" {
		return &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: not called: %s has not returned, though it was called off", c.Verb, verb)}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	me, ended := &endless{verb: c.Verb}, make(chan outcomeOf, 1)
	go func() {
		o := run(inner, do)
		b.ends(key, me)
		ended <- o
	}()
	late := b.wait(ctx, ended, b.limits.of(c.Verb))
	if late.why == nil {
		return late.unwrap()
	}
	cancel(late.why)
	// One that heeds its context ends now, and may even have succeeded.
	if o := b.wait(context.WithoutCancel(ctx), ended, grace); o.why == nil {
		if err := o.unwrap(); err == nil || ctx.Err() != nil {
			return err
		}
		return unknown(c.Verb, late.why)
	}
	b.leave(key, me)
	return unknown(c.Verb, late.why)
}

func unknown(verb string, why error) error {
	return &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: called off, its outcome is not known: %w", verb, why)}
}

// keyOf is what is left alone while a call is left behind; empty: nothing is.
func keyOf(c Call) string {
	switch {
	case c.Ref.UID == "":
		return ""
	case changes[c.Verb]:
		return "change/" + c.Ref.UID
	}
	return c.Verb + "/" + c.Ref.UID
}

// outcomeOf is what a call came to; why says that it has not ended, panicked what it
// panicked with.
type outcomeOf struct {
	err, why error
	panicked any
}

// unwrap panics where the call did: its caller knows what to do about that.
func (o outcomeOf) unwrap() error {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

func run(ctx context.Context, do func(context.Context) error) (o outcomeOf) {
	defer func() { o.panicked = recover() }()
	o.err = do(ctx)
	return o
}

func (b *bounds) wait(ctx context.Context, ended <-chan outcomeOf, limit time.Duration) outcomeOf {
	timer := b.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-ended:
		return o
	case <-timer.C():
		return outcomeOf{why: fmt.Errorf("no answer in %v", limit)}
	case <-ctx.Done():
		return outcomeOf{why: context.Cause(ctx)}
	}
}

// before is the verb of the call that was left behind; empty when none was.
func (b *bounds) before(key string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.left[key]; e != nil {
		return e.verb
	}
	return ""
}

func (b *bounds) leave(key string, me *endless) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if key != "" && !me.over {
		b.left[key] = me
	}
}

func (b *bounds) ends(key string, me *endless) {
	b.mu.Lock()
	defer b.mu.Unlock()
	me.over = true
	if b.left[key] == me {
		delete(b.left, key)
	}
}

// errNotWanted ends a listing of which no more is wanted.
var errNotWanted = errors.New("no more is wanted")

// List has a deadline for each item, so that it may take as long as it gets on.
func (s *boundedSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		b := s.bounds
		if b.before(s.key) != "" {
			yield(provider.Instance{}, &provider.Error{Kind: provider.Transient, Err: errors.New("list: not called: an earlier one has not returned, though it was called off")})
			return
		}
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(errNotWanted)
		me, items := &endless{verb: List}, make(chan item)
		go s.fetch(inner, me, items)
		for {
			i := b.next(ctx, items)
			if i.late != nil {
				cancel(i.late)
				b.leave(s.key, me)
				yield(provider.Instance{}, unknown(List, i.late))
				return
			}
			if i.panicked != nil {
				panic(i.panicked)
			}
			if i.last || !yield(i.instance, i.err) || i.err != nil {
				return
			}
		}
	}
}

// item is one of a listing, or its end; late says that none came.
type item struct {
	instance provider.Instance
	err      error
	last     bool
	late     error
	panicked any
}

// fetch runs the listing until inner ends.
func (s *boundedSession) fetch(inner context.Context, me *endless, items chan<- item) {
	give := func(i item) bool {
		select {
		case items <- i:
			return true
		case <-inner.Done():
			return false
		}
	}
	o := run(inner, func(ctx context.Context) error {
		for i, err := range s.Session.List(ctx) {
			if !give(item{instance: i, err: err}) || err != nil {
				break
			}
		}
		return nil
	})
	s.bounds.ends(s.key, me)
	give(item{last: true, panicked: o.panicked})
}

func (b *bounds) next(ctx context.Context, items <-chan item) item {
	timer := b.clock.NewTimer(b.limits.Read)
	defer timer.Stop()
	select {
	case i := <-items:
		return i
	case <-timer.C():
		return item{late: fmt.Errorf("no answer in %v", b.limits.Read)}
	case <-ctx.Done():
		return item{late: context.Cause(ctx)}
	}
}
