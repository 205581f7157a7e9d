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

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

const (
	// lookTimeout bounds a call that changes nothing, lookPatience is how long a worker waits for one.
	lookTimeout, lookPatience = 10 * time.Minute, 20 * time.Second
	// stale is how old an answer may be that nobody has waited for.
	stale = time.Minute
)

// looks are what drivers are asked that changes nothing, beside the workers: some take minutes for it. It is safe for
// concurrent use.
type looks struct {
	clock clock.WithTicker
	calls *beside.Calls

	mu       sync.Mutex
	answered map[string]answered
	// changes counts what was changed, changed has by what it is for how many that were when a call for it last began or ended.
	changes uint64
	changed map[string]change
}

// change is one that began or ended.
type change struct {
	number uint64
	at     time.Time
}

// answered is what came of a look; changes is how many there were when it began.
type answered struct {
	found   []provider.Instance
	err     error
	changes uint64
	at      time.Time
}

func newLooks(life context.Context, clk clock.WithTicker) *looks {
	return &looks{
		clock: clk, calls: beside.New(life, clk, lookTimeout, "driver"),
		answered: map[string]answered{}, changed: map[string]change{},
	}
}

// touch notes that something is being changed, or was, of what the key is for: a look that began before tells of what was.
func (l *looks) touch(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	maps.DeleteFunc(l.changed, func(_ string, c change) bool { return now.Sub(c.at) > 2*lookTimeout })
	l.changes++
	l.changed[key] = change{number: l.changes, at: now}
}

// sofar is how many changes there were.
func (l *looks) sofar() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

func (l *looks) answer(key string, a answered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.at = l.clock.Now()
	maps.DeleteFunc(l.answered, func(_ string, old answered) bool { return a.at.Sub(old.at) > stale })
	l.answered[key] = a
}

// last is what was answered, unless that was too long ago, or something was changed since it was asked.
func (l *looks) last(key string) (answered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.answered[key]
	a.found = slices.Clone(a.found)
	return a, ok && l.clock.Now().Sub(a.at) < stale && l.changed[key].number <= a.changes
}

// ask asks the driver by look about what the key is for, and waits a while for the answer. Who asks the same meanwhile waits for the same
// answer. What the driver has not answered yet is a Transient error, and is told to who asks next.
func (l *looks) ask(ctx context.Context, key string, t beside.Task, look func(context.Context) ([]provider.Instance, error)) ([]provider.Instance, error) {
	for {
		c := l.calls.Begin(key, t, func(ctx context.Context) error { return l.see(ctx, key, look) })
		if c.Task != t {
			return nil, provider.Errorf(provider.Transient, "the %s with another spec, other credentials or for another machine of the name is under way", c.Verb)
		}
		patience := lookPatience
		if l.clock.Since(c.Began) >= lookPatience {
			patience = beside.Patience / 2 // it was waited for before
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

// see looks, and keeps what is answered.
func (l *looks) see(ctx context.Context, key string, look func(context.Context) ([]provider.Instance, error)) error {
	a := answered{changes: l.sofar()}
	a.found, a.err = look(ctx)
	l.answer(key, a)
	return ctx.Err()
}

// digest tells specs with their credentials apart.
func digest(c provider.Class) string {
	h := sha256.New()
	h.Write(c.Spec)
	for _, key := range slices.Sorted(maps.Keys(c.Credentials)) {
		h.Write([]byte("\x00" + key + "\x00"))
		h.Write(c.Credentials[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
