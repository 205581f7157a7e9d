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
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/plugin/speccheck"
)

// Documents reads manifests with several documents and lists. namespace is the default namespace of the objects.
// skipped has a text about each object of a kind that a plan ignores. Documents fails if an object has no name.
func Documents(r io.Reader, namespace string) (docs []*unstructured.Unstructured, skipped []string, err error) {
	d := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for n := 1; ; n++ {
		var u unstructured.Unstructured
		if err := d.Decode(&u); errors.Is(err, io.EOF) {
			return docs, skipped, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("document %d is not the YAML or JSON of a Kubernetes object: %w", n, err)
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
				skipped = append(skipped, leftOut(o))
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

// leftOut says that a plan is not about an object.
func leftOut(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s (%s) is left out: a plan is about machines, their sets, deployments and classes, of %s", o.GetKind(), o.GetName(), o.GetAPIVersion(), strings.Join(apis.Names(), " and "))
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
	// Warnings are about the provider spec.
	Warnings []string
}

// checked adds the objections of the infrastructure to the provider spec. If the API server did not try the change, its
// webhooks have not set defaults, so that objections are warnings.
func (t Trial) checked(ctx context.Context) (Trial, error) {
	warnings, err := speccheck.Admit(ctx, t.Before, t.After)
	t.Warnings = append(t.Warnings, warnings...)
	if err != nil && t.Note != "" {
		t.Warnings, err = append(t.Warnings, err.Error()), nil
	}
	return t, err
}

// NoObjects is the error about a manifest without an object that can be planned. skipped are the texts about its other
// objects.
func NoObjects(skipped []string) error {
	const most = 3
	switch n := len(skipped); {
	case n == 0:
		return errors.New("is empty: it has no object")
	case n > most:
		skipped = append(slices.Clone(skipped[:most]), fmt.Sprintf("and %d more objects", n-most))
	}
	return errors.New("has no object that can be planned: " + strings.Join(skipped, "; "))
}

// strict lets the API server refuse unknown fields, as kubectl does.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

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
		return create(ctx, c, wanted, doc)
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

func create(ctx context.Context, c client.Client, wanted client.Object, doc *unstructured.Unstructured) (t Trial, err error) {
	made := doc.DeepCopy() // an object of Go's type has no unknown fields
	err = c.Create(ctx, made, client.DryRunAll, strict)
	name := project.ObjectOf(wanted)
	switch {
	case apierrors.IsForbidden(err):
		return Trial{Change: project.Change{After: wanted}, Note: untried(name.Kind, name.Name, "create")}.checked(ctx)
	case meta.IsNoMatchError(err):
		return t, fmt.Errorf("create %s %s: the cluster has no such kind", name.Kind, name.Name)
	case err != nil:
		return t, fmt.Errorf("create %s %s: %w", name.Kind, name.Name, err)
	}
	after, err := typed(c, made)
	if err != nil {
		return t, err
	}
	return Trial{Change: project.Change{After: after}}.checked(ctx)
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
	err := c.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch), client.DryRunAll, strict)
	name := project.ObjectOf(before)
	switch {
	case apierrors.IsForbidden(err):
		after, err := Merged(before, patch)
		if err != nil {
			return Trial{}, err
		}
		return Trial{Change: project.Change{Before: before, After: after}, Note: untried(name.Kind, name.Name, "change")}.checked(ctx)
	case err != nil:
		return Trial{}, fmt.Errorf("change %s %s: %w", name.Kind, name.Name, err)
	}
	return Trial{Change: project.Change{Before: before, After: after}}.checked(ctx)
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
		return Trial{Change: project.Change{Before: o}, Note: untried(name.Kind, name.Name, "delete")}, nil
	case err != nil:
		return Trial{}, fmt.Errorf("delete %s %s: %w", name.Kind, name.Name, err)
	}
	return Trial{Change: project.Change{Before: o}}, nil
}
