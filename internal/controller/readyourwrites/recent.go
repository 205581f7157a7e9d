package readyourwrites

import (
	"slices"
	"sync"
	"time"
)

// Recent counts the writes of the last seconds. The zero value has counted none. It is safe for concurrent
// use.
type Recent struct {
	mu sync.Mutex
	at []time.Time
}

// Note counts one write.
func (r *Recent) Note(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, now)
}

// Within is how many writes happened in the span before now; older ones are forgotten.
func (r *Recent) Within(now time.Time, span time.Duration) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = slices.DeleteFunc(r.at, func(at time.Time) bool { return now.Sub(at) > span || at.After(now) }) // or the clock was set back
	return len(r.at)
}
