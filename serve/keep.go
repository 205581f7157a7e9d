package serve

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.ObjectStore = &objects{}

// Keep implements [provider.ObjectStore].
func (o *objects) Keep(ctx context.Context, object []byte) error {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(object); err != nil {
		return provider.Errorf(provider.Invalid, "make an object: %w", err)
	}
	defer o.forget(provider.ObjectRef{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()})
	ctx, cancel := context.WithTimeout(ctx, objectTimeout)
	defer cancel()
	err := o.client.Create(ctx, u)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return answered("make", u, err)
}

// Release implements [provider.ObjectStore].
func (o *objects) Release(ctx context.Context, ref provider.ObjectRef, machine, finalizer string) error {
	u, err := unknown(ref)
	if err != nil {
		return err
	}
	defer o.forget(ref)
	ctx, cancel := context.WithTimeout(ctx, objectTimeout)
	defer cancel()
	err = o.client.Get(ctx, client.ObjectKeyFromObject(u), u)
	if absent(err) || err == nil && !isOwnedBy(u, machine) {
		return nil
	}
	if err == nil && u.GetDeletionTimestamp() == nil {
		err = client.IgnoreNotFound(o.client.Delete(ctx, u, client.Preconditions{UID: new(u.GetUID())}))
	}
	if err == nil && slices.Contains(u.GetFinalizers(), finalizer) {
		err = o.unfinalize(ctx, u, finalizer)
	}
	return answered("release", u, err)
}

// unfinalize removes the finalizer of an object that is under deletion.
func (o *objects) unfinalize(ctx context.Context, u *unstructured.Unstructured, finalizer string) error {
	if err := o.client.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
		return client.IgnoreNotFound(err)
	}
	old := u.DeepCopy()
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == finalizer }))
	return client.IgnoreNotFound(o.client.Patch(ctx, u, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})))
}

func isOwnedBy(o client.Object, machine string) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Kind == "Machine" && r.Name == machine })
}

// unknown returns an empty object with the kind and name in ref. Only the provider knows the Go type of the kind.
func unknown(ref provider.ObjectRef) (*unstructured.Unstructured, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "%s %s: %w", ref.Kind, ref.Name, err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gv.WithKind(ref.Kind))
	u.SetNamespace(ref.Namespace)
	u.SetName(ref.Name)
	return u, nil
}

// absent reports whether an API server says that the object, or its kind, does not exist.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// answered converts the error of an API server to an error for providers.
func answered(verb string, u *unstructured.Unstructured, err error) error {
	what := fmt.Sprintf("%s %s %s", verb, u.GetKind(), client.ObjectKeyFromObject(u))
	switch {
	case err == nil:
		return nil
	case absent(err):
		return fmt.Errorf("%s: %w", what, provider.ErrNoObject)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return provider.Errorf(provider.Denied, "%s: %w", what, err)
	case apierrors.IsConflict(err):
		return provider.Errorf(provider.Conflict, "%s: %w", what, err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return provider.Errorf(provider.Invalid, "%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
