// Package pace keeps a process from sending its API server more writes at once than that
// answers in time: more of them do not make it faster, and keep it from its watches, so that every cache
// falls behind. How many it answers in time is found out from its answers. Those that wait have turns ([turn.Line]).
package pace

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

// Wrap puts one bound around the writes of all clients of c, whoever of a process's
// workers sends them.
func Wrap(c *rest.Config) {
	l := newLine()
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return tripper{rt, l} })
}

// work is what a context says of the work that its writes are part of.
type work struct {
	class turn.Class
	// came is when the work began, as a number that only grows.
	came int64
}

type workKey struct{}

var begun atomic.Int64

// WithClass returns a context whose writes wait for their turn under this class. Among those of the same class the writes of work that
// began earlier go first: what is begun is finished before the next begins. The first call for a context says when its work began. Writes
// without a class are [turn.Settled].
func WithClass(ctx context.Context, class turn.Class) context.Context {
	w := workOf(ctx)
	w.class = class
	return context.WithValue(ctx, workKey{}, w)
}

func workOf(ctx context.Context) work {
	if w, ok := ctx.Value(workKey{}).(work); ok {
		return w
	}
	return work{came: begun.Add(1)}
}

// line is where writes wait for those that are under way. What waits is a channel, which is closed when the write may begin.
type line struct {
	mu      sync.Mutex
	level   level
	under   int
	waiting turn.Line[chan struct{}]
}

func newLine() *line { return &line{level: newLevel()} }

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
	w := reply{kind: kindOf(r), began: time.Now()}
	answer, err := t.RoundTripper.RoundTrip(r)
	w.ended, w.answered, w.retryAfter = time.Now(), err == nil, retryAfter(w.kind, answer)
	t.line.end(w)
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
	if l.waiting.Len() == 0 && l.level.allows(l.under) {
		l.under++
		l.mu.Unlock()
		return nil
	}
	w, may := workOf(ctx), make(chan struct{})
	place := l.waiting.Push(w.class, w.came, may)
	l.mu.Unlock()
	select {
	case <-may:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-may: // its turn came meanwhile, and is another's
		l.under--
		l.next()
	default:
		l.waiting.Drop(place)
	}
	return ctx.Err()
}

// end notes that a write is over, and what came of it.
func (l *line) end(r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.level.learn(r, l.under)
	l.under--
	l.next()
}

// next lets as many begin as may.
func (l *line) next() {
	for l.waiting.Len() > 0 && l.level.allows(l.under) {
		close(l.waiting.Pop())
		l.under++
	}
}
