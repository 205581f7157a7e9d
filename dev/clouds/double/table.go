package double

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Table stores a simulator's objects by ID, and their former versions, so that reads may lag. It is safe for
// concurrent use. Values are not copied: do not change a stored value, store a new one.
type Table[T any] struct {
	clock *Clock

	mu   sync.Mutex
	rows map[string][]version[T]
}

type version[T any] struct {
	since time.Time
	value T
	gone  bool
}

// memory is how long a table keeps former versions.
const memory = 10 * time.Minute

// NewTable returns an empty table.
func NewTable[T any](clock *Clock) *Table[T] {
	return &Table[T]{clock: clock, rows: map[string][]version[T]{}}
}

// Put stores value under id.
func (t *Table[T]) Put(id string, value T) { t.add(id, version[T]{value: value}) }

// Delete removes id. Reads that lag still see it.
func (t *Table[T]) Delete(id string) { t.add(id, version[T]{gone: true}) }

func (t *Table[T]) add(id string, v version[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.since = t.clock.Now()
	old := t.rows[id]
	for len(old) > 1 && v.since.Sub(old[1].since) > memory {
		old = old[1:]
	}
	t.rows[id] = append(old, v)
}

// Update atomically replaces the value under id by the result of change. It returns false if there is no
// value.
func (t *Table[T]) Update(id string, change func(T) T) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := at(t.rows[id], t.clock.Now())
	if !ok {
		return false
	}
	t.rows[id] = append(t.rows[id], version[T]{since: t.clock.Now(), value: change(v)})
	return true
}

// Change atomically changes a copy of the value under id, and stores it. It returns false if there is no value.
func (t *Table[T]) Change(id string, change func(*T)) bool {
	return t.Update(id, func(v T) T {
		change(&v)
		return v
	})
}

// Insert stores value under id unless id exists; then it returns the existing value.
func (t *Table[T]) Insert(id string, value T) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := at(t.rows[id], t.clock.Now()); ok {
		return v, false
	}
	t.rows[id] = append(t.rows[id], version[T]{since: t.clock.Now(), value: value})
	return value, true
}

// Get returns the value under id.
func (t *Table[T]) Get(id string) (T, bool) { return t.GetBehind(id, 0) }

// GetBehind returns the value that id had lag ago.
func (t *Table[T]) GetBehind(id string, lag time.Duration) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return at(t.rows[id], t.clock.Now().Add(-lag))
}

// All returns all values, in the order of IDs.
func (t *Table[T]) All() []T { return t.AllBehind(0) }

// AllBehind returns the values as they were lag ago, in the order of IDs.
func (t *Table[T]) AllBehind(lag time.Duration) (all []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	when := t.clock.Now().Add(-lag)
	for _, id := range slices.Sorted(maps.Keys(t.rows)) {
		if v, ok := at(t.rows[id], when); ok {
			all = append(all, v)
		}
	}
	return all
}

// at returns the last version that is not newer than when.
func at[T any](versions []version[T], when time.Time) (T, bool) {
	for _, v := range slices.Backward(versions) {
		if !v.since.After(when) {
			return v.value, !v.gone
		}
	}
	var none T
	return none, false
}
