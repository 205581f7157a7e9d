package cloud_test

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// A machine's annotation places its instance if the class does not, as in the original; with an invalid one
// no instance is created.
func TestPlacementByAnnotation(t *testing.T) {
	const key = "machine.sapcloud.io/awsPlacement"
	annotated := func(value string) any {
		return map[string]any{"spec": map[string]any{"nodeTemplate": map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}}}}
	}
	for _, c := range []struct {
		reason, api string
		object      any
		spec        string
		kind        provider.Kind
		group       string
	}{
		{"the annotation", provider.Gardener, annotated(`{"GroupName":"together"}`), `{}`, "", "together"},
		{"the class says it", provider.Gardener, annotated(`{"GroupName":"together"}`), `{"placement":{}}`, "", ""},
		{"it is of the other API", provider.OpenShift, annotated(`{"GroupName":"together"}`), `{}`, "", ""},
		{"no annotation", provider.Gardener, annotated(``), `{}`, "", ""},
		{"an annotation that says nothing", provider.Gardener, annotated(`{}`), `{}`, "", ""},
		{"no machine", provider.Gardener, nil, `{}`, "", ""},
		{"an annotation that is no JSON", provider.Gardener, annotated(`together`), `{}`, provider.Invalid, ""},
		{"a machine that may not be read", provider.Gardener, denied{}, `{}`, provider.Denied, ""},
	} {
		w := sample(t)
		if c.object != nil {
			w.objects["Machine/m"] = c.object
		}
		class := classOf(c.api, "c1")
		class.Spec = merged(t, class.Spec, c.spec)
		_, err := w.open(t, class).Create(t.Context(), refOf("m"), want)
		all := w.Received("RunInstances")
		switch {
		case provider.KindOf(err) != c.kind:
			t.Errorf("%s: %v of kind %q, want %q", c.reason, err, provider.KindOf(err), c.kind)
		case err != nil && len(all) > 0:
			t.Errorf("%s: an instance is asked for", c.reason)
		case c.kind == provider.Invalid && !strings.Contains(err.Error(), key):
			t.Errorf("%s: %v does not name the annotation", c.reason, err)
		case err == nil && all[0].Get("Placement.GroupName") != c.group:
			t.Errorf("%s: group %q, want %q", c.reason, all[0].Get("Placement.GroupName"), c.group)
		}
	}
}

// denied is an object that may not be read.
type denied struct{}

func (denied) MarshalJSON() ([]byte, error) {
	return nil, provider.Errorf(provider.Denied, "machines may not be read")
}
