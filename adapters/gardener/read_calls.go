package gardener

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

const (
	// lookTimeout limits a read call, lookPatience is how long a worker waits for one.
	lookTimeout, lookPatience = 10 * time.Minute, 20 * time.Second
	// stale is the maximum age of an answer for which no caller waited.
	stale = time.Minute
)

// readCalls are the drivers' read calls, in the background: some drivers take minutes for them. It is safe
// for concurrent use.
type readCalls struct {
	clock clock.WithTicker
	calls *background.Calls

	mu       sync.Mutex
	answered map[string]answered
	// changes counts changes. changed has, by subject, the count when the last change of the subject began or
	// ended.
	changes uint64
	changed map[string]change
}

// change is the beginning or the end of a change.
type change struct {
	number uint64
	at     time.Time
}

// answered is the result of a read; changes is the count of changes when it began.
type answered struct {
	found   []provider.Instance
	err     error
	changes uint64
	at      time.Time
}

func newReadCalls(life context.Context, clk clock.WithTicker) *readCalls {
	return &readCalls{
		clock: clk, calls: background.New(life, clk, lookTimeout, "driver"),
		answered: map[string]answered{}, changed: map[string]change{},
	}
}

// touch records the beginning or the end of a change of the key's subject: a read that began before it is out
// of date.
func (l *readCalls) touch(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	maps.DeleteFunc(l.changed, func(_ string, c change) bool { return now.Sub(c.at) > 2*lookTimeout })
	l.changes++
	l.changed[key] = change{number: l.changes, at: now}
}

// sofar is the count of changes.
func (l *readCalls) sofar() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

func (l *readCalls) answer(key string, a answered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.at = l.clock.Now()
	maps.DeleteFunc(l.answered, func(_ string, old answered) bool { return a.at.Sub(old.at) > stale })
	l.answered[key] = a
}

// last is the last result, unless it is too old or the subject has changed since the read began.
func (l *readCalls) last(key string) (answered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.answered[key]
	a.found = slices.Clone(a.found)
	return a, ok && l.clock.Now().Sub(a.at) < stale && l.changed[key].number <= a.changes
}

// ask reads with look, and waits a while for the result. Concurrent callers for the same key share a call. If
// the driver has not answered yet, ask returns a Transient error, and the next caller gets the result.
func (l *readCalls) ask(ctx context.Context, key string, t background.Task, look func(context.Context) ([]provider.Instance, error)) ([]provider.Instance, error) {
	for {
		c := l.calls.Begin(key, t, func(ctx context.Context) error { return l.see(ctx, key, look) })
		if c.Task != t {
			return nil, provider.Errorf(provider.Transient, "the %s with another spec, other credentials or for another machine of the name is in progress", c.Verb)
		}
		patience := lookPatience
		if l.clock.Since(c.Began) >= lookPatience {
			patience = background.Patience / 2 // an earlier caller has waited for it
		}
		ended, err := l.calls.Ends(ctx, c, patience)
		switch {
		case err != nil:
			return nil, err
		case !ended:
			return nil, provider.Errorf(provider.Transient, "the driver has not answered since %v ago", l.clock.Since(c.Began).Round(time.Second))
		}
		if err := l.calls.Take(key, c); err != nil {
			return nil, err
		}
		if a, fresh := l.last(key); fresh {
			return a.found, a.err
		}
	}
}

// see calls look, and stores the result.
func (l *readCalls) see(ctx context.Context, key string, look func(context.Context) ([]provider.Instance, error)) error {
	a := answered{changes: l.sofar()}
	a.found, a.err = look(ctx)
	l.answer(key, a)
	return ctx.Err()
}

// digest distinguishes specs and credentials.
func digest(c provider.Class) string {
	h := sha256.New()
	h.Write(c.Spec)
	for _, key := range slices.Sorted(maps.Keys(c.Credentials)) {
		h.Write([]byte("\x00" + key + "\x00"))
		h.Write(c.Credentials[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
