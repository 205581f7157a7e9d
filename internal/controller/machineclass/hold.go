package machineclass

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// hold is a finalizer that has to be present or absent.
type hold struct {
	finalizer string
	wanted    bool
}

// apply writes only if something differs. The patch fails if the object was changed since the read, because
// it writes the whole list of finalizers. An object under deletion gets no finalizer: the API server would
// refuse it.
func (h hold) apply(ctx context.Context, c client.Client, o client.Object) error {
	if h.wanted && o.GetDeletionTimestamp() != nil {
		return nil
	}
	edited := o.DeepCopyObject().(client.Object)
	change := controllerutil.RemoveFinalizer
	if h.wanted {
		change = controllerutil.AddFinalizer
	}
	if !change(edited, h.finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, edited, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change finalizer %s of %s: %w", h.finalizer, client.ObjectKeyFromObject(o), err)
	}
	return nil
}
