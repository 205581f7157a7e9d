package machinehealthcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

// Annotations of remediation requests that their controllers read.
const (
	clonedFromName = "machine.openshift.io/cloned-from-name"
	clonedFromKind = "machine.openshift.io/cloned-from-groupkind"
)

// requestKind is the kind that a template creates: the template's own kind without the suffix.
func requestKind(ref *corev1.ObjectReference) schema.GroupVersionKind {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "Template")
	return gvk
}

// requestLook is the pause before the pass checks whether a request still exists: its kind is not watched
// here, and another client may delete it while the machine is unhealthy.
const requestLook = 2 * time.Minute

// request creates the request about a machine, with the machine's name. An existing request serves as well.
func (r *remediator[C]) request(ctx context.Context, m client.Object, c *health.Case) error {
	r.asked.any = true
	ref := r.lens.Template(r.object)
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(requestKind(ref))
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(m), there)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		r.asked.requestErr = fmt.Errorf("read remediation request %s: %w", m.GetName(), err)
		return r.asked.requestErr
	}
	template := &unstructured.Unstructured{}
	template.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: ref.Name}, template); err != nil {
		r.asked.templateErr = fmt.Errorf("read remediation template %s %s: %w", ref.Kind, ref.Name, err)
		return r.asked.templateErr
	}
	gvk, err := apiutil.GVKForObject(m, r.Client.Scheme())
	if err != nil {
		return err
	}
	o, err := fromTemplate(template, ref)
	if err != nil {
		r.asked.templateErr = err
		return err
	}
	o.SetName(m.GetName())
	o.SetNamespace(m.GetNamespace())
	o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: m.GetName(), UID: m.GetUID(),
	}))
	if err := r.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		r.asked.requestErr = fmt.Errorf("create remediation request for %s: %w", c.Target.Name, err)
		return r.asked.requestErr
	}
	return nil
}

// fromTemplate is the object that a template describes at spec.template.
func fromTemplate(template *unstructured.Unstructured, ref *corev1.ObjectReference) (*unstructured.Unstructured, error) {
	content, found, err := unstructured.NestedMap(template.Object, "spec", "template")
	if err == nil && !found {
		err = errors.New("missing Spec.Template")
	}
	if err != nil {
		return nil, fmt.Errorf("%w on %s %s", err, ref.Kind, ref.Name)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(requestKind(ref))
	o.SetResourceVersion("")
	o.SetFinalizers(nil)
	o.SetUID("")
	o.SetSelfLink("")
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[clonedFromName] = ref.Name
	a[clonedFromKind] = schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind().String()
	o.SetAnnotations(a)
	return o, nil
}

// clear deletes the requests of machines that are healthy again.
func (r *remediator[C]) clear(ctx context.Context) error {
	if len(r.plan.Recovered) == 0 {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(requestKind(r.lens.Template(r.object)))
	if err := r.Live.List(ctx, list, client.InNamespace(r.object.GetNamespace())); err != nil {
		return fmt.Errorf("list remediation requests: %w", err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		byName[list.Items[i].GetName()] = &list.Items[i]
	}
	var errs []error
	for _, t := range r.plan.Recovered {
		if o := byName[t.Name]; o != nil && o.GetDeletionTimestamp() == nil && isFor(o, t) {
			if err := r.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				errs = append(errs, fmt.Errorf("delete remediation request %s: %w", t.Name, err))
				continue
			}
		}
		r.state.cohort.cleared(t.UID)
	}
	return errors.Join(errs...)
}

// isFor reports whether a request belongs to the machine.
func isFor(o *unstructured.Unstructured, t health.Target) bool {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == t.UID {
			return true
		}
	}
	return false
}
