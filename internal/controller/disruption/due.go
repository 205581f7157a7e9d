package disruption

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
)

// waiter is a machine that was refused.
type waiter struct {
	key    client.ObjectKey
	uid    types.UID
	labels map[string]string
	// budget refused it, for the cause reason.
	budget string
	reason disruption.Reason
	// since is since when it waits, asked when it asked last.
	since, asked time.Time
}

const (
	// lookEvery is how often budgets are read while machines wait, sweepEvery how often they are read in any case.
	lookEvery  = 5 * time.Second
	sweepEvery = 15 * time.Second
	// recheckEvery is how often a machine with a permit is reconciled that is updated in place or rebooted.
	recheckEvery = time.Minute
	// forgottenAfter is when a machine that does not ask any more no longer counts as waiting.
	forgottenAfter = 2*againAfter + time.Minute
)

// compare is negative if w has waited longer than a machine that waits since then.
func (w waiter) compare(since time.Time, uid types.UID) int {
	return cmp.Or(w.since.Compare(since), cmp.Compare(w.uid, uid))
}

// ahead returns how many machines that the same budget refused for the same cause have waited longer.
func (l *Ledger[M]) ahead(budget string, q question, now time.Time) (n int) {
	for _, w := range l.waiting {
		if w.budget == budget && w.reason == q.reason && now.Sub(w.asked) < forgottenAfter && w.compare(q.since, q.machine.GetUID()) < 0 {
			n++
		}
	}
	return n
}

// Due returns the machines to reconcile. While machines wait, it reads the budgets every few seconds, and returns the machines that may be
// permitted, those that have waited longest first. It also compares permits with machines.
func (l *Ledger[M]) Due(ctx context.Context) []reconcile.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	sweeps := now.Sub(l.swept) >= sweepEvery
	if !sweeps && (len(l.waiting) == 0 || now.Sub(l.looked) < lookEvery) {
		return nil
	}
	l.looked = now
	budgets, err := l.budgets.read(ctx)
	if err != nil {
		log.FromContext(ctx).V(1).Info("cannot read the disruption budgets", "why", err.Error())
		return nil
	}
	out := l.admissible(now, budgets)
	waiting := map[string]int{}
	for _, w := range l.waiting {
		waiting[w.budget]++
	}
	l.fleet.Metrics.show(l.fleet.Dialect.API(), budgets, waiting)
	if sweeps {
		l.swept = now
		out = append(out, l.sweep(ctx, now, budgets)...)
	}
	return out
}

// admissible returns the waiting machines that the budgets would permit now, one after the other.
func (l *Ledger[M]) admissible(now time.Time, budgets []v1alpha1.MachineDisruptionBudget) (out []reconcile.Request) {
	var order []waiter
	for uid, w := range l.waiting {
		if now.Sub(w.asked) >= forgottenAfter {
			delete(l.waiting, uid)
			continue
		}
		order = append(order, w)
	}
	slices.SortFunc(order, func(a, b waiter) int { return a.compare(b.since, b.uid) })
	parsed, uses := make([]disruption.Budget, len(budgets)), make([]disruption.Use, len(budgets))
	for i := range budgets {
		parsed[i], uses[i] = disruption.Parse(&budgets[i], time.LoadLocation), disruption.UseOf(&budgets[i].Status, now)
	}
	for _, w := range order {
		var mine []int
		refused := false
		for i, b := range parsed {
			if !b.Selects(w.labels) {
				continue
			}
			holds := disruption.Holds(&budgets[i].Status, w.uid)
			refused = refused || !b.Decide(now, uses[i], disruption.Ask{Reason: w.reason, Holds: holds}).Granted
			if !holds {
				mine = append(mine, i)
			}
		}
		if refused {
			continue
		}
		for _, i := range mine {
			uses[i].InUse++
		}
		out = append(out, reconcile.Request{NamespacedName: w.key})
	}
	return out
}

// sweep removes the permits of machines that do not exist any more, brings the status of budgets up to date, and returns the machines
// whose disruption may be over. Only an answer of the API server shows that a machine does not exist; a failed or denied read
// shows nothing.
func (l *Ledger[M]) sweep(ctx context.Context, now time.Time, budgets []v1alpha1.MachineDisruptionBudget) (out []reconcile.Request) {
	held, rechecks := map[types.UID]bool{}, now.Sub(l.rechecked) >= recheckEvery
	if rechecks {
		l.rechecked = now
	}
	for i := range budgets {
		for _, d := range budgets[i].Status.Disruptions {
			if !l.fleet.sees(d) {
				continue // the permit of another process
			}
			switch exists, leaving, err := l.fleet.exists(ctx, d); {
			case err != nil:
				log.FromContext(ctx).Error(err, "cannot read a machine that has a permit", "machine", d.Namespace+"/"+d.Name)
				held[d.UID] = true
			case !exists:
				if err := l.budgets.release(ctx, budgets[i].Name, d.UID); err != nil {
					log.FromContext(ctx).Error(err, "cannot remove the permit of a deleted machine", "machine", d.Namespace+"/"+d.Name)
				}
			default:
				held[d.UID] = true
				if !leaving && rechecks {
					out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: d.Namespace, Name: d.Name}})
				}
			}
		}
		l.refresh(ctx, now, budgets[i].Name)
	}
	l.held.replace(held)
	return out
}

// sees reports whether the permit is that of a machine which this process sees.
func (f *fleet[M]) sees(d v1alpha1.Disruption) bool {
	return d.API == f.Dialect.API() && (f.Namespace == "" || d.Namespace == f.Namespace)
}

// exists reports whether the machine of a permit exists, and whether it is under deletion.
func (f *fleet[M]) exists(ctx context.Context, d v1alpha1.Disruption) (exists, leaving bool, err error) {
	key := client.ObjectKey{Namespace: d.Namespace, Name: d.Name}
	for _, from := range []client.Reader{f.Cached, f.Live} {
		m := f.Dialect.New()
		if err = from.Get(ctx, key, m); err == nil && m.GetUID() == d.UID {
			return true, m.GetDeletionTimestamp() != nil, nil
		}
	}
	return false, false, client.IgnoreNotFound(err)
}

// refresh writes the status of a budget if its spec, the number of machines or the answer to a query has changed, or the answer is old.
func (l *Ledger[M]) refresh(ctx context.Context, now time.Time, name string) {
	var b v1alpha1.MachineDisruptionBudget
	if err := l.budgets.client.Get(ctx, client.ObjectKey{Name: name}, &b); err != nil {
		return
	}
	after := b.DeepCopy()
	l.queries.observe(after, now)
	parsed := disruption.Parse(after, time.LoadLocation)
	if err := l.fleet.observe(ctx, after, parsed); err != nil {
		return
	}
	disruption.Summarize(&after.Status, parsed, b.Generation, now)
	if equality.Semantic.DeepEqual(b.Status, after.Status) {
		return
	}
	if err := l.budgets.write(ctx, &b, after); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		log.FromContext(ctx).Error(err, "cannot write the status of a disruption budget", "budget", name)
	}
}
