package cloud

import (
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// memo remembers where things of the inventory are: datacenters, folders, templates, which rarely move. Every clone
// names a dozen of them.
type memo struct {
	clock provider.Clock

	mu   sync.Mutex
	seen map[string]remembered
}

type remembered struct {
	at    time.Time
	value any
}

// memoAge is how long something is believed to be where it was.
const memoAge = time.Minute

func newMemo(clock provider.Clock) *memo { return &memo{clock: clock, seen: map[string]remembered{}} }

// forget forgets everything.
func (m *memo) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.seen)
}

// drop forgets one thing.
func (m *memo) drop(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, key)
}

// remember returns what look found at most a minute ago. What it does not find is looked for again.
func remember[T any](m *memo, key string, look func() (T, error)) (T, error) {
	m.mu.Lock()
	r, ok := m.seen[key]
	m.mu.Unlock()
	if ok && m.clock.Now().Sub(r.at) < memoAge {
		return r.value.(T), nil
	}
	value, err := look()
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) > 10_000 {
		clear(m.seen)
	}
	m.seen[key] = remembered{m.clock.Now(), value}
	return value, nil
}
