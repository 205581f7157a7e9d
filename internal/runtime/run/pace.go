package run

import (
	"container/list"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// A process has no more writes under way than its API server answers within paceGoal:
// more of them do not make it faster, and keep it from its watches, so that every cache
// falls behind. The bound begins with paceFirst, grows by one with as many answers in time,
// and shrinks by a tenth with as many that are late, between paceLeast and paceMost.
const (
	paceGoal  = 100 * time.Millisecond
	paceFirst = 32
	paceLeast = 16
	paceMost  = 400
)

// paced is one bound for all writes of a process, whoever of its workers sends them.
type paced struct {
	mu    sync.Mutex
	limit float64
	under int
	// waiting are channels, each of a write that may begin when it is closed.
	waiting list.List
}

func newPaced() *paced { return &paced{limit: paceFirst} }

// wrap puts the bound around the clients of c.
func (p *paced) wrap(c *rest.Config) {
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return pacedTripper{rt, p} })
}

type pacedTripper struct {
	http.RoundTripper
	pace *paced
}

// RoundTrip implements [http.RoundTripper].
func (t pacedTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if !waits(r) {
		return t.RoundTripper.RoundTrip(r)
	}
	if err := t.pace.begin(r.Context()); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := t.RoundTripper.RoundTrip(r)
	late := time.Since(began) > paceGoal || answer != nil && answer.StatusCode == http.StatusTooManyRequests
	t.pace.end(err == nil, late)
	return answer, err
}

// WrappedRoundTripper lets client-go find what is inside.
func (t pacedTripper) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// waits reports whether r is a write that others may come before. A lease that is late
// is lost.
func waits(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.Contains(r.URL.Path, "/leases")
}

// begin returns when a write may begin, in the order of the calls.
func (p *paced) begin(ctx context.Context) error {
	p.mu.Lock()
	if p.waiting.Len() == 0 && float64(p.under) < p.limit {
		p.under++
		p.mu.Unlock()
		return nil
	}
	may := make(chan struct{})
	e := p.waiting.PushBack(may)
	p.mu.Unlock()
	select {
	case <-may:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-may: // its turn came meanwhile, and is another's
		p.under--
		p.next()
	default:
		p.waiting.Remove(e)
	}
	return ctx.Err()
}

// end notes that a write is over, whether it was answered, and whether the answer was late
// or a refusal of an API server that has too much to do.
func (p *paced) end(answered, late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case answered && late:
		p.limit = max(p.limit-0.1, paceLeast)
	case answered:
		p.limit = min(p.limit+1/p.limit, paceMost)
	}
	p.under--
	p.next()
}

// next lets as many begin as may.
func (p *paced) next() {
	for p.waiting.Len() > 0 && float64(p.under) < p.limit {
		close(p.waiting.Remove(p.waiting.Front()).(chan struct{}))
		p.under++
	}
}
