package collect

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Find returns the objects that q may mean, and the gaps. It returns an error if it finds no object and a read fails.
// A forbidden read is a gap, not an error.
func Find(ctx context.Context, now time.Time, c Clusters, q Question) (found []client.Object, gaps []string, err error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}}
	found, err = l.find(ctx, q)
	return found, texts(l.gaps), err
}
