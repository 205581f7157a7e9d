package spec

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// check returns the errors of a machine, with paths below at; nil means the spec itself.
func (m *Machine) check(at *field.Path) (faults field.ErrorList) {
	if m.CustomDeploy.Method == "" {
		for name, value := range map[string]string{"url": m.Image.URL, "checksum": m.Image.Checksum} {
			if value == "" {
				faults = append(faults, field.Required(at.Child("image", name), "a host boots an image, unless customDeploy.method says how it is deployed"))
			}
		}
	}
	_, wrong := m.HostSelector.selector(at.Child("hostSelector"))
	faults = append(faults, wrong...)
	slices.SortStableFunc(faults, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	if len(faults) > lenient.MostFaults {
		faults = faults[:lenient.MostFaults]
	}
	return faults
}

// operators maps the operators that differ from label selectors' operators in more than case.
var operators = map[string]selection.Operator{"doesnotexist": selection.DoesNotExist}

// selector returns the label selector, and its errors.
func (h HostSelector) selector(at *field.Path) (labels.Selector, field.ErrorList) {
	var all labels.Requirements
	var faults field.ErrorList
	add := func(at *field.Path, key string, operator selection.Operator, values []string) {
		r, err := labels.NewRequirement(key, operator, values)
		if err != nil {
			faults = append(faults, field.Invalid(at, lenient.Shown(key), lenient.Shown(err.Error())))
			return
		}
		all = append(all, *r)
	}
	for _, key := range slices.Sorted(maps.Keys(h.MatchLabels)) {
		add(at.Child("matchLabels").Key(lenient.Shown(key)), key, selection.Equals, []string{h.MatchLabels[key]})
	}
	for i, r := range h.MatchExpressions {
		lower := strings.ToLower(r.Operator)
		operator := cmp.Or(operators[lower], selection.Operator(lower))
		add(at.Child("matchExpressions").Index(i), r.Key, operator, r.Values)
	}
	return labels.NewSelector().Add(all...), faults
}

// Admitter implements [admit.Admitter]. The original provider validates nothing when a spec is written; the
// controller reports invalid specs. To accept what the original accepts, Admitter returns warnings.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds implements [admit.Admitter].
func (Admitter) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{{Group: OpenShiftGroup, Version: OpenShiftVersion, Kind: OpenShiftKind}}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &OpenShift{} }

// Default changes nothing, as in the original.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	_, document, err := lenient.Decode[OpenShift](a.Spec)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// Admit warns about errors that the controller would report, and about probable mistakes.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, _, err := lenient.Decode[OpenShift](a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	wrong := s.Machine.check(nil)
	if s.UserData != nil && s.UserData.Name == "" {
		wrong = append(wrong, field.Required(field.NewPath("userData", "name"), "it names the secret with the user data of the machine"))
	}
	if s.CredentialsSecret != nil && s.CredentialsSecret.Name == "" {
		wrong = append(wrong, field.Required(field.NewPath("credentialsSecret", "name"), "it names the secret with the kubeconfig of the cluster of the hosts"))
	}
	return append(lenient.Warnings(a.Path, lenient.Error(wrong)), s.warnings(a.Path)...), nil
}

// warnings are about valid specs that are probably mistakes.
func (s *OpenShift) warnings(at *field.Path) (all []string) {
	if s.UserData == nil {
		all = append(all, at.Child("userData").String()+": is not given: hosts boot without user data, and join nothing by it")
	}
	if s.CustomDeploy.Method != "" && (s.Image.URL == "") != (s.Image.Checksum == "") {
		all = append(all, at.Child("image").String()+": is used only with both url and checksum")
	}
	return all
}
