package kit

import (
	"context"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Memo caches answers of an infrastructure, by key. It is safe for concurrent use. The returned values are
// shared: do not change them.
type Memo[V any] struct {
	clock provider.Clock
	age   time.Duration

	mu    sync.Mutex
	known map[string]*memory[V]
}

type memory[V any] struct {
	turn  chan struct{} // full while one caller asks
	until time.Time
	value V
}

// mostRemembered is the number of keys at which all are forgotten: specs, and the names in them, come and
// go.
const mostRemembered = 10_000

// NewMemo returns an empty memo, which keeps each answer for age.
func NewMemo[V any](clock provider.Clock, age time.Duration) *Memo[V] {
	return &Memo[V]{clock: clock, age: age, known: map[string]*memory[V]{}}
}

// Get returns the value cached under key, or the result of ask, which is cached unless it is an error.
// Callers wait while one asks; if that fails, the next one asks. A caller whose ctx ends stops waiting.
func (m *Memo[V]) Get(ctx context.Context, key string, ask func(context.Context) (V, error)) (V, error) {
	one := m.at(key)
	if value, ok := m.recall(one); ok {
		return value, nil
	}
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
	if value, ok := m.recall(one); ok {
		return value, nil
	}
	value, err := ask(ctx)
	if err == nil {
		m.keep(one, value)
	}
	return value, err
}

// GetAs is Get for a memo of several types. Keys of different types differ.
func GetAs[T any](ctx context.Context, m *Memo[any], key string, ask func(context.Context) (T, error)) (T, error) {
	value, err := m.Get(ctx, key, func(ctx context.Context) (any, error) { return ask(ctx) })
	typed, _ := value.(T)
	return typed, err
}

// Put caches value under key.
func (m *Memo[V]) Put(key string, value V) { m.keep(m.at(key), value) }

// Recall returns the value cached under key, if any.
func (m *Memo[V]) Recall(key string) (value V, ok bool) {
	m.mu.Lock()
	one := m.known[key]
	m.mu.Unlock()
	if one == nil {
		return value, false
	}
	return m.recall(one)
}

// Forget makes the next Get ask. An answer for which callers are already waiting is not cached.
func (m *Memo[V]) Forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// ForgetAll is Forget for every key.
func (m *Memo[V]) ForgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
}

func (m *Memo[V]) at(key string) *memory[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, ok := m.known[key]
	if !ok {
		if len(m.known) >= mostRemembered {
			clear(m.known)
		}
		one = &memory[V]{turn: make(chan struct{}, 1)}
		m.known[key] = one
	}
	return one
}

func (m *Memo[V]) recall(one *memory[V]) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return one.value, m.clock.Now().Before(one.until)
}

func (m *Memo[V]) keep(one *memory[V], value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.value, one.until = value, m.clock.Now().Add(m.age)
}
