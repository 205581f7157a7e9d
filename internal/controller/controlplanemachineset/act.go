package controlplanemachineset

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

// act carries out one decision.
func (r *Reconciler) act(ctx context.Context, set *machinev1.ControlPlaneMachineSet, s *sight, d controlplane.Decision) error {
	switch d.Step {
	case controlplane.Create:
		return r.create(ctx, set, s, d.Index)
	case controlplane.Delete:
		return r.delete(ctx, set, s, d.Machine)
	}
	return nil
}

// names is how many names are tried: a name may belong to a machine of another owner.
const names = 3

// create creates a machine of an index.
func (r *Reconciler) create(ctx context.Context, set *machinev1.ControlPlaneMachineSet, s *sight, index int32) error {
	for attempt := range names {
		m := newMachine(set, s.wanted[index], index, attempt)
		err := r.Client.Create(ctx, m)
		if err == nil {
			r.event(set, "Created", "Create", "created machine: "+m.Name)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create a machine of index %d: %w", index, err)
		}
		was := &machinev1beta1.Machine{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(m), was); err != nil {
			return fmt.Errorf("read machine %s, which exists already: %w", m.Name, err)
		}
		listed := slices.ContainsFunc(s.machines, func(o machinev1beta1.Machine) bool { return o.UID == was.UID })
		if metav1.IsControlledBy(was, set) && !listed {
			return nil // an earlier pass created it, and its reply was lost
		}
	}
	return fmt.Errorf("create a machine of index %d: the names are in use", index)
}

func newMachine(set *machinev1.ControlPlaneMachineSet, config failuredomain.Config, index int32, attempt int) *machinev1beta1.Machine {
	template := set.Spec.Template.OpenShiftMachineV1Beta1Machine
	labels := template.ObjectMeta.Labels
	prefix := cmp.Or(set.Spec.MachineNamePrefix, labels[machinev1beta1.MachineClusterIDLabel]+"-"+labels[failuredomain.RoleLabel])
	m := &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: fmt.Sprintf("%s-%s-%d", prefix, suffix(set, index, attempt), index),
			Labels: maps.Clone(labels), Annotations: maps.Clone(template.ObjectMeta.Annotations),
			OwnerReferences: []metav1.OwnerReference{reference(set)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: config.Raw()}
	return m
}

// suffix returns the five characters of a new machine's name. They follow from the version of the set, which changes with its status: a repeated creation has the same name,
// and a later machine of the index has another one.
func suffix(set *machinev1.ControlPlaneMachineSet, index int32, attempt int) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %d %d", set.UID, set.ResourceVersion, index, attempt)
	text, rest := make([]byte, 5), h.Sum64()
	for i := range text {
		text[i] = 'a' + byte(rest%letters)
		rest /= letters
	}
	return rand.SafeEncodeString(string(text))
}

// letters is the number of characters in names of Kubernetes.
const letters = 27

// delete deletes a machine that this pass has seen.
func (r *Reconciler) delete(ctx context.Context, set *machinev1.ControlPlaneMachineSet, s *sight, name string) error {
	for i := range s.machines {
		m := &s.machines[i]
		if m.Name != name {
			continue
		}
		err := r.Client.Delete(ctx, m, client.Preconditions{UID: ptr.To(m.UID)})
		if err != nil {
			return client.IgnoreNotFound(fmt.Errorf("delete machine %s: %w", name, err))
		}
		r.event(set, "Deleted", "Delete", "deleted machine: "+name)
	}
	return nil
}

// adopt adds the owner reference of the set to machines without a controller, and replaces a reference to an earlier set of this name.
func (r *Reconciler) adopt(ctx context.Context, set *machinev1.ControlPlaneMachineSet, s *sight) error {
	for i := range s.machines {
		m := &s.machines[i]
		owner := metav1.GetControllerOf(m)
		if owner != nil && (owner.UID == set.UID || !ours(set, *owner)) {
			continue
		}
		err := r.patch(ctx, m, func() {
			m.OwnerReferences = slices.DeleteFunc(m.OwnerReferences, func(o metav1.OwnerReference) bool { return ours(set, o) })
			m.OwnerReferences = append(m.OwnerReferences, reference(set))
		})
		if err != nil {
			return fmt.Errorf("add the owner reference to machine %s: %w", m.Name, err)
		}
	}
	return nil
}

// release removes the owner references of a set under deletion, and then its finalizer. No machine is deleted.
func (r *Reconciler) release(ctx context.Context, set *machinev1.ControlPlaneMachineSet) error {
	if !controllerutil.ContainsFinalizer(set, Finalizer) {
		return nil
	}
	machines, err := r.selected(ctx, set)
	if err != nil {
		return err
	}
	for i := range machines {
		m := &machines[i]
		of := func(o metav1.OwnerReference) bool { return o.UID == set.UID || ours(set, o) }
		if !slices.ContainsFunc(m.OwnerReferences, of) {
			continue
		}
		if err := r.patch(ctx, m, func() { m.OwnerReferences = slices.DeleteFunc(m.OwnerReferences, of) }); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the owner reference from machine %s: %w", m.Name, err)
		}
	}
	err = r.patch(ctx, set, func() { controllerutil.RemoveFinalizer(set, Finalizer) })
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("remove the finalizer: %w", err))
	}
	return nil
}

// cut splits an apiVersion into group and version.
func cut(apiVersion string) (group, version string, ok bool) { return strings.Cut(apiVersion, "/") }
