package cloud

import (
	"context"
	"errors"
	"sync"

	"github.com/millwright-dev/millwright/provider"
)

// batch puts questions of the same kind together. While a few requests are on their way, whoever wants to ask waits, and
// all of them ask in the next one: an answer is never older than its question, and a thousand machines ask a few times.
type batch[V any] struct {
	mu    sync.Mutex
	kinds map[string]*queue[V]
}

type queue[V any] struct {
	asking  int // requests on their way
	waiting []*question[V]
}

// question is one that waits. Its caller is told to lead the next request, or given an answer.
type question[V any] struct {
	about string
	told  chan struct{}
	lead  []*question[V] // this one and those that go with it
	all   []V
	err   error
}

const (
	// mostTogether is how many values a filter of EC2 takes.
	mostTogether = 200
	// mostAtOnce is how many requests of a kind are on their way: one that hangs holds up nobody.
	mostAtOnce = 4
)

// errLeader is an answer that did not come because somebody else gave up.
var errLeader = errors.New("whoever asked for several gave up")

// ask is what request says of all that is asked about together: each caller picks its own.
func (b *batch[V]) ask(ctx context.Context, kind, about string, request func(ctx context.Context, about []string) ([]V, error)) ([]V, error) {
	for {
		q, mine := b.enter(kind, about)
		if !mine {
			select {
			case <-q.told:
			case <-ctx.Done():
				b.leave(kind, q)
				return nil, provider.Errorf(provider.Transient, "wait for an answer of AWS: %w", ctx.Err())
			}
		}
		if q.lead != nil {
			b.answer(ctx, kind, q, request)
		}
		if !errors.Is(q.err, errLeader) || ctx.Err() != nil {
			return q.all, q.err
		}
	}
}

// enter puts a question into the queue; mine says that its caller leads, since nobody asks.
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
	if k.asking == mostAtOnce {
		k.waiting = append(k.waiting, q)
		return q, false
	}
	k.asking++
	q.lead = []*question[V]{q}
	return q, true
}

// leave takes back a question. Whoever was told to lead meanwhile passes that on.
func (b *batch[V]) leave(kind string, q *question[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kinds[kind]
	for n, other := range k.waiting {
		if other == q {
			k.waiting = append(k.waiting[:n:n], k.waiting[n+1:]...)
			return
		}
	}
	if q.lead != nil {
		k.waiting = append(q.lead[1:], k.waiting...)
		b.next(kind, k)
	}
}

// answer asks for all that a question leads, tells them, and lets the next ones ask.
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

// next tells the first of those that wait to lead; the caller holds the lock.
func (b *batch[V]) next(kind string, k *queue[V]) {
	if len(k.waiting) == 0 {
		if k.asking--; k.asking == 0 {
			delete(b.kinds, kind)
		}
		return
	}
	n := min(len(k.waiting), mostTogether)
	leader := k.waiting[0]
	leader.lead = append([]*question[V]{}, k.waiting[:n]...)
	k.waiting = k.waiting[n:]
	close(leader.told)
}
