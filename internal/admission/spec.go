package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
)

// specPath is the path of the fields of a spec for an admitter; the whole spec is at its child "value".
var specPath = field.NewPath("providerSpec")

// spec validates a provider spec; about says whose it is.
func (r Rules) spec(s machinev1.ProviderSpec, about admit.Request) (v Verdict) {
	if r.Admitter == nil {
		return v
	}
	if absent(s) {
		return Verdict{Faults: field.ErrorList{required()}}
	}
	about.Spec, about.Path, about.Platform = s.Value.Raw, specPath, r.Platform
	said, faults := r.Admitter.Admit(about)
	for _, f := range faults {
		if f.Field == specPath.String() { // it cannot be decoded
			f.Field = specPath.Child("value").String()
		}
	}
	v.Faults = faults
	v.Warnings = append(v.Warnings, r.called(about.Spec, said)...)
	v.Warnings = append(v.Warnings, r.unknown(about.Spec, said)...)
	v.Warnings = append(v.Warnings, said...)
	var named struct {
		CredentialsSecret *provider.SecretRef `json:"credentialsSecret"`
	}
	if err := json.Unmarshal(about.Spec, &named); err == nil && named.CredentialsSecret != nil {
		v.Credentials = *named.CredentialsSecret
	}
	return v
}

// Texts that clients look for, and by which a repeated warning of an admitter is recognized.
const (
	wrongKind    = "incorrect GroupVersionKind for "
	unknownField = "Unknown field ("
)

// called warns of a spec whose kind is not that of the infrastructure.
func (r Rules) called(spec []byte, said []string) []string {
	kinds := r.Admitter.Kinds()
	var is metav1.TypeMeta
	if err := json.Unmarshal(spec, &is); err != nil || len(kinds) == 0 || mentions(said, wrongKind) {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)
	if slices.Contains(kinds, gvk) {
		return nil
	}
	return []string{fmt.Sprintf("%s%s object: %s", wrongKind, kinds[0].Kind, gvk)}
}

// unknown warns of the first field that no spec of the infrastructure has.
func (r Rules) unknown(spec []byte, said []string) []string {
	shaper, ok := r.Admitter.(admit.SpecShaper)
	if !ok || mentions(said, unknownField) {
		return nil
	}
	// The original matches the names of fields without regard to case, and so does this function.
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(shaper.SpecShape())
	if err == nil {
		return nil
	}
	_, quoted, found := strings.Cut(err.Error(), "unknown field ")
	name, unreadable := strconv.Unquote(quoted)
	if !found || unreadable != nil {
		return nil
	}
	name = provider.Clip(name, mostName)
	return []string{(&field.Error{
		Type: field.ErrorTypeNotSupported, Field: specPath.Child("value").String(), BadValue: name,
		Detail: unknownField + name + ") will be ignored",
	}).Error()}
}

// mostName is how many bytes of a field's name a warning shows.
const mostName = 100

func mentions(said []string, text string) bool {
	return slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, text) })
}

func absent(s machinev1.ProviderSpec) bool {
	return s.Value == nil || len(s.Value.Raw) == 0 || string(bytes.TrimSpace(s.Value.Raw)) == "null"
}

func required() *field.Error {
	return field.Required(specPath.Child("value"), "a value must be provided")
}

// sameSpec reports whether two specs are equal.
func sameSpec(a, b machinev1.ProviderSpec) bool {
	if absent(a) || absent(b) {
		return absent(a) && absent(b)
	}
	if bytes.Equal(a.Value.Raw, b.Value.Raw) {
		return true
	}
	var x, y any
	return json.Unmarshal(a.Value.Raw, &x) == nil && json.Unmarshal(b.Value.Raw, &y) == nil && reflect.DeepEqual(x, y)
}

func sameSelector(a, b *metav1.LabelSelector) bool { return equality.Semantic.DeepEqual(a, b) }

// sameLabels reports whether the labels that [selects] reads are unchanged.
func sameLabels(s, old *machinev1.MachineSet) bool {
	return sameSelector(&s.Spec.Selector, &old.Spec.Selector) && maps.Equal(s.Spec.Template.Labels, old.Spec.Template.Labels)
}
