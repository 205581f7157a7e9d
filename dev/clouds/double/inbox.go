package double

import (
	"slices"
	"sync"
)

// Inbox keeps the last decoded requests of each operation, for tests. A cloud embeds it. The zero value is ready for use, and
// is safe for concurrent use.
type Inbox[R any] struct {
	mu   sync.Mutex
	last map[string][]R
}

// mostKept is the number of kept requests of each operation.
const mostKept = 200

// Remember keeps a request.
func (b *Inbox[R]) Remember(operation string, request R) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = map[string][]R{}
	}
	all := append(b.last[operation], request)
	b.last[operation] = all[max(0, len(all)-mostKept):]
}

// Received are the last 200 requests for an operation that were remembered.
func (b *Inbox[R]) Received(operation string) []R {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.last[operation])
}
