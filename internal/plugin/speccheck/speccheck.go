// Package speccheck checks provider specs by the rules of their infrastructures, as the admission webhooks do, for clusters
// without webhooks. It imports no infrastructure: programs pass the rules in a context.
package speccheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/provider/admit"
)

// admittersKey is the key of the admission rules of infrastructures in a context.
type admittersKey struct{}

// WithAdmitters returns a context with the admission rules of infrastructures, by the names in Infrastructure objects.
// Programs pass them, because this package imports no infrastructure. Without them, only the API server checks provider
// specs, by its webhooks.
func WithAdmitters(ctx context.Context, all map[string]admit.Admitter) context.Context {
	return context.WithValue(ctx, admittersKey{}, all)
}

// Admit checks the provider spec of the changed object by the rules of its infrastructure, as the webhooks do. It
// returns the warnings, and an error that names the invalid fields. The kind of the spec selects the infrastructure.
// Facts about the cluster that webhooks know are not known here.
func Admit(ctx context.Context, before, after client.Object) (warnings []string, err error) {
	all, _ := ctx.Value(admittersKey{}).(map[string]admit.Admitter)
	spec := specOf(after)
	a := admitterOf(all, spec)
	if a == nil {
		return nil, nil
	}
	rules := admission.Rules{Admitter: a}
	var v admission.Verdict
	if m, is := after.(*machinev1.Machine); is {
		old, _ := before.(*machinev1.Machine)
		v = rules.Machine(m, old)
	} else {
		v = rules.MachineSet(setOf(after), setOf(before))
	}
	name := project.ObjectOf(after)
	for _, w := range v.Warnings {
		warnings = append(warnings, fmt.Sprintf("%s: %s", name, w))
	}
	if len(v.Faults) == 0 {
		return warnings, nil
	}
	var faults []string
	for _, f := range v.Faults {
		faults = append(faults, f.Error())
	}
	return warnings, fmt.Errorf("the provider spec of %s is invalid: %s", name, strings.Join(faults, "; "))
}

// specOf returns the provider spec of a machine, or of the template of a set or a deployment; nil for other objects.
func specOf(o client.Object) []byte {
	var s machinev1.ProviderSpec
	if m, is := o.(*machinev1.Machine); is {
		s = m.Spec.ProviderSpec
	} else if set := setOf(o); set != nil {
		s = set.Spec.Template.Spec.ProviderSpec
	}
	if s.Value == nil {
		return nil
	}
	return s.Value.Raw
}

// setOf returns a set, or the set that a deployment creates; nil for other objects.
func setOf(o client.Object) *machinev1.MachineSet {
	switch o := o.(type) {
	case *machinev1.MachineSet:
		return o
	case *v1beta1.MachineDeployment:
		return &machinev1.MachineSet{Spec: machinev1.MachineSetSpec{Selector: o.Spec.Selector, Template: o.Spec.Template}}
	}
	return nil
}

// admitterOf returns the rules for the kind of a spec; nil if no infrastructure has the kind.
func admitterOf(all map[string]admit.Admitter, spec []byte) admit.Admitter {
	var is metav1.TypeMeta
	if len(spec) == 0 || json.Unmarshal(spec, &is) != nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)
	for _, a := range all {
		if slices.Contains(a.Kinds(), gvk) {
			return a
		}
	}
	return nil
}
