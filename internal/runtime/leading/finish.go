package leading

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Finishing lets passes in progress finish, for finishGrace, when the process is asked to stop: answers of
// the infrastructure are recorded. The manager waits for them before it releases the lease.
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
