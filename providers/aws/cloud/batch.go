package cloud

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// batch combines queries of the same kind. While a few requests are in progress, or many were sent just
// now, callers wait, and the next request is for all of them: an answer is never older than its query, and
// a thousand machines need a few requests.
type batch[V any] struct {
	mu    sync.Mutex
	kinds map[string]*queue[V]
	turn  time.Time // the time from which the next request need not wait for the pace
}

type queue[V any] struct {
	asking  int  // requests in progress, including the held one
	held    bool // the next request waits for its turn, and includes all callers until then
	waiting []*question[V]
}

// question is a waiting query. Its caller is asked to lead the next request, or gets an answer.
type question[V any] struct {
	about string
	told  chan struct{}
	lead  []*question[V] // this one and those in the same request
	hold  time.Duration  // until the turn of a request that this one leads
	all   []V
	err   error
}

const (
	// mostTogether is the number of values in a filter of EC2.
	mostTogether = 200
	// mostAtOnce is the number of requests of a kind in progress: one that hangs does not block the others.
	mostAtOnce = 4
	// pace is the interval of requests after mostFree in quick succession; no request is held for longer
	// than mostHeld.
	pace     = 100 * time.Millisecond
	mostFree = 20
	mostHeld = 2 * pace
)

// errLeader is the error of a query whose leader was canceled.
var errLeader = errors.New("the caller that made the request for several was canceled")

// ask returns the answer to a combined request: each caller picks its own part.
func (b *batch[V]) ask(ctx context.Context, kind, about string, request func(ctx context.Context, about []string) ([]V, error)) ([]V, error) {
	for {
		q, mine := b.enter(kind, about)
		if !mine {
			select {
			case <-q.told:
			case <-ctx.Done():
				return nil, b.leave(ctx, kind, q)
			}
		}
		if q.hold > 0 && !b.await(ctx, kind, q) {
			return nil, b.leave(ctx, kind, q)
		}
		if q.lead != nil {
			b.answer(ctx, kind, q, request)
		}
		if !errors.Is(q.err, errLeader) || ctx.Err() != nil {
			return q.all, q.err
		}
	}
}

// enter puts a query into the queue; mine says that its caller leads, since no request is in progress.
func (b *batch[V]) enter(kind, about string) (q *question[V], mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kinds == nil {
		b.kinds = map[string]*queue[V]{}
	}
	k, ok := b.kinds[kind]
	if !ok {
		k = &queue[V]{}
		b.kinds[kind] = k
	}
	q = &question[V]{about: about, told: make(chan struct{})}
	if k.asking == mostAtOnce || k.held {
		k.waiting = append(k.waiting, q)
		return q, false
	}
	k.asking++
	b.leads(k, q)
	return q, true
}

// leads lets a query lead the next request: now, or at its turn. The caller holds the lock.
func (b *batch[V]) leads(k *queue[V], q *question[V]) {
	q.lead = []*question[V]{q}
	q.hold = b.due(time.Now())
	if k.held = q.hold > 0; !k.held {
		q.gather(k)
	}
}

// due takes the next turn, and returns how far away it is. It uses real time, as the requests do.
func (b *batch[V]) due(now time.Time) time.Duration {
	if free := now.Add(-(mostFree - 1) * pace); b.turn.Before(free) {
		b.turn = free
	}
	if last := now.Add(mostHeld); b.turn.After(last) {
		b.turn = last
	}
	hold := max(b.turn.Sub(now), 0)
	b.turn = b.turn.Add(pace)
	return hold
}

// gather adds the waiting queries.
func (q *question[V]) gather(k *queue[V]) {
	n := min(len(k.waiting), mostTogether-1)
	q.lead = append(q.lead, k.waiting[:n]...)
	k.waiting = k.waiting[n:]
}

// await waits until a leading query has its turn; false: its caller was canceled.
func (b *batch[V]) await(ctx context.Context, kind string, q *question[V]) bool {
	turn := time.NewTimer(q.hold)
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-ctx.Done():
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kinds[kind]
	k.held = false
	q.gather(k)
	return true
}

// leave removes a query. A query that was asked to lead meanwhile passes that on.
func (b *batch[V]) leave(ctx context.Context, kind string, q *question[V]) error {
	gone := provider.Errorf(provider.Transient, "wait for an answer of AWS: %w", ctx.Err())
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kinds[kind]
	for n, other := range k.waiting {
		if other == q {
			k.waiting = append(k.waiting[:n:n], k.waiting[n+1:]...)
			return gone
		}
	}
	if q.lead != nil {
		k.held = k.held && q.hold == 0
		k.waiting = append(q.lead[1:], k.waiting...)
		b.next(kind, k)
	}
	return gone
}

// answer sends the request for all queries of a leader, hands out the answer, and lets the next ones start.
func (b *batch[V]) answer(ctx context.Context, kind string, q *question[V], request func(context.Context, []string) ([]V, error)) {
	about := make([]string, 0, len(q.lead))
	seen := map[string]bool{}
	for _, one := range q.lead {
		if !seen[one.about] {
			seen[one.about] = true
			about = append(about, one.about)
		}
	}
	all, err := request(ctx, about)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range q.lead {
		one.all, one.err = all, err
		if one != q {
			if err != nil && ctx.Err() != nil {
				one.err = errLeader
			}
			close(one.told)
		}
	}
	b.next(kind, b.kinds[kind])
}

// next lets the first waiting query lead, unless another is about to; the caller holds the lock.
func (b *batch[V]) next(kind string, k *queue[V]) {
	if len(k.waiting) == 0 || k.held {
		if k.asking--; k.asking == 0 {
			delete(b.kinds, kind)
		}
		return
	}
	leader := k.waiting[0]
	k.waiting = k.waiting[1:]
	b.leads(k, leader)
	close(leader.told)
}
