package leading

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Finishing lets passes that are under way come to their end when the process is
// told to stop, for finishGrace: what the infrastructure answered is recorded.
// The manager waits for them before it gives up the lease.
func Finishing(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() {
			limit, done := context.WithTimeout(inner, finishGrace)
			defer done()
			<-limit.Done()
			cancel()
		})()
		return r.Reconcile(inner, req)
	})
}
