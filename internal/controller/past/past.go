// Package past reads past a cache that does not show what was written.
package past

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
)

// Cache asks the API server for the objects whose updates the cache has hidden for
// too long, and returns when to look again; zero: nothing is hidden. A server that
// was restored has them as they were before: they are taken as they are from then
// on. An object that live cannot read is left out: its cluster is another one.
func Cache(ctx context.Context, live func(client.Object) client.Reader, written *expectations.Written, now time.Time) (again time.Duration) {
	overdue, again := written.Hidden(now)
	for _, o := range overdue {
		there := o.DeepCopyObject().(client.Object)
		r := live(o)
		if r == nil {
			continue
		}
		if again == 0 {
			again = expectations.Patience
		}
		if err := r.Get(ctx, client.ObjectKeyFromObject(o), there); err != nil {
			continue // asked again
		}
		if written.Live(now, there) {
			log.FromContext(ctx).Info("the API server has gone back: what was written is forgotten",
				"name", o.GetName(), "version", there.GetResourceVersion(), "was", o.GetResourceVersion())
			again = time.Millisecond
		}
	}
	return again
}
