package machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// overtakenDelay is the pause before a machine is reconciled again that another client wrote during a pass.
const overtakenDelay = time.Second

// read returns the machine as the process wrote it last or as the cache has it since. If the machine does
// not exist, and the cache does not show that yet, wait is how long to wait for the cache.
func (r *Reconciler[M]) read(ctx context.Context, own *readyourwrites.Client, key client.ObjectKey) (m M, wait time.Duration, err error) {
	m = r.Dialect.New()
	if err := own.Get(ctx, key, m); err != nil {
		return m, 0, fmt.Errorf("read machine: %w", err)
	}
	mem := r.memory.of(m)
	switch {
	case gone(m):
		return m, readyourwrites.Patience, nil
	case !mem.released.IsZero() && r.Dialect.View(m).HasFinalizer:
		if left := mem.released.Add(readyourwrites.Patience).Sub(r.Clock.Now()); left > 0 {
			return m, left, nil
		}
	case !r.memory.versions.Older(m):
		return m, 0, nil
	}
	return r.pastCache(ctx, mem, m)
}

// pastCache reads the machine from the API server.
//
// A restored server goes back: it has the object in its state before the process's last write, which is
// undone. The memory of the machine is then dropped, except for the requests sent to the infrastructure.
func (r *Reconciler[M]) pastCache(ctx context.Context, mem *remembered, shown M) (now M, wait time.Duration, err error) {
	now = r.Dialect.New()
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(shown), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.GetUID() != shown.GetUID():
		return now, readyourwrites.Patience, nil
	case err != nil:
		return now, 0, fmt.Errorf("read machine past the cache: %w", err)
	case r.memory.versions.Older(now):
		log.FromContext(ctx).Info("the API server has gone back: what is remembered of the machine is forgotten",
			"version", now.GetResourceVersion())
		r.memory.restored(client.ObjectKeyFromObject(shown))
	case !mem.released.IsZero() && r.Dialect.View(now).HasFinalizer:
		log.FromContext(ctx).Info("a machine that was released is there again: what is remembered of it is forgotten",
			"version", now.GetResourceVersion())
		r.memory.restored(client.ObjectKeyFromObject(shown))
	}
	r.writes.Wrote(shown.GetResourceVersion(), now)
	return now, 0, nil
}

// outdated reports whether the machine differs from the cached one and the decision depends on that: again
// is then when to look again, at the API server's version.
func (o object[M]) outdated(ctx context.Context, next lifecycle.Decision) (again time.Duration, err error) {
	shown := lifecycle.Shown{OwnWrite: o.memory.versions.Known(o.m) && !o.own.Hides(o.m.GetUID()), RemovalAccepted: !o.mem.removal.since.IsZero()}
	if !next.NeedsLiveRead(shown) {
		return 0, nil
	}
	now := o.Dialect.New()
	err = o.Live.Get(ctx, client.ObjectKeyFromObject(o.m), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.GetUID() != o.m.GetUID():
		return readyourwrites.Patience, nil
	case err != nil:
		return 0, fmt.Errorf("read machine itself: %w", err)
	}
	if now.GetResourceVersion() != o.m.GetResourceVersion() {
		o.writes.Wrote(o.m.GetResourceVersion(), now)
		return overtakenDelay, nil
	}
	o.memory.versions.Note(now)
	return 0, nil
}
