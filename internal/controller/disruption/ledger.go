package disruption

import (
	"context"
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // the time zones of budgets: images have no zone database

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Options are the options of a Ledger.
type Options[M client.Object] struct {
	// Budgets reads budgets from the API server itself, and writes their status ([Client]).
	Budgets client.Client
	// Cached reads machines from a cache, Live reads machines and their owners from the API server itself.
	Cached, Live client.Reader
	Clock        clock.PassiveClock
	// Dialect is the API of the machines, Namespace the only namespace of which Cached has machines; empty: it has all.
	Dialect   dialect.Machines[M]
	Namespace string
	// Metrics may be nil.
	Metrics *Metrics
	// Lock is held during each question, while it waits for the API server; nil: a mutex.
	Lock sync.Locker
}

// Ledger has the permits for the machines of one API.
type Ledger[M client.Object] struct {
	mu      sync.Locker
	clock   clock.PassiveClock
	budgets *store
	fleet   *fleet[M]
	held    *holders
	// waiting are the machines that were refused.
	waiting map[types.UID]waiter
	// swept is when the permits were last compared with the machines, looked when the waiting machines were, rechecked when machines
	// with a permit were last reconciled for that.
	swept, looked, rechecked time.Time
}

// New returns a ledger.
func New[M client.Object](o Options[M]) *Ledger[M] {
	if o.Lock == nil {
		o.Lock = &sync.Mutex{}
	}
	return &Ledger[M]{
		mu: o.Lock, clock: o.Clock, budgets: &store{client: o.Budgets, clock: o.Clock}, fleet: &fleet[M]{Options: o, counts: map[string]count{}},
		held: &holders{all: map[types.UID]bool{}}, waiting: map[types.UID]waiter{},
	}
}

const (
	// againAfter is the longest time until a refused machine asks again by itself. [Ledger.Due] wakes it earlier.
	againAfter = 2 * time.Minute
	// retryAfter is the time until a machine asks again whose question failed.
	retryAfter = 15 * time.Second
)

// question is a question about one machine.
type question struct {
	machine client.Object
	reason  disruption.Reason
	begun   bool
	since   time.Time
}

// Ask asks the budgets that select the machine for a permit. Each of them must permit the disruption: if one refuses, the permits of
// those before it are given back. A disruption that has begun is not refused. If it could not be recorded, the answer has a message.
func (l *Ledger[M]) Ask(ctx context.Context, m client.Object, r lifecycle.PermitRequest) lifecycle.Disruption {
	l.mu.Lock()
	defer l.mu.Unlock()
	budgets, err := l.budgets.selecting(ctx, m)
	if err != nil {
		return l.failed(m, r.Begun, fmt.Errorf("the machine disruption budgets, which cannot be read: %w", err))
	}
	if len(budgets) == 0 {
		delete(l.waiting, m.GetUID())
		return lifecycle.Disruption{Permitted: true}
	}
	q := question{machine: m, begun: r.Begun, reason: l.fleet.reason(ctx, m, r), since: l.since(r)}
	var taken []string
	for i := range budgets {
		answer, wrote, err := l.take(ctx, &budgets[i], q)
		if err == nil && answer.Granted {
			if wrote {
				taken = append(taken, budgets[i].Name)
			}
			continue
		}
		l.budgets.giveBack(ctx, m.GetUID(), taken)
		if err != nil {
			return l.failed(m, r.Begun, fmt.Errorf("machine disruption budget %s, which cannot be written: %w", budgets[i].Name, err))
		}
		return l.refused(budgets[i].Name, q, answer)
	}
	delete(l.waiting, m.GetUID())
	l.held.set(m.GetUID(), true)
	return lifecycle.Disruption{Permitted: true}
}

// failed returns the answer to a question that has none: the machine waits, unless the disruption has begun.
func (l *Ledger[M]) failed(m client.Object, begun bool, err error) lifecycle.Disruption {
	delete(l.waiting, m.GetUID())
	return lifecycle.Disruption{Permitted: begun, Message: err.Error(), After: retryAfter}
}

// refused notes that the machine waits.
func (l *Ledger[M]) refused(budget string, q question, a disruption.Answer) lifecycle.Disruption {
	now := l.clock.Now()
	l.waiting[q.machine.GetUID()] = waiter{
		key: client.ObjectKeyFromObject(q.machine), uid: q.machine.GetUID(), labels: q.machine.GetLabels(),
		budget: budget, reason: q.reason, since: q.since, asked: now,
	}
	after := againAfter
	if !a.Until.IsZero() {
		after = min(after, max(a.Until.Sub(now), time.Second))
	}
	return lifecycle.Disruption{Message: a.Message, After: after, Cause: q.reason}
}

// since returns when the machine began to wait: its deletion, or its first question.
func (l *Ledger[M]) since(r lifecycle.PermitRequest) time.Time {
	if w, waits := l.waiting[types.UID(r.Machine.UID)]; waits {
		return w.since
	}
	if !r.Machine.Deleted.IsZero() {
		return r.Machine.Deleted
	}
	return l.clock.Now()
}

// take writes the permit of one budget, if the budget allows it. Another process may write the budget at the same time: then it is
// read, and decided, again. A budget that was deleted meanwhile permits.
func (l *Ledger[M]) take(ctx context.Context, b *v1alpha1.MachineDisruptionBudget, q question) (answer disruption.Answer, wrote bool, err error) {
	for try := range maxTries {
		if try > 0 {
			if answer.Granted, err = l.budgets.again(ctx, b, q.machine); answer.Granted || err != nil {
				return answer, false, err
			}
		}
		now := l.clock.Now()
		parsed, after := disruption.Parse(b, time.LoadLocation), b.DeepCopy()
		if err := l.fleet.observe(ctx, after, parsed); err != nil {
			return answer, false, err
		}
		uid := q.machine.GetUID()
		holds := disruption.Holds(&after.Status, uid)
		answer = parsed.Decide(now, disruption.UseOf(&after.Status, now), disruption.Ask{Reason: q.reason, Holds: holds || q.begun, Ahead: l.ahead(b.Name, q, now)})
		if !answer.Granted || holds {
			return answer, false, nil
		}
		disruption.Grant(&after.Status, l.fleet.permit(q, now))
		disruption.Summarize(&after.Status, parsed, b.Generation, now)
		if err = l.budgets.write(ctx, b, after); !apierrors.IsConflict(err) {
			return answer, err == nil, err
		}
	}
	return answer, false, err
}

// permit returns the permit of a machine.
func (f *fleet[M]) permit(q question, now time.Time) v1alpha1.Disruption {
	return v1alpha1.Disruption{
		API: f.Dialect.API(), Namespace: q.machine.GetNamespace(), Name: q.machine.GetName(), UID: q.machine.GetUID(), Reason: q.reason,
		Since: metav1.NewTime(now.Truncate(time.Second)),
	}
}

// Holds reports whether the machine has a permit, as far as this process knows.
func (l *Ledger[M]) Holds(machine types.UID) bool { return l.held.has(machine) }

// Over removes the permits of a machine whose disruption is over.
func (l *Ledger[M]) Over(ctx context.Context, machine types.UID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.budgets.releaseAll(ctx, machine); err != nil {
		return err
	}
	l.held.set(machine, false)
	delete(l.waiting, machine)
	return nil
}
