package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/millwright-dev/millwright/internal/operator/operands"
)

// applier writes operands: by server-side apply, and, if that is not permitted, by create and update, which
// the original's roles grant.
type applier struct {
	client.Client
	ways *ways
}

// applyAll applies each operand, and continues after a failure: webhooks first, so that no object is stored
// without validation once the programs run.
func (a applier) applyAll(ctx context.Context, want operands.Operands) error {
	all := []client.Object{want.Validating, want.Mutating}
	if r := want.Remediation; r != nil {
		all = append(all, r.Validating, r.Mutating)
	}
	for _, p := range want.Policies {
		all = append(all, p)
	}
	all = append(all, want.Controllers)
	if want.Termination != nil {
		all = append(all, want.Termination)
	}
	var failed []error
	for _, one := range all {
		u, err := a.manifest(one)
		if err == nil {
			err = retry.RetryOnConflict(retry.DefaultRetry, func() error { return a.apply(ctx, u) })
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("apply %s %s: %w", u.GetKind(), one.GetName(), err))
		}
	}
	return errors.Join(failed...)
}

// manifest is an operand as it is applied, with only the fields that it sets.
func (a applier) manifest(of client.Object) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	gvk, err := apiutil.GVKForObject(of, a.Client.Scheme())
	if err != nil {
		return out, err
	}
	if out.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(of); err != nil {
		return out, err
	}
	delete(out.Object, "status")
	dropNulls(out.Object)
	out.SetGroupVersionKind(gvk)
	return out, nil
}

func dropNulls(in any) {
	switch v := in.(type) {
	case map[string]any:
		for k, inner := range v {
			if inner == nil {
				delete(v, k)
				continue
			}
			dropNulls(inner)
		}
	case []any:
		for _, inner := range v {
			dropNulls(inner)
		}
	}
}

// apply brings the object on the server to the fields of want, and removes all others from its spec.
func (a applier) apply(ctx context.Context, want *unstructured.Unstructured) error {
	return a.ways.patchOr(want.GroupVersionKind().GroupKind().String(),
		func() error { return a.patch(ctx, want) }, func() error { return a.update(ctx, want) })
}

// patch does so by server-side apply.
func (a applier) patch(ctx context.Context, want *unstructured.Unstructured) error {
	want = want.DeepCopy()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(want.GroupVersionKind())
	there, err := get(ctx, a.Client, client.ObjectKeyFromObject(want), live)
	if err != nil {
		return err
	}
	if there {
		if err := a.adopt(ctx, live); err != nil {
			return err
		}
		if keepBundles(live, want) {
			want.SetResourceVersion(live.GetResourceVersion())
		}
	}
	return a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), client.FieldOwner(Name), client.ForceOwnership)
}

// adopt makes the operator the owner of the fields that others wrote into the spec, so that fields which it
// does not apply are removed: a container that another client added, or fields of an earlier operator that
// updated objects instead of applying them.
func (a applier) adopt(ctx context.Context, live *unstructured.Unstructured) error {
	before := live.GetManagedFields()
	entries, foreign := []metav1.ManagedFieldsEntry{}, sets.New[string]()
	for _, e := range before {
		if isForeign(e) {
			e.Operation = metav1.ManagedFieldsOperationUpdate
			foreign.Insert(e.Manager)
		}
		entries = append(entries, e)
	}
	if foreign.Len() == 0 {
		return nil
	}
	live.SetManagedFields(entries)
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, foreign, Name)
	if err != nil || patch == nil {
		return err
	}
	return a.Client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
}

// isForeign reports whether another client, or the operator by other means, wrote something into the spec
// that has to be removed. CAs in webhooks and requests for a restart stay.
func isForeign(e metav1.ManagedFieldsEntry) bool {
	if e.Subresource != "" || e.FieldsV1 == nil || e.Manager == Name && e.Operation == metav1.ManagedFieldsOperationApply {
		return false
	}
	var fields map[string]any
	if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	return written(fields["f:spec"]) || written(fields["f:webhooks"])
}

// written reports whether fields belong to a client that wrote more than others may.
func written(fields any) bool {
	inner, _ := fields.(map[string]any)
	for name, deeper := range inner {
		switch name {
		case ".", "f:caBundle", "f:kubectl.kubernetes.io/restartedAt":
			continue
		}
		if more, _ := deeper.(map[string]any); len(more) == 0 || written(more) {
			return true
		}
	}
	return false
}

// keepBundles keeps the CAs of webhooks, which the server of the webhooks or the service CA writes. It
// reports whether there are any.
func keepBundles(live, want *unstructured.Unstructured) (kept bool) {
	bundles := map[any]any{}
	hooks, _, _ := unstructured.NestedSlice(live.Object, "webhooks")
	for _, h := range hooks {
		hook, _ := h.(map[string]any)
		if bundle, _, _ := unstructured.NestedString(hook, "clientConfig", "caBundle"); bundle != "" {
			bundles[hook["name"]] = bundle
		}
	}
	if len(bundles) == 0 {
		return false
	}
	wanted, _ := want.Object["webhooks"].([]any)
	for _, h := range wanted {
		hook, _ := h.(map[string]any)
		if call, ok := hook["clientConfig"].(map[string]any); ok && bundles[hook["name"]] != nil {
			call["caBundle"], kept = bundles[hook["name"]], true
		}
	}
	return kept
}
