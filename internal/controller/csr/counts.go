package csr

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// Without reuse, each request that a joining fleet sends would count all machines, nodes and waiting
// requests. Earlier counts are reused for a time as long as they block no request; those of the waiting
// requests only if they are many.
const (
	fleetAge   = 10 * time.Second
	joinersAge = time.Second
	fewWaiting = 100
)

// counts are the last ones. A zero time means never counted.
type counts struct {
	machines, nodes int
	fleetAt         time.Time
	// waiting is the number of requests, joiners are their senders.
	waiting   int
	joiners   approval.Joiners
	joinersAt time.Time
	// due says that a request was settled since, and that another pass will count.
	due bool
}

func (c counts) fleetFresh(now time.Time) bool { return fresh(now, c.fleetAt, fleetAge) }

func (c counts) joinersFresh(now time.Time) bool {
	return c.waiting > fewWaiting && fresh(now, c.joinersAt, joinersAge)
}

func fresh(now, at time.Time, age time.Duration) bool {
	old := now.Sub(at)
	return !at.IsZero() && old >= 0 && old < age
}

// observeCounts sets the counts of f. A limit that blocks all requests is counted now.
func (a *Approver) observeCounts(ctx context.Context, f *approval.Facts) (err error) {
	now, user := a.Clock.Now(), f.Request.Spec.Username
	c := a.lastCounts()
	crowded := func() bool { return c.joiners.Against(user) > approval.MaxPending(c.machines, c.nodes) }
	if !c.joinersFresh(now) || crowded() {
		if c.joiners, err = a.pending(ctx); err != nil {
			return err
		}
	}
	if !c.fleetFresh(now) || crowded() {
		if c.machines, c.nodes, err = a.countFleet(ctx, now); err != nil {
			return err
		}
	}
	f.Fleet, f.Nodes, f.Pending = c.machines, c.nodes, c.joiners.Against(user)
	a.Metrics.limit(approval.MaxPending(f.Fleet, f.Nodes))
	return nil
}

func (a *Approver) lastCounts() counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counted
}

// settled counts the requests that still wait, after one was settled. If many wait, they are counted once a
// second: the first request that settles after a count is reconciled again then.
func (a *Approver) settled(ctx context.Context) (reconcile.Result, error) {
	a.mu.Lock()
	later, due := a.counted.joinersFresh(a.Clock.Now()), a.counted.due
	a.counted.due = later
	a.mu.Unlock()
	switch {
	case !later:
		_, err := a.pending(ctx)
		return reconcile.Result{}, err
	case !due:
		return reconcile.Result{RequeueAfter: joinersAge}, nil
	}
	return reconcile.Result{}, nil
}

// pending counts the joiners that wait.
func (a *Approver) pending(ctx context.Context) (approval.Joiners, error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := a.Client.List(ctx, &list, client.MatchingFields{PendingIndex: pendingValue}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pending certificate requests: %w", err)
	}
	now := a.Clock.Now()
	joiners := approval.CountJoiners(now, list.Items, a.Policy, a.nodeName)
	a.Metrics.pending(joiners.Most(), list.Items)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted.waiting, a.counted.joiners, a.counted.joinersAt, a.counted.due = len(list.Items), joiners, now, false
	return joiners, nil
}

// countFleet counts the machines and the nodes.
func (a *Approver) countFleet(ctx context.Context, now time.Time) (machines, nodes int, err error) {
	if machines, err = a.Fleet(ctx); err != nil {
		return 0, 0, fmt.Errorf("counting machines: %w", err)
	}
	var list corev1.NodeList
	if err := a.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return 0, 0, fmt.Errorf("counting nodes: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted.machines, a.counted.nodes, a.counted.fleetAt = machines, len(list.Items), now
	return machines, len(list.Items), nil
}
