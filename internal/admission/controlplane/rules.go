// Package controlplane validates control plane machine sets when they are written. The rules, messages and field paths are those of the
// replaced operator; section 9 of docs/originals/controlplanemachineset.md lists them.
//
// An update that does not change the spec is not refused: earlier faults become warnings.
package controlplane

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
)

// name is that of the only object.
const name = "cluster"

// Facts are what the rules depend on besides the object.
type Facts struct {
	// Infrastructure is nil if the cluster has none.
	Infrastructure *configv1.Infrastructure
	// Machines are those of the control plane. They count when the object is created.
	Machines []machinev1beta1.Machine
	// Rules are those of machines, for the platform of a provider spec; "" is an unknown platform.
	Rules func(configv1.PlatformType) admission.Rules
}

// Verdict is the result of a validation.
type Verdict struct {
	// Faults refuse the object, Warnings go to the user who wrote it.
	Faults   []error
	Warnings []string
}

// Excused reports whether a write is accepted without a look at the object: the update under deletion that removes the last finalizer.
func Excused(set, old *machinev1.ControlPlaneMachineSet) bool {
	return old != nil && set.DeletionTimestamp != nil && len(set.Finalizers) == 0 && len(old.Finalizers) > 0 && !activatesDeleted(set, old)
}

func activatesDeleted(set, old *machinev1.ControlPlaneMachineSet) bool {
	const active = machinev1.ControlPlaneMachineSetStateActive
	return set.DeletionTimestamp != nil && old.Spec.State != active && set.Spec.State == active
}

// Validate validates a set that is to replace old; a nil old: the set is new.
func Validate(set, old *machinev1.ControlPlaneMachineSet, f Facts) Verdict {
	if old != nil && activatesDeleted(set, old) {
		return Verdict{Faults: []error{field.Forbidden(field.NewPath("spec", "state"), "control plane machine set with deletion timestamp cannot be activated")}}
	}
	if Excused(set, old) {
		return Verdict{}
	}
	v := f.spec(set)
	if set.Name != name {
		v.Faults = append([]error{field.Invalid(field.NewPath("metadata", "name"), set.Name, "control plane machine set name must be cluster")}, v.Faults...)
	}
	switch {
	case old == nil:
		v.Faults = append(v.Faults, f.onCreate(set)...)
	case equality.Semantic.DeepEqual(old.Spec, set.Spec):
		for _, fault := range v.Faults {
			v.Warnings = append(v.Warnings, fault.Error())
		}
		v.Faults = nil
	}
	return v
}

var templatePath = field.NewPath("spec", "template")

// spec has the rules for creations and updates.
func (f Facts) spec(set *machinev1.ControlPlaneMachineSet) (v Verdict) {
	const kind = machinev1.OpenShiftMachineV1Beta1MachineType
	t := set.Spec.Template
	path := templatePath.Child(string(kind))
	switch {
	case t.MachineType != kind:
		return Verdict{Faults: []error{field.NotSupported(templatePath.Child("machineType"), t.MachineType, []string{string(kind)})}}
	case t.OpenShiftMachineV1Beta1Machine == nil:
		return Verdict{Faults: []error{field.Required(path, fmt.Sprintf("%s is required when machine type is %s", kind, kind))}}
	}
	template := *t.OpenShiftMachineV1Beta1Machine
	v.Faults = matches(set.Spec.Selector, template.ObjectMeta.Labels, path.Child("metadata", "labels"))
	specPath := path.Child("spec", "providerSpec")
	config, err := failuredomain.OfTemplate(template, f.Infrastructure)
	if err != nil {
		v.Faults = append(v.Faults, field.Invalid(specPath, field.OmitValueType{}, "error determining provider configuration: "+err.Error()))
		return v
	}
	of := f.ofPlatform(config, template, specPath.Child("value"))
	v.Warnings, v.Faults = of.Warnings, append(v.Faults, of.Faults...)
	v.Faults = append(v.Faults, f.machine(set.Namespace, config, template, specPath)...)
	return v
}

func matches(selector metav1.LabelSelector, of map[string]string, path *field.Path) []error {
	s, err := metav1.LabelSelectorAsSelector(&selector)
	switch {
	case err != nil:
		return []error{field.Invalid(field.NewPath("spec", "selector"), field.OmitValueType{}, "could not convert label selector to selector: "+err.Error())}
	case !s.Matches(labels.Set(of)):
		return []error{field.Invalid(path, of, "selector does not match template labels")}
	}
	return nil
}

// machine validates a machine that would be created, in the first failure domain.
func (f Facts) machine(namespace string, config failuredomain.Config, template machinev1.OpenShiftMachineV1Beta1MachineTemplate, path *field.Path) []error {
	domains, err := failuredomain.List(template.FailureDomains)
	if err != nil {
		return []error{field.Invalid(path, field.OmitValueType{}, "error constructing failure domain config: "+err.Error())}
	}
	if len(domains) > 0 {
		if config, err = config.In(domains[0]); err != nil {
			return []error{field.Invalid(path, field.OmitValueType{}, "error injecting failure domain into provider config: "+err.Error())}
		}
	}
	m := &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tmp-machine-dry-run", Labels: template.ObjectMeta.Labels, Annotations: template.ObjectMeta.Annotations},
		Spec:       *template.Spec.DeepCopy(),
	}
	m.Spec.ProviderSpec.Value.Raw = config.Raw()
	rules := f.Rules(config.Platform)
	filled, faults := rules.DefaultMachine(m)
	if filled.Spec != nil {
		m.Spec.ProviderSpec.Value.Raw = filled.Spec
	}
	if len(faults) == 0 {
		faults = rules.Machine(m, nil).Faults
	}
	if len(faults) > 0 {
		return []error{fmt.Errorf("invalid machine spec: %w", faults.ToAggregate())}
	}
	return nil
}

// onCreate has the rules for creations.
func (f Facts) onCreate(set *machinev1.ControlPlaneMachineSet) (out []error) {
	if n := set.Spec.Replicas; set.Spec.State == machinev1.ControlPlaneMachineSetStateActive && n != nil && int(*n) != len(f.Machines) {
		out = append(out, field.Forbidden(field.NewPath("spec", "replicas"), fmt.Sprintf(
			"control plane machine set replicas (%d) does not match the current number of control plane machines (%d)", *n, len(f.Machines))))
	}
	template := set.Spec.Template.OpenShiftMachineV1Beta1Machine
	if template == nil {
		return out
	}
	path := templatePath.Child(string(machinev1.OpenShiftMachineV1Beta1MachineType))
	config, err := failuredomain.OfTemplate(*template, f.Infrastructure)
	if err != nil {
		return out // reported already
	}
	base, err := config.Domain()
	if err != nil {
		return append(out, field.Invalid(path.Child("spec", "providerSpec"), field.OmitValueType{}, "could not parse provider spec: "+err.Error()))
	}
	used, err := f.used()
	if err != nil {
		return append(out, field.InternalError(path, fmt.Errorf("could not get failure domains from cluster machines: %w", err)))
	}
	if template.FailureDomains != nil && template.FailureDomains.Platform != "" {
		return append(out, domainsMatch(template.FailureDomains, base, used, path.Child("failureDomains"))...)
	}
	for _, d := range slices.Compact(slices.Sorted(slices.Values(used))) {
		if d != base.String() {
			out = append(out, field.Invalid(path.Child("spec", "providerSpec"), base.String(),
				"Failure domain extracted from machine template providerSpec does not match failure domain of all control plane machines"))
		}
	}
	return out
}

// used returns the failure domain of each machine.
func (f Facts) used() (out []string, err error) {
	for _, m := range f.Machines {
		c, err := failuredomain.Of(m.Spec.ProviderSpec, f.Infrastructure)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		d, err := c.Domain()
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		out = append(out, d.String())
	}
	return out, nil
}

// domainsMatch compares the failure domains of a template with those that machines use.
func domainsMatch(fds *machinev1.FailureDomains, base failuredomain.Domain, used []string, path *field.Path) (out []error) {
	listed, err := failuredomain.List(fds)
	if err != nil {
		return []error{field.Invalid(path, field.OmitValueType{}, "error getting failure domains from control plane machine set machine template: "+err.Error())}
	}
	var specified []string
	for _, d := range listed {
		specified = append(specified, d.Completed(base).String())
	}
	if missing := without(used, specified); len(missing) > 0 {
		out = append(out, field.Forbidden(path, fmt.Sprintf("control plane machines are using unspecified failure domain(s) %s", missing)))
	}
	var duplicated []string
	for i, d := range used {
		if slices.Contains(used[:i], d) && !slices.Contains(duplicated, d) {
			duplicated = append(duplicated, d)
		}
	}
	if missing := without(specified, used); len(missing) > 0 && len(duplicated) > 0 {
		out = append(out, field.Forbidden(path, fmt.Sprintf(
			"no control plane machine is using specified failure domain(s) %s, failure domain(s) %s are duplicated within the control plane machines, please correct failure domains to match control plane machines",
			missing, duplicated)))
	}
	return out
}

func without(all, others []string) (out []string) {
	for _, d := range all {
		if !slices.Contains(others, d) {
			out = append(out, d)
		}
	}
	return out
}

var fullPath = regexp.MustCompile(`^/.*?/vm/.*?`)

var (
	errNetwork   = errors.New("network devices should not be set when control plane nodes are in a failure domain")
	errWorkspace = errors.New("workspace fields should not be set when control plane nodes are in a failure domain")
)

// fullTemplate returns the fault of a template on VSphere.
func fullTemplate(template string, path *field.Path) []error {
	if strings.Contains(template, "/") && !fullPath.MatchString(template) {
		return []error{field.Invalid(path.Child("template"), template, "template must be provided as the full path")}
	}
	return nil
}
