package machineset

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/turn"
)

const (
	// countedAnew is the number of machines up to which the machines of a set are counted for its turn. For a
	// larger set the number of its last pass counts: to list them takes as long as a pass.
	countedAnew = 200
	// countPause is how long the number of machines of a larger set is reused before its first pass. A cache that begins reports
	// each machine, and each report asks for the turn of the set.
	countPause = time.Second
)

// counted is the number of machines of a set, counted at a time.
type counted struct {
	uid     types.UID
	members int
	at      time.Time
}

// Turn says, by the cache, what kind of work a set is that begins to wait for a worker.
func (r *Reconciler[S]) Turn(ctx context.Context, key types.NamespacedName) turn.Class {
	s := r.lens.New()
	if err := r.Client.Get(ctx, key, s, client.UnsafeDisableDeepCopy); err != nil {
		return turn.Settled // it does not exist any more, or the pass reports the error
	}
	rests, members := r.lastPass(key, s.GetUID())
	if rests.Left(r.Clock.Now(), s.GetGeneration()) > 0 {
		return turn.Settled // the pass will wait
	}
	if members <= countedAnew {
		var err error
		if members, err = r.count(ctx, key, s.GetUID()); err != nil {
			return turn.Settled
		}
	}
	return replicas.Turn(r.lens.View(s).Set, members)
}

// count returns how many machines the set has that are not under deletion.
func (r *Reconciler[S]) count(ctx context.Context, key types.NamespacedName, uid types.UID) (int, error) {
	r.mu.Lock()
	c := r.counts[key]
	r.mu.Unlock()
	now := r.Clock.Now()
	if c.uid == uid && c.members > countedAnew && now.Sub(c.at) < countPause {
		return c.members, nil
	}
	machines, err := r.machinesOf(ctx, r.Client, key.Namespace, string(uid))
	if err != nil {
		return 0, err
	}
	c = counted{uid: uid, members: staying(machines), at: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[key] = c
	return c.members, nil
}

// lastPass is the remaining work after the set's last pass, and the number of machines of that pass; zero
// for a set without a pass.
func (r *Reconciler[S]) lastPass(key types.NamespacedName, uid types.UID) (rests replicas.Resting, members int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.memories[key]; m != nil && m.uid == uid {
		return m.rests, m.members
	}
	return rests, 0
}

// staying is how many of the machines are not under deletion.
func staying(machines []client.Object) (n int) {
	for _, m := range machines {
		if m.GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n
}
