package operator

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchAgain is how long a kind that may not be patched is updated, before the operator tries to patch it
// again: an administrator may have granted the right meanwhile.
const patchAgain = 10 * time.Minute

// ways remembers which kinds may not be patched. The original's roles grant get, create and update on the
// operands in the whole cluster.
type ways struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// refused is when patching a kind was refused, by kind and subresource.
	refused map[string]time.Time
}

// patchOr patches, or updates if the kind may not be patched. If both are forbidden, it returns both
// errors.
func (w *ways) patchOr(kind string, patch, update func() error) error {
	w.mu.Lock()
	at, refused := w.refused[kind]
	w.mu.Unlock()
	var first error
	if !refused || w.clock.Since(at) >= patchAgain {
		first = patch()
		w.note(kind, apierrors.IsForbidden(first))
		if !apierrors.IsForbidden(first) {
			return first
		}
	}
	err := update()
	if apierrors.IsForbidden(err) {
		w.note(kind, false) // either right suffices: try both next time, and report both
		return errors.Join(first, err)
	}
	return err
}

func (w *ways) note(kind string, refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused == nil {
		w.refused = map[string]time.Time{}
	}
	if refused {
		w.refused[kind] = w.clock.Now()
		return
	}
	delete(w.refused, kind)
}

// update brings the object on the server to the fields of want by create and update. An update without a
// change writes nothing: the API server fills in the defaults that want lacks, and finds the object
// unchanged.
func (a applier) update(ctx context.Context, want *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(want.GroupVersionKind())
	there, err := get(ctx, a.Client, client.ObjectKeyFromObject(want), live)
	if err != nil {
		return err
	}
	want = want.DeepCopy()
	if !there {
		return a.Client.Create(ctx, want, client.FieldOwner(Name))
	}
	keepBundles(live, want)
	keepRestart(live, want)
	for _, field := range []string{"spec", "webhooks"} {
		if said, ok := want.Object[field]; ok {
			live.Object[field] = said
		}
	}
	live.SetLabels(merged(live.GetLabels(), want.GetLabels()))
	live.SetAnnotations(merged(live.GetAnnotations(), want.GetAnnotations()))
	return a.Client.Update(ctx, live, client.FieldOwner(Name))
}

func merged(live, want map[string]string) map[string]string {
	if len(live)+len(want) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range live {
		out[k] = v
	}
	for k, v := range want {
		out[k] = v
	}
	return out
}

// keepRestart keeps requests for a restart of the pods, which are no drift.
func keepRestart(live, want *unstructured.Unstructured) {
	at := []string{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}
	if said, _, _ := unstructured.NestedString(live.Object, at...); said != "" {
		_ = unstructured.SetNestedField(want.Object, said, at...)
	}
}
