package kit

import (
	"context"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Memo remembers for a while what was read of an infrastructure, by key. It is safe for concurrent use. What it gives out is
// shared, and not to be changed.
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

// mostRemembered is how many keys there are before all is forgotten: specs come and go, and what they named with them.
const mostRemembered = 10_000

// NewMemo returns an empty memo, which remembers each answer for age.
func NewMemo[V any](clock provider.Clock, age time.Duration) *Memo[V] {
	return &Memo[V]{clock: clock, age: age, known: map[string]*memory[V]{}}
}

// Get returns what is remembered under key, or else what ask returns, which is remembered unless it is an error. Of callers
// that come while one asks, the next asks if that fails. A caller whose ctx ends stops waiting.
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

// Put remembers value under key.
func (m *Memo[V]) Put(key string, value V) { m.keep(m.at(key), value) }

// Recall returns what is remembered under key, if anything is.
func (m *Memo[V]) Recall(key string) (value V, ok bool) {
	m.mu.Lock()
	one := m.known[key]
	m.mu.Unlock()
	if one == nil {
		return value, false
	}
	return m.recall(one)
}

// Forget makes the next Get ask. An answer that somebody waits for by now is not remembered.
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
