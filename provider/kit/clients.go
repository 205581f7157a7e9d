package kit

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Clients keeps the clients of an infrastructure's SDK, one per [provider.ClientKey], so
// that sessions stay cheap and connections and tokens are shared. It is safe
// for concurrent use.
//
// A client that is dropped may still be in use by a session; it is left to the
// garbage collector, not closed.
type Clients[C any] struct {
	clock provider.Clock
	idle  time.Duration
	limit int

	mu      sync.Mutex
	entries map[provider.ClientKey]*client[C]
}

type client[C any] struct {
	used  time.Time
	made  time.Time     // when its build began
	ready chan struct{} // closed once value and err are set
	value C
	err   error
}

// NewClients returns an empty cache that drops each client that was not used during idle, and the least
// recently used one when there are more than limit. The default of idle is an hour, that of limit is 100
// clients.
func NewClients[C any](clock provider.Clock, idle time.Duration, limit int) *Clients[C] {
	if idle <= 0 {
		idle = time.Hour
	}
	if limit <= 0 {
		limit = 100
	}
	return &Clients[C]{clock: clock, idle: idle, limit: limit, entries: map[provider.ClientKey]*client[C]{}}
}

var errNotBuilt = errors.New("the client's constructor did not return")

// Get returns the client for key, and builds a missing one. Concurrent callers share one build; a
// build that fails is forgotten. A caller whose ctx ends stops waiting. If a build ends because of its own
// caller's ctx, the next caller builds.
func (c *Clients[C]) Get(ctx context.Context, key provider.ClientKey, build func(context.Context) (C, error)) (C, error) {
	for {
		e, mine := c.entry(key)
		if mine {
			return c.fill(ctx, key, e, build)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			var none C
			return none, ctx.Err()
		}
		if !abandoned(e.err) || ctx.Err() != nil {
			return e.value, e.err
		}
	}
}

func abandoned(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// entry returns the entry for key; mine says that the caller has to fill it.
func (c *Clients[C]) entry(key provider.ClientKey) (e *client[C], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	maps.DeleteFunc(c.entries, func(_ provider.ClientKey, e *client[C]) bool { return now.Sub(e.used) > c.idle })
	if e, ok := c.entries[key]; ok {
		e.used = now
		return e, false
	}
	for len(c.entries) >= c.limit {
		c.dropOldest()
	}
	e = &client[C]{used: now, made: now, ready: make(chan struct{}), err: errNotBuilt}
	c.entries[key] = e
	return e, true
}

func (c *Clients[C]) dropOldest() {
	var oldest provider.ClientKey
	for k, e := range c.entries {
		o, ok := c.entries[oldest]
		if !ok || e.used.Before(o.used) || e.used.Equal(o.used) && k < oldest {
			oldest = k
		}
	}
	delete(c.entries, oldest)
}

// fill builds the client. The deferred part also runs when build panics, so that no caller waits forever.
func (c *Clients[C]) fill(ctx context.Context, key provider.ClientKey, e *client[C], build func(context.Context) (C, error)) (C, error) {
	defer func() {
		if e.err != nil {
			c.forget(key, e)
		}
		close(e.ready)
	}()
	e.value, e.err = build(ctx)
	return e.value, e.err
}

// Forget drops the client for key, so that the next Get builds another.
func (c *Clients[C]) Forget(key provider.ClientKey) { c.forget(key, nil) }

// forget drops the entry for key if it is e; with a nil e it drops any entry.
func (c *Clients[C]) forget(key provider.ClientKey, e *client[C]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e == nil || c.entries[key] == e {
		delete(c.entries, key)
	}
}

// heldFor is how long a new client is kept although it is denied. Many callers may have been denied at the
// same time; without it the last report would drop the client that was rebuilt after the first.
const heldFor = 5 * time.Second

// Observe drops the client for key when err is [provider.Denied], unless the client is a few seconds old, and returns err:
//
//	return clients.Observe(key, classify(err))
func (c *Clients[C]) Observe(key provider.ClientKey, err error) error {
	if provider.KindOf(err) != provider.Denied {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && c.clock.Now().Sub(e.made) >= heldFor {
		delete(c.entries, key)
	}
	return err
}
