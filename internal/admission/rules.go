// Package admission validates machines, sets and the objects that create them when they are written: it
// fills in defaults, refuses objects that cannot work, and warns of probable mistakes. It serves API
// servers as webhooks, and maintains the certificate for that.
//
// The rules are pure. The [admit.Admitter] of an infrastructure has those for its provider spec. A write
// that a deletion or a change of size needs is never refused: an update is refused only for its own
// changes, and earlier faults become warnings.
package admission

import (
	"fmt"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
)

// Labels whose value makes a machine one of the control plane.
const (
	roleLabel    = "machine.openshift.io/cluster-api-machine-role"
	typeLabel    = "machine.openshift.io/cluster-api-machine-type"
	controlPlane = "master"
)

// Rules are the rules of one cluster.
type Rules struct {
	// Admitter has the rules of the infrastructure; nil: no rules, and provider specs are not
	// checked.
	Admitter admit.Admitter
	Platform admit.Platform
}

// Verdict is the result of the validation of an object.
type Verdict struct {
	// Faults refuse it, Warnings go to the user who wrote it.
	Faults   field.ErrorList
	Warnings []string
	// Credentials is the secret that the spec names, which the caller has to look up. Without a name there
	// is no secret to look up; without a namespace the object's own is meant.
	Credentials provider.SecretRef
}

// Machine validates m, which is to replace old; a nil old: m is new.
func (r Rules) Machine(m, old *machinev1.Machine) Verdict {
	deleting := m.DeletionTimestamp != nil
	same := old != nil && sameSpec(m.Spec.ProviderSpec, old.Spec.ProviderSpec)
	var v Verdict
	if !deleting || !same {
		v = r.spec(m.Spec.ProviderSpec, about(m))
		v.spare(same)
	}
	if deleting && old != nil {
		v.Faults = append(changedHooks(m.Spec.LifecycleHooks, old.Spec.LifecycleHooks), v.Faults...)
	}
	return v
}

// about says to an admitter whose spec it validates.
func about(m *machinev1.Machine) admit.Request {
	return admit.Request{Machine: m.Name, ControlPlane: m.Labels[roleLabel] == controlPlane || m.Labels[typeLabel] == controlPlane}
}

// MachineSet validates s, which is to replace old; a nil old: s is new. Its template is validated as a
// machine without a name and without labels.
func (r Rules) MachineSet(s, old *machinev1.MachineSet) Verdict {
	var chosen Verdict
	chosen.Faults = selects(s)
	chosen.spare(old != nil && sameLabels(s, old))
	if old != nil && !sameSelector(&s.Spec.Selector, &old.Spec.Selector) {
		chosen.Faults = append(field.ErrorList{field.Forbidden(field.NewPath("spec", "selector"), "selector is immutable")}, chosen.Faults...)
	}
	if s.DeletionTimestamp != nil && old != nil && sameSpec(s.Spec.Template.Spec.ProviderSpec, old.Spec.Template.Spec.ProviderSpec) {
		return Verdict{Faults: chosen.Faults}
	}
	v := r.spec(s.Spec.Template.Spec.ProviderSpec, admit.Request{})
	v.spare(old != nil && sameSpec(s.Spec.Template.Spec.ProviderSpec, old.Spec.Template.Spec.ProviderSpec))
	v.Faults = append(chosen.Faults, v.Faults...)
	v.Warnings = append(chosen.Warnings, v.Warnings...)
	return v
}

// spare turns faults into warnings if the faulty field is unchanged: a client that annotates a machine or
// scales a set has not written it. Nor is a secret looked up again with each such write.
func (v *Verdict) spare(unchanged bool) {
	if !unchanged {
		return
	}
	v.Credentials = provider.SecretRef{}
	for _, f := range v.Faults {
		v.Warnings = append(v.Warnings, f.Error())
	}
	v.Faults = nil
}

// selects returns the faults of the selector of s.
func selects(s *machinev1.MachineSet) (out field.ErrorList) {
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	switch {
	case err != nil:
		out = append(out, field.Invalid(field.NewPath("spec", "selector"), s.Spec.Selector, fmt.Sprintf("could not convert label selector to selector: %v", err)))
	case !selector.Matches(labels.Set(s.Spec.Template.Labels)):
		out = append(out, field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), s.Spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	return out
}

// changedHooks returns the hooks that a machine has gained: once it is under deletion, hooks may be removed
// but not added.
func changedHooks(now, old machinev1.LifecycleHooks) (out field.ErrorList) {
	path := field.NewPath("spec", "lifecycleHooks")
	check := func(at, name string, now, old []machinev1.LifecycleHook) {
		if changed := added(now, old); len(changed) > 0 {
			out = append(out, field.Forbidden(path.Child(at), fmt.Sprintf(
				"%s hooks are immutable when machine is marked for deletion: the following hooks are new or changed: %+v", name, changed)))
		}
	}
	check("preDrain", "pre-drain", now.PreDrain, old.PreDrain)
	check("preTerminate", "pre-terminate", now.PreTerminate, old.PreTerminate)
	return out
}

func added(now, old []machinev1.LifecycleHook) (out []machinev1.LifecycleHook) {
	for _, h := range now {
		if !slices.Contains(old, h) {
			out = append(out, h)
		}
	}
	return out
}
