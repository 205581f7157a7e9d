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

// Deadlines limit the duration of a call.
type Deadlines struct {
	// Read is for calls that only read, and for the time until a listing has its next item; 0 for a minute.
	// Write is for calls that change something; 0 for 5 minutes.
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

// Operations that have a deadline and are no [Call].
const (
	open    = "open"
	account = "account"
)

// grace is the time in which a canceled call has to return.
const grace = time.Second

// Deadline decorates p so that no call holds its caller for longer than d says. The result of a call that
// took longer is unknown: that is a [provider.Transient] error.
//
// A call that continues after its context has ended is left behind. Until it returns, no other call of the
// same verb begins for the machine. If the call left behind was a change, no other change of the machine
// begins either: a late creation must not take effect beside another creation, nor after a deletion.
// Requests of Open, and of Account, have a deadline, too.
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
	n := &interception{around: p.bounds.around}
	s, err := asked(ctx, n, open, provider.Ref{}, func(ctx context.Context) (provider.Session, error) {
		return p.Provider.Open(ctx, class)
	})
	if err != nil {
		return nil, err
	}
	return &boundedSession{Session: s, bounds: p.bounds, account: provider.KeyOf(class.Credentials, class.Cluster, class.Region)}, nil
}

type boundedSession struct {
	provider.Session
	bounds  *bounds
	account provider.ClientKey
}

// key identifies the listings of the verb: while one is left behind, no other begins.
func (s *boundedSession) key(verb string) string { return verb + "/" + string(s.account) }

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
	// A call that obeys its context ends now, and may even have succeeded.
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

// keyOf is the key of the calls that must wait while this one is left behind; empty: none.
func keyOf(c Call) string {
	switch {
	case c.Ref.UID == "":
		return ""
	case changes[c.Verb]:
		return "change/" + c.Ref.UID
	}
	return c.Verb + "/" + c.Ref.UID
}

// outcomeOf is the result of a call; why says that it has not ended, panicked is the value of its panic.
type outcomeOf struct {
	err, why error
	panicked any
}

// unwrap panics if the call panicked: its caller knows how to handle that.
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

// before is the verb of the call that was left behind; empty without one.
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

// errNotWanted ends a listing whose caller has stopped reading.
var errNotWanted = errors.New("no more is wanted")

// List has a deadline for each item, so that a listing may take long while it makes progress.
func (s *boundedSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return listed(ctx, s.bounds, List, s.key(List), s.Session.List)
}

// Account has a deadline, too.
func (s *boundedSession) Account(ctx context.Context) (string, error) {
	n := &interception{around: s.bounds.around}
	return asked(ctx, n, account, provider.Ref{}, s.Session.Account)
}

// As sets a deadline for each item of Leftovers.
func (s *boundedSession) As(target any) bool {
	t, ok := target.(*provider.LeftoverLister)
	if !ok {
		return false
	}
	inner, ok := provider.As[provider.LeftoverLister](s.Session)
	*t = boundedLister{s, inner}
	return ok
}

type boundedLister struct {
	session *boundedSession
	inner   provider.LeftoverLister
}

func (l boundedLister) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return listed(ctx, l.session.bounds, Leftovers, l.session.key(Leftovers), l.inner.Leftovers)
}

// listed is a listing with a deadline for each item.
func listed[T any](ctx context.Context, b *bounds, verb, key string, list func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if b.before(key) != "" {
			yield(none, &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: not called: an earlier one has not returned, though it was called off", verb)})
			return
		}
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(errNotWanted)
		me, items := &endless{verb: verb}, make(chan item[T])
		go fetch(inner, items, list, func() { b.ends(key, me) })
		for {
			i := next(ctx, b, items)
			if i.late != nil {
				cancel(i.late)
				b.leave(key, me)
				yield(none, unknown(verb, i.late))
				return
			}
			if i.panicked != nil {
				panic(i.panicked)
			}
			if i.last || !yield(i.value, i.err) || i.err != nil {
				return
			}
		}
	}
}

// item is an item of a listing, or its end; late says that none arrived in time.
type item[T any] struct {
	value    T
	err      error
	last     bool
	late     error
	panicked any
}

// fetch runs the listing until inner ends.
func fetch[T any](inner context.Context, items chan<- item[T], list func(context.Context) iter.Seq2[T, error], over func()) {
	give := func(i item[T]) bool {
		select {
		case items <- i:
			return true
		case <-inner.Done():
			return false
		}
	}
	o := run(inner, func(ctx context.Context) error {
		for i, err := range list(ctx) {
			if !give(item[T]{value: i, err: err}) || err != nil {
				break
			}
		}
		return nil
	})
	over()
	give(item[T]{last: true, panicked: o.panicked})
}

func next[T any](ctx context.Context, b *bounds, items <-chan item[T]) item[T] {
	timer := b.clock.NewTimer(b.limits.Read)
	defer timer.Stop()
	select {
	case i := <-items:
		return i
	case <-timer.C():
		return item[T]{late: fmt.Errorf("no answer in %v", b.limits.Read)}
	case <-ctx.Done():
		return item[T]{late: context.Cause(ctx)}
	}
}
