package machineset

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// scope is the set of a pass. All parts of the pass share it.
type scope[S client.Object] struct {
	*Reconciler[S]
	*memory
	// Client shows the pass its own writes.
	Client *readyourwrites.Client

	// object is the set as last read or written, set its content as facts.
	object   S
	set      replicas.Set
	policy   replicas.Policy
	selector labels.Selector
	now      time.Time
	// seen is how well the clusters are seen.
	seen connectivity.State
	// after is when to look again; zero: at the next event.
	after time.Duration
}

// restored reports whether the set is older than the written version: then no machine is created, or
// deleted, because of a mark or a deletion that was undone. If the cache shows an older version, it asks
// the API server too.
func (s *scope[S]) restored(ctx context.Context) (bool, error) {
	if !s.Client.Hides(s.set.UID) && !s.set.Deleting {
		return false, nil
	}
	now := s.lens.New()
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(s.object), now); err != nil {
		return false, fmt.Errorf("read set past the cache: %w", err)
	}
	undone := s.set.Deleting && (now.GetUID() != s.set.UID || now.GetDeletionTimestamp() == nil)
	if !s.writes.WentBack(s.now, now) && !undone {
		return false, nil
	}
	s.again(time.Millisecond)
	return true, nil
}

// stands asks the API server whether the set is still to have machines. Without it, a user who deletes a
// set together with its machines would get new machines, from a cache that shows only the deletion of the
// machines yet.
func (s *scope[S]) stands(ctx context.Context) (bool, error) {
	now := s.lens.New()
	err := s.Live.Get(ctx, client.ObjectKeyFromObject(s.object), now)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read set past the cache: %w", err)
	}
	if err == nil && now.GetUID() == s.set.UID && now.GetDeletionTimestamp() == nil {
		return true, nil
	}
	s.again(time.Second)
	return false, nil
}

// hold sets the set's finalizer before any machine is created.
func (s *scope[S]) hold(ctx context.Context) error {
	finalizer := s.lens.Traits().Finalizer
	if finalizer == "" || s.set.Deleting || controllerutil.ContainsFinalizer(s.object, finalizer) {
		return nil
	}
	return s.patchSet(ctx, "add finalizer", func(set S) { controllerutil.AddFinalizer(set, finalizer) })
}

// letGo removes the finalizer from a set without machines, and reports whether it had one.
func (s *scope[S]) letGo(ctx context.Context) (bool, error) {
	finalizer := s.lens.Traits().Finalizer
	if !controllerutil.ContainsFinalizer(s.object, finalizer) {
		return false, nil
	}
	err := s.patchSet(ctx, "remove finalizer", func(set S) { controllerutil.RemoveFinalizer(set, finalizer) })
	return true, client.IgnoreNotFound(err)
}

// again requests another pass after d at the latest.
func (s *scope[S]) again(d time.Duration) {
	if d > 0 && (s.after == 0 || d < s.after) {
		s.after = d
	}
}

// ours reports whether the set controls m; free, whether m has no controller.
func (s *scope[S]) ours(m client.Object) (ours, free bool) {
	ref := metav1.GetControllerOfNoCopy(m)
	return ref != nil && ref.UID == s.set.UID, ref == nil
}

// without returns refs except those to the set.
func (s *scope[S]) without(refs []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r metav1.OwnerReference) bool { return r.UID == s.set.UID })
}

// patchSet changes the set's metadata and continues with the result.
func (s *scope[S]) patchSet(ctx context.Context, doing string, apply func(S)) error {
	after := s.object.DeepCopyObject().(S)
	apply(after)
	err := s.Client.Patch(ctx, after, client.MergeFromWithOptions(s.object, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	s.object = after
	return nil
}

// resource is the set's resource, for errors.
func (s *scope[S]) resource() schema.GroupResource {
	return schema.GroupResource{Group: s.lens.Traits().Kind.Group, Resource: "machinesets"}
}

// listCached lists the machines of an owner.
func (s *scope[S]) listCached(ctx context.Context, owner string) ([]client.Object, error) {
	return s.machinesOf(ctx, s.Client, s.set.Namespace, owner)
}

// machinesOf lists the machines of an owner. They are shared with the cache and must not be changed.
func (r *Reconciler[S]) machinesOf(ctx context.Context, from client.Reader, namespace, owner string) ([]client.Object, error) {
	list := r.lens.Traits().Machines()
	err := from.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{index.Owner: owner}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list machines by owner: %w", err)
	}
	return items(list)
}
