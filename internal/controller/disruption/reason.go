package disruption

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// reason returns the cause of a disruption. The owners of the machine are read only if the machine itself does not show, or record,
// the cause.
func (f *fleet[M]) reason(ctx context.Context, m client.Object, r lifecycle.PermitRequest) disruption.Reason {
	c := disruption.Cause{
		Update: r.Kind == lifecycle.DisruptingUpdate, Reboot: r.Kind == lifecycle.DisruptingReboot,
		Interrupted: r.Interrupted, Unwell: r.Unwell, Recorded: r.Machine.WaitCause(),
	}
	if known := disruption.ReasonOf(c); known != "" {
		return known
	}
	owner, err := f.owner(ctx, m, r.Machine.Deleted)
	if err != nil {
		log.FromContext(ctx).Info("the cause of a disruption is unknown: all limits of disruption budgets hold", "why", err.Error())
		return ""
	}
	c.Owner = owner
	return disruption.ReasonOf(c)
}

// owner returns the facts about the set of the machine, and about the set's deployment.
func (f *fleet[M]) owner(ctx context.Context, m client.Object, deleted time.Time) (o disruption.Owner, err error) {
	set, owned, err := f.ownerOf(ctx, m)
	switch {
	case err != nil:
		return o, err
	case !owned:
		return disruption.Owner{State: disruption.OwnerNone}, nil
	case set == nil || set.GetDeletionTimestamp() != nil:
		return disruption.Owner{State: disruption.OwnerLeaving}, nil
	}
	wanted, found, err := unstructured.NestedInt64(set.Object, "spec", "replicas")
	if err != nil {
		return o, fmt.Errorf("read the replicas of %s: %w", set.GetName(), err)
	}
	if !found {
		wanted = 1 // the default of both APIs
	}
	o.Wanted = int(wanted)
	if err := f.siblings(ctx, set, deleted, &o); err != nil {
		return o, err
	}
	o.State, err = f.state(ctx, set)
	return o, err
}

// siblings counts the machines of the set.
func (f *fleet[M]) siblings(ctx context.Context, set *unstructured.Unstructured, deleted time.Time, o *disruption.Owner) error {
	list := f.Dialect.NewList()
	if err := f.Cached.List(ctx, list, client.InNamespace(set.GetNamespace()), client.MatchingFields{index.Sibling: string(set.GetUID())}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the machines of %s: %w", set.GetName(), err)
	}
	for s := range dialect.Items[M](list) {
		o.Count(s, deleted)
	}
	return nil
}

// state returns the state of a set by its deployment, if it has one.
func (f *fleet[M]) state(ctx context.Context, set *unstructured.Unstructured) (disruption.OwnerState, error) {
	deployment, owned, err := f.ownerOf(ctx, set)
	switch {
	case err != nil:
		return disruption.OwnerUnknown, err
	case deployment == nil: // a nil pointer in an interface would not be nil
		return disruption.StateOf(set, owned, nil), nil
	}
	return disruption.StateOf(set, owned, deployment), nil
}

// ownerOf reads the controller of an object: nil if it does not exist any more. Owned is false if the object has none.
func (f *fleet[M]) ownerOf(ctx context.Context, of client.Object) (owner *unstructured.Unstructured, owned bool, err error) {
	ref := metav1.GetControllerOfNoCopy(of)
	if ref == nil {
		return nil, false, nil
	}
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(ref.APIVersion)
	u.SetKind(ref.Kind)
	err = f.Live.Get(ctx, client.ObjectKey{Namespace: of.GetNamespace(), Name: ref.Name}, u)
	switch {
	case apierrors.IsNotFound(err), err == nil && u.GetUID() != ref.UID:
		return nil, true, nil
	case err != nil:
		return nil, true, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
	}
	return u, true, nil
}
