// Package pace limits the writes that a process sends to its API server at once to those that the server
// answers in time: more do not make it faster, and delay its watches, so that every cache falls behind. The
// limit is learned from the answers. Waiting writes have turns ([turn.Line]).
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

// Wrap sets one limit for the writes of all clients of c, from any worker of the process.
func Wrap(c *rest.Config) {
	l := newLine()
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return tripper{rt, l} })
}

// work describes, in a context, the work that its writes belong to.
type work struct {
	class turn.Class
	// came is when the work began, as a number that only grows.
	came int64
}

type workKey struct{}

var begun atomic.Int64

// WithClass returns a context whose writes wait for their turn under this class. Within a class the writes of
// work that began earlier go first, so that work is finished before the next begins. The first call for a
// context sets when its work began. Writes without a class are [turn.Settled].
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

// line is where writes wait for those in progress. A waiting item is a channel, which is closed when the
// write may begin.
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

// WrappedRoundTripper lets client-go find the wrapped tripper.
func (t tripper) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// waits reports whether r is a write that may have to wait. A late renewal would lose the lease.
func waits(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.Contains(r.URL.Path, "/leases")
}

// begin returns when the write may begin.
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
	case <-may: // its turn came meanwhile, and passes to another write
		l.under--
		l.next()
	default:
		l.waiting.Drop(place)
	}
	return ctx.Err()
}

// end records that a write is over, and its result.
func (l *line) end(r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.level.learn(r, l.under)
	l.under--
	l.next()
}

// next lets as many writes begin as the limit allows.
func (l *line) next() {
	for l.waiting.Len() > 0 && l.level.allows(l.under) {
		close(l.waiting.Pop())
		l.under++
	}
}
