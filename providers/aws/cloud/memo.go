package cloud

import (
	"context"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// memo remembers answers for a while. Callers that want the same at the same time wait for one answer. What failed is
// not remembered.
type memo[V any] struct {
	clock provider.Clock
	age   time.Duration

	mu    sync.Mutex
	known map[string]*answer[V]
}

type answer[V any] struct {
	mu    sync.Mutex
	until time.Time
	value V
}

func newMemo[V any](clock provider.Clock, age time.Duration) *memo[V] {
	return &memo[V]{clock: clock, age: age, known: map[string]*answer[V]{}}
}

func (m *memo[V]) entry(key string) *answer[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) > mostKnown { // specs that come and go
		m.known = map[string]*answer[V]{}
	}
	a, ok := m.known[key]
	if !ok {
		a = &answer[V]{}
		m.known[key] = a
	}
	return a
}

const mostKnown = 1000

// get is what is known under the key, or what ask says.
func (m *memo[V]) get(ctx context.Context, key string, ask func(context.Context) (V, error)) (V, error) {
	a := m.entry(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.clock.Now().Before(a.until) {
		return a.value, nil
	}
	value, err := ask(ctx)
	if err != nil {
		return value, err
	}
	a.value, a.until = value, m.clock.Now().Add(m.age)
	return value, nil
}

// forget makes the next get ask.
func (m *memo[V]) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// know remembers an empty answer, and knows tells whether one is remembered.
func (m *memo[V]) know(key string) {
	a := m.entry(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = m.clock.Now().Add(m.age)
}

func (m *memo[V]) knows(key string) bool {
	a := m.entry(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	return m.clock.Now().Before(a.until)
}
