package machineset

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
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
	known := r.remembered(key, s.GetUID())
	if known.rests.Left(r.Clock.Now(), s.GetGeneration()) > 0 {
		return turn.Settled // the pass will wait
	}
	members := known.members
	if members <= countedAnew {
		var err error
		if members, err = r.count(ctx, s); err != nil {
			return turn.Settled
		}
	}
	return replicas.Turn(r.lens.View(s).Set, members)
}

// remembered is what is known of the set from its last pass; nothing for one that had none.
func (r *Reconciler[S]) remembered(key types.NamespacedName, uid types.UID) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.memories[key]; m != nil && m.uid == uid {
		return memory{members: m.members, rests: m.rests}
	}
	return memory{}
}

// count is how many machines the cache shows as the set's, those aside that are being deleted.
func (r *Reconciler[S]) count(ctx context.Context, s S) (n int, err error) {
	list := r.lens.Traits().Machines()
	err = r.Client.List(ctx, list, client.InNamespace(s.GetNamespace()), client.MatchingFields{index.Owner: string(s.GetUID())}, client.UnsafeDisableDeepCopy)
	for m := range dialect.Items[client.Object](list) {
		if m.GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n, err
}
