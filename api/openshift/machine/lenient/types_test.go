package lenient

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// C22: what the schema admits is decoded, and encoded as it was.
func TestDecodesWhatTheSchemaAdmits(t *testing.T) {
	for _, c := range []struct{ reason, spec string }{
		{"the alternation of the pattern is not grouped", `{"selector":{},"unhealthyConditions":null,"nodeStartupTimeout":"0abc"}`},
		{"a duration that does not fit", `{"selector":{},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"99999999999h"}]}`},
		{"a number that does not fit", `{"selector":{},"unhealthyConditions":null,"maxUnhealthy":99999999999}`},
		{"a number, and not as text", `{"selector":{},"unhealthyConditions":null,"maxUnhealthy":2}`},
		{"a percentage", `{"selector":{},"unhealthyConditions":null,"maxUnhealthy":"40%"}`},
		{"fields that are not there stay so", `{"selector":{},"unhealthyConditions":[{}]}`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var spec MachineHealthCheckSpec
			if err := json.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Errorf("%s: %v", c.reason, err)
				return
			}
			out, err := json.Marshal(spec)
			if err != nil || string(out) != c.spec {
				t.Errorf("%s: got %s (%v), want %s", c.reason, out, err, c.spec)
			}
		})
	}
	var published machinev1.MachineHealthCheckSpec
	if json.Unmarshal([]byte(`{"nodeStartupTimeout":"0abc"}`), &published) == nil {
		t.Error("the published type decodes it by now, and this package is not needed")
	}
}

func TestAmount(t *testing.T) {
	for text, raw := range map[string]string{"40%": `"40%"`, "2": `2`, "1.5": `1.5`} {
		var a Amount
		if err := json.Unmarshal([]byte(raw), &a); err != nil || a.Text() != text {
			t.Errorf("%s: %q, %v", raw, a.Text(), err)
		}
	}
	if got := AmountOf("40%").Text(); got != "40%" {
		t.Errorf("got %q", got)
	}
}

// What the published type says is said the same here, and the other way round.
func TestSameWireAsPublished(t *testing.T) {
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Funcs(
		func(v *metav1.Time, c randfill.Continue) { *v = metav1.Unix(c.Int63n(1<<31), 0) },
		func(v *metav1.FieldsV1, _ randfill.Continue) { v.SetRawBytes([]byte(`{}`)) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(c.Int31()); c.Bool() {
				*v = intstr.FromString("40%")
			}
		},
	)
	for range 100 {
		var published, back machinev1.MachineHealthCheck
		fill.Fill(&published)
		for i := range published.Spec.UnhealthyConditions { // empty text is left out here, and cannot be stored
			published.Spec.UnhealthyConditions[i].Type, published.Spec.UnhealthyConditions[i].Status = "Ready", "False"
		}
		raw, err := json.Marshal(published)
		if err != nil {
			t.Fatal(err)
		}
		var ours MachineHealthCheck
		if err := json.Unmarshal(raw, &ours); err != nil {
			t.Fatal(err)
		}
		if raw, err = json.Marshal(ours.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(published, back); d != "" {
			t.Fatalf("something was lost (-published +back):\n%s", d)
		}
	}
}

func TestScheme(t *testing.T) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{AddToScheme, v1beta1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	o, err := s.New(machinev1.GroupVersion.WithKind("MachineHealthCheck"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := o.(*MachineHealthCheck); !ok {
		t.Errorf("the kind is %T", o)
	}
}
