package machinedeployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// scope is the deployment of a pass. All parts of the pass share it.
type scope[D, S client.Object] struct {
	*Reconciler[D, S]
	*memory
	// Client and Nodes show the pass its own writes; Nodes may be nil.
	Client, Nodes *readyourwrites.Client

	// object is the deployment as last read or written, facts its content when the pass began.
	object   D
	facts    rollout.Deployment
	policy   rollout.Policy
	selector labels.Selector
	now      time.Time
	// after is when to look again; zero: at the next event.
	after time.Duration
}

// addFinalizer sets the deployment's finalizer before any set is created.
func (b *scope[D, S]) addFinalizer(ctx context.Context) error {
	finalizer := b.lens.Traits().Finalizer
	if finalizer == "" || b.facts.Deleting || controllerutil.ContainsFinalizer(b.object, finalizer) {
		return nil
	}
	return b.patchDeployment(ctx, "add finalizer", func(d D) { controllerutil.AddFinalizer(d, finalizer) })
}

// removeFinalizer removes the finalizer from a deployment without sets.
func (b *scope[D, S]) removeFinalizer(ctx context.Context) error {
	finalizer := b.lens.Traits().Finalizer
	if !controllerutil.ContainsFinalizer(b.object, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(b.patchDeployment(ctx, "remove finalizer", func(d D) { controllerutil.RemoveFinalizer(d, finalizer) }))
}

// again requests another pass after d at the latest.
func (b *scope[D, S]) again(d time.Duration) {
	if d > 0 && (b.after == 0 || d < b.after) {
		b.after = d
	}
}

// stands asks the API server whether the deployment is still to have sets. Without it, a user who deletes
// the deployment together with its sets would get new sets, from a cache that shows only the deletion of
// the sets yet.
func (b *scope[D, S]) stands(ctx context.Context) (bool, error) {
	now := b.lens.New()
	err := b.Live.Get(ctx, client.ObjectKeyFromObject(b.object), now)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read deployment past the cache: %w", err)
	}
	if err == nil && now.GetUID() == b.facts.UID && now.GetDeletionTimestamp() == nil {
		return true, nil
	}
	b.again(conflictDelay)
	return false, nil
}

// patchDeployment changes the deployment, except for its status, and continues with the result. It does not
// write an empty change.
func (b *scope[D, S]) patchDeployment(ctx context.Context, doing string, apply func(D)) error {
	after := b.object.DeepCopyObject().(D)
	apply(after)
	if equality.Semantic.DeepEqual(b.object, after) {
		return nil
	}
	if err := b.Client.Patch(ctx, after, merge(b.object)); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	b.object = after
	return nil
}

// patchSet changes a set and returns the result. It does not write an empty change. A lost reply leaves the
// size of the set unknown.
func (b *scope[D, S]) patchSet(ctx context.Context, doing string, before S, apply func(S)) (S, error) {
	after := before.DeepCopyObject().(S)
	apply(after)
	if equality.Semantic.DeepEqual(before, after) {
		return before, nil
	}
	if err := b.Client.Patch(ctx, after, merge(before)); err != nil {
		b.agreed = b.agreed && expectations.Refused(err)
		return before, fmt.Errorf("%s machine set %s: %w", doing, before.GetName(), err)
	}
	return after, nil
}

// resource is the deployment's resource, for errors.
func (b *scope[D, S]) resource() schema.GroupResource {
	return schema.GroupResource{Group: b.lens.Traits().Kind.Group, Resource: "machinedeployments"}
}

// without returns refs except those to the deployment.
func (b *scope[D, S]) without(refs []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r metav1.OwnerReference) bool { return r.UID == b.facts.UID })
}

func (b *scope[D, S]) unsure(name string) {
	b.expectations.CreationUnknown(name)
	b.agreed, b.late = false, b.Clock.Now().Add(lateness)
}
