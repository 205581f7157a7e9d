package machineset

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/turn"
)

// countedAnew are up to how many machines of a set are counted for its turn. Of a larger set those of its last pass count: to list them takes as
// long as a pass.
const countedAnew = 200

// Turn says what kind of work a set is that begins to wait for a worker, by the cache.
func (r *Reconciler[S]) Turn(ctx context.Context, key types.NamespacedName) turn.Class {
	s := r.lens.New()
	if err := r.Client.Get(ctx, key, s, client.UnsafeDisableDeepCopy); err != nil {
		return turn.Settled // it does not exist any more, or the pass says what is wrong
	}
	rests, members := r.lastPass(key, s.GetUID())
	if rests.Left(r.Clock.Now(), s.GetGeneration()) > 0 {
		return turn.Settled // the pass will wait
	}
	if members <= countedAnew {
		machines, err := r.machinesOf(ctx, r.Client, s.GetNamespace(), string(s.GetUID()))
		if err != nil {
			return turn.Settled
		}
		members = staying(machines)
	}
	return replicas.Turn(r.lens.View(s).Set, members)
}

// lastPass is the rest after the set's last pass, and how many machines that saw; zero for a set that had none.
func (r *Reconciler[S]) lastPass(key types.NamespacedName, uid types.UID) (rests replicas.Resting, members int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.memories[key]; m != nil && m.uid == uid {
		return m.rests, m.members
	}
	return rests, 0
}

// staying are how many of the machines are not being deleted.
func staying(machines []client.Object) (n int) {
	for _, m := range machines {
		if m.GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n
}
