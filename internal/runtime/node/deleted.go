package node

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// deletionKept is how long the deletion of a node is remembered. Its machine is reconciled at once; if that
// fails, the machine later counts as unhealthy, like any machine without a node.
const deletionKept = time.Hour

// Deletions records the nodes whose deletion a watch observed. It is safe for concurrent use.
type Deletions struct {
	Clock clock.PassiveClock

	mu   sync.Mutex
	seen map[types.UID]time.Time
	// swept is how many were left when old ones were last removed. They are removed again at twice that
	// number: to do it with each deletion would cost the square of the fleet's size when a fleet is deleted.
	swept int
}

// Watched returns a handler that records in d the nodes whose deletion a watch observes, and calls next. A
// node that is missing in a new list does not count: the cluster may have been restored, or be another one.
func (d *Deletions) Watched(next handler.EventHandler) handler.EventHandler {
	return watched{next, d}
}

type watched struct {
	handler.EventHandler
	deletions *Deletions
}

// Delete implements [handler.EventHandler].
func (w watched) Delete(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if n, ok := e.Object.(*corev1.Node); ok && !e.DeleteStateUnknown {
		w.deletions.Note(n)
	}
	w.EventHandler.Delete(ctx, e, q)
}

// Note records that the deletion of the node was observed.
func (d *Deletions) Note(n *corev1.Node) {
	now := d.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[types.UID]time.Time{}
	}
	if len(d.seen) >= 2*max(d.swept, 64) {
		maps.DeleteFunc(d.seen, func(_ types.UID, at time.Time) bool { return now.Sub(at) > deletionKept })
		d.swept = len(d.seen)
	}
	d.seen[n.UID] = now
}

// Of returns when the deletion of the node with the UID was observed; zero if it was not.
func (d *Deletions) Of(uid types.UID) time.Time {
	now := d.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.seen[uid]; now.Sub(at) <= deletionKept {
		return at
	}
	return time.Time{}
}
