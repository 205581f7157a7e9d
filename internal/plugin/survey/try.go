package survey

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/project"
)

// Documents reads manifests with several documents and lists. namespace is the default namespace of the objects.
// skipped has a text about each object of a kind that a plan ignores. Documents fails if an object has no name.
func Documents(r io.Reader, namespace string) (docs []*unstructured.Unstructured, skipped []string, err error) {
	d := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		var u unstructured.Unstructured
		if err := d.Decode(&u); errors.Is(err, io.EOF) {
			return docs, skipped, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read manifest: %w", err)
		}
		if len(u.Object) == 0 {
			continue
		}
		all := []*unstructured.Unstructured{&u}
		if u.IsList() {
			list, err := u.ToList()
			if err != nil {
				return nil, nil, fmt.Errorf("read manifest: %w", err)
			}
			all = nil
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		}
		for _, o := range all {
			if !planned(o.GroupVersionKind()) {
				skipped = append(skipped, fmt.Sprintf("%s %s is left out: a plan is about machines, their sets, deployments and classes", o.GetKind(), o.GetName()))
				continue
			}
			if o.GetName() == "" {
				return nil, nil, fmt.Errorf("a %s has no name", o.GetKind())
			}
			if o.GetNamespace() == "" {
				o.SetNamespace(namespace)
			}
			docs = append(docs, o)
		}
	}
}

// planned reports whether a plan can be about an object of this kind.
func planned(k schema.GroupVersionKind) bool {
	a, is := apis.Of(k.Group)
	return is && a.Name == k.Group && a.Has(k.Kind) && (slices.Contains(readKinds, k.Kind) || k.Kind == classKind)
}

// classKind is the kind that has the provider spec of machines, in the APIs with classes.
const classKind = "MachineClass"

// Trial is the result of a dry run of a change.
type Trial struct {
	project.Change
	// Note says that the user may not make the change, so that the API server did not try it.
	Note string
}

// Apply returns the effect of `kubectl apply` with a manifest, from a dry run.
func Apply(ctx context.Context, c client.Client, doc *unstructured.Unstructured) (t Trial, err error) {
	wanted, err := typed(c, doc)
	if err != nil {
		return t, err
	}
	now := wanted.DeepCopyObject().(client.Object)
	err = c.Get(ctx, client.ObjectKeyFromObject(wanted), now)
	switch {
	case apierrors.IsNotFound(err):
		return create(ctx, c, wanted)
	case err != nil:
		return t, fmt.Errorf("read %s %s: %w", doc.GetKind(), doc.GetName(), err)
	}
	patch, err := applied(now, doc)
	if err != nil {
		return t, fmt.Errorf("compare %s %s: %w", doc.GetKind(), doc.GetName(), err)
	}
	return Patch(ctx, c, now, patch)
}

func typed(c client.Client, doc *unstructured.Unstructured) (client.Object, error) {
	o, err := c.Scheme().New(doc.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %s is not a version that is known here", doc.GetKind(), doc.GetName(), doc.GetAPIVersion())
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, o); err != nil {
		return nil, fmt.Errorf("%s %s: %w", doc.GetKind(), doc.GetName(), err)
	}
	return o.(client.Object), nil
}

func create(ctx context.Context, c client.Client, wanted client.Object) (Trial, error) {
	after := wanted.DeepCopyObject().(client.Object)
	err := c.Create(ctx, after, client.DryRunAll)
	name := project.ObjectOf(wanted)
	switch {
	case apierrors.IsForbidden(err):
		return Trial{project.Change{After: wanted}, untried(name.Kind, name.Name, "create")}, nil
	case meta.IsNoMatchError(err):
		return Trial{}, fmt.Errorf("create %s %s: the cluster has no such kind", name.Kind, name.Name)
	case err != nil:
		return Trial{}, fmt.Errorf("create %s %s: %w", name.Kind, name.Name, err)
	}
	return Trial{Change: project.Change{After: after}}, nil
}

func untried(kind, name, verb string) string {
	return fmt.Sprintf("you may not %s %s %s: the API server was not asked, so that its defaults and objections are missing here", verb, kind, name)
}

// applied returns the patch from now to doc. The patch also removes the fields that an earlier `kubectl apply` set
// and doc does not have.
func applied(now client.Object, doc *unstructured.Unstructured) ([]byte, error) {
	current, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	original := []byte(now.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	if len(original) > 0 {
		// kubectl stores the applied manifest in an annotation. doc must have this annotation: a manifest without
		// annotations would otherwise remove all annotations.
		doc = doc.DeepCopy()
		noted := doc.GetAnnotations()
		if noted == nil {
			noted = map[string]string{}
		}
		noted[corev1.LastAppliedConfigAnnotation] = string(original)
		doc.SetAnnotations(noted)
	}
	modified, err := json.Marshal(doc.Object)
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
}

// Patch returns the effect of a JSON merge patch, from a dry run. If the user may not change the object, Patch
// applies the patch in memory.
func Patch(ctx context.Context, c client.Client, before client.Object, patch []byte) (Trial, error) {
	if bytes.Equal(bytes.TrimSpace(patch), []byte("{}")) {
		return Trial{Change: project.Change{Before: before, After: before}}, nil
	}
	after := before.DeepCopyObject().(client.Object)
	err := c.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
	name := project.ObjectOf(before)
	switch {
	case apierrors.IsForbidden(err):
		after, err := Merged(before, patch)
		return Trial{project.Change{Before: before, After: after}, untried(name.Kind, name.Name, "change")}, err
	case err != nil:
		return Trial{}, fmt.Errorf("change %s %s: %w", name.Kind, name.Name, err)
	}
	return Trial{Change: project.Change{Before: before, After: after}}, nil
}

// Merged returns before with a JSON merge patch applied in memory.
func Merged(before client.Object, patch []byte) (client.Object, error) {
	raw, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	if raw, err = jsonpatch.MergePatch(raw, patch); err != nil {
		return nil, err
	}
	after := reflect.New(reflect.TypeOf(before).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(raw, after); err != nil {
		return nil, err
	}
	return after, nil
}

// Delete returns the effect of a deletion, from a dry run.
func Delete(ctx context.Context, c client.Client, o client.Object) (Trial, error) {
	err := c.Delete(ctx, o.DeepCopyObject().(client.Object), client.DryRunAll)
	name := project.ObjectOf(o)
	switch {
	case apierrors.IsForbidden(err):
		return Trial{project.Change{Before: o}, untried(name.Kind, name.Name, "delete")}, nil
	case err != nil:
		return Trial{}, fmt.Errorf("delete %s %s: %w", name.Kind, name.Name, err)
	}
	return Trial{Change: project.Change{Before: o}}, nil
}
