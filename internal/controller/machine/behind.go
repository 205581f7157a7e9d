package machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// A cache that is behind is waited for until it shows the machine again, which wakes it
// ([memory.awaits]). The delays are for what nobody is told of: first firstStaleDelay,
// then for as long again as it has been, up to lastStaleDelay. From staleAfter on the API
// server itself is asked: the watch has stopped, or the server has gone back.
const (
	firstStaleDelay = time.Second
	lastStaleDelay  = 10 * time.Second
	staleAfter      = 5 * time.Second
)

// stays notes that the cache is behind, and returns since how long.
func (m memory) stays(o client.Object, now time.Time) (since time.Duration) {
	m.note(client.ObjectKeyFromObject(o), func(r *remembered) {
		if r.behindSince.IsZero() {
			r.behindSince = now
		}
		since = now.Sub(r.behindSince)
	})
	return since
}

// caughtUp notes that the cache is no longer behind.
func (m memory) caughtUp(o client.Object) {
	m.note(client.ObjectKeyFromObject(o), func(r *remembered) { r.behindSince = time.Time{} })
}

// awaits reports whether o, as the cache has it now, is what a pass waits for.
func (m memory) awaits(o client.Object) bool {
	return m.knows(client.ObjectKeyFromObject(o), func(r *remembered) bool { return !r.behindSince.IsZero() && !r.newerThan(o) })
}

func staleDelay(since time.Duration) time.Duration {
	return min(max(since, firstStaleDelay), lastStaleDelay)
}

// read returns the machine as the cache has it, and whether that is behind: the machine is
// woken then as soon as the cache has caught up. That is noted before the cache is asked
// once more, so that no change comes in between.
func (r *Reconciler[M]) read(ctx context.Context, key client.ObjectKey) (m M, behind bool, err error) {
	m = r.Dialect.New()
	if err := r.Client.Get(ctx, key, m); err != nil || !r.shadow(r.memory.of(m), m) {
		return m, false, err
	}
	r.memory.stays(m, r.Clock.Now())
	m = r.Dialect.New()
	if err := r.Client.Get(ctx, key, m); err != nil {
		return m, false, err
	}
	return m, r.shadow(r.memory.of(m), m), nil
}

// shadow reports whether m, as the cache has it, is older than what we know of it:
// than our last write, or than the end of its finalizer.
func (r *Reconciler[M]) shadow(mem *remembered, m M) bool {
	return mem.newerThan(m) || mem.released && r.Dialect.View(m).Held
}

// pastCache returns the machine as the API server has it now, where the cache has
// been behind for too long; else wait is for how long to wait for the cache.
//
// A server whose data were restored goes back: it has the object as it was before
// our last write, which has not happened by now. What was remembered of it is
// forgotten then.
func (r *Reconciler[M]) pastCache(ctx context.Context, mem *remembered, shadow M) (now M, wait time.Duration, err error) {
	since := r.memory.stays(shadow, r.Clock.Now())
	if since < staleAfter {
		return now, staleDelay(since), nil
	}
	now = r.Dialect.New()
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(shadow), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.GetUID() != shadow.GetUID():
		return now, staleDelay(since), nil
	case err != nil:
		return now, 0, fmt.Errorf("read machine past the cache: %w", err)
	case mem.newerThan(now):
		log.FromContext(ctx).Info("the API server has gone back: what is remembered of the machine is forgotten",
			"version", now.GetResourceVersion(), "was", mem.version)
	case mem.released && now.GetDeletionTimestamp() != nil && !r.Dialect.View(now).Held:
		return now, staleDelay(since), nil
	case mem.released:
		log.FromContext(ctx).Info("a machine that was released is there again: what is remembered of it is forgotten",
			"version", now.GetResourceVersion())
	default:
		return now, 0, nil
	}
	r.memory.forget(client.ObjectKeyFromObject(shadow))
	return now, 0, nil
}

// outdated reports whether the machine is not what the cache shows, asking the API
// server itself before an instance is made or removed, or pods are forced off its node.
//
// A process that has just taken over may see machines that the one before has removed
// since, and would make instances that nobody has. After a write of its own it knows
// better: nobody else takes finalizers off. A removal is asked about again for as long
// as the infrastructure has accepted none: the server may have gone back meanwhile, to
// when the machine was wanted.
func (p *pass[M]) outdated(ctx context.Context, next lifecycle.Decision) (bool, error) {
	switch {
	case next.Step == lifecycle.Create && p.mem.version == "":
	case next.Step == lifecycle.Drain && next.Force:
	case next.Step == lifecycle.Terminate && p.mem.removalSince.IsZero():
	default:
		return false, nil
	}
	now := p.Dialect.New()
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.m), now)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read machine itself: %w", err)
	}
	if now.GetUID() != p.m.GetUID() {
		return true, nil
	}
	p.memory.wrote(now)
	return now.GetResourceVersion() != p.m.GetResourceVersion(), nil
}
