// Package pace keeps a process from sending its API server more writes at once than that
// answers in time, and says which of those that wait go first.
package pace

import (
	"cmp"
	"container/heap"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// A process has no more writes under way than its API server answers within goal:
// more of them do not make it faster, and keep it from its watches, so that every cache
// falls behind. The bound begins with first, grows by one with as many answers in time,
// and shrinks by a tenth with as many that are late, between least and most.
const (
	goal  = 100 * time.Millisecond
	first = 32
	least = 16
	most  = 400
)

// Wrap puts one bound around the writes of all clients of c, whoever of a process's
// workers sends them.
func Wrap(c *rest.Config) {
	l := newLine()
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return tripper{rt, l} })
}

// turn is what a context says of its writes.
type turn struct {
	rank int
	// came is when its work began, as a number that only grows.
	came int64
}

type turnKey struct{}

var begun atomic.Int64

// WithRank returns a context whose writes go before those of a lower rank where many wait,
// and among those of the same rank before what began later: what is begun is finished before
// the next begins. The first call of a context says when its work began. Writes without a
// rank have 0.
func WithRank(ctx context.Context, rank int) context.Context {
	t := turnOf(ctx)
	t.rank = rank
	return context.WithValue(ctx, turnKey{}, t)
}

func turnOf(ctx context.Context) turn {
	if t, ok := ctx.Value(turnKey{}).(turn); ok {
		return t
	}
	return turn{came: begun.Add(1)}
}

// line is where writes wait for those that are under way.
type line struct {
	mu      sync.Mutex
	limit   float64
	under   int
	waiting waiting
}

func newLine() *line { return &line{limit: first} }

// place is that of one write in the line, which may begin when its channel is closed.
type place struct {
	turn
	may chan struct{}
	// at is its index among those that wait.
	at int
}

// waiting is a heap: the highest rank first, and among the same whose work began first.
type waiting []*place

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(w[j].rank, w[i].rank), cmp.Compare(w[i].came, w[j].came)) < 0
}

func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}

func (w *waiting) Push(x any) {
	p := x.(*place)
	p.at = len(*w)
	*w = append(*w, p)
}

func (w *waiting) Pop() any {
	last := len(*w) - 1
	p := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return p
}

type tripper struct {
	http.RoundTripper
	line *line
}

// RoundTrip implements [http.RoundTripper].
func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if !waits(r) {
		return t.RoundTripper.RoundTrip(r)
	}
	if err := t.line.begin(r.Context()); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := t.RoundTripper.RoundTrip(r)
	late := time.Since(began) > goal || answer != nil && answer.StatusCode == http.StatusTooManyRequests
	t.line.end(err == nil, late)
	return answer, err
}

// WrappedRoundTripper lets client-go find what is inside.
func (t tripper) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// waits reports whether r is a write that others may come before. A lease that is late
// is lost.
func waits(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.Contains(r.URL.Path, "/leases")
}

// begin returns when a write may begin.
func (l *line) begin(ctx context.Context) error {
	l.mu.Lock()
	if l.waiting.Len() == 0 && float64(l.under) < l.limit {
		l.under++
		l.mu.Unlock()
		return nil
	}
	mine := &place{turn: turnOf(ctx), may: make(chan struct{})}
	heap.Push(&l.waiting, mine)
	l.mu.Unlock()
	select {
	case <-mine.may:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-mine.may: // its turn came meanwhile, and is another's
		l.under--
		l.next()
	default:
		heap.Remove(&l.waiting, mine.at)
	}
	return ctx.Err()
}

// end notes that a write is over, whether it was answered, and whether the answer was late
// or a refusal of an API server that has too much to do.
func (l *line) end(answered, late bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case answered && late:
		l.limit = max(l.limit-0.1, least)
	case answered:
		l.limit = min(l.limit+1/l.limit, most)
	}
	l.under--
	l.next()
}

// next lets as many begin as may.
func (l *line) next() {
	for l.waiting.Len() > 0 && float64(l.under) < l.limit {
		close(heap.Pop(&l.waiting).(*place).may)
		l.under++
	}
}
