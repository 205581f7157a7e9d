package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
)

// Edits of machines.
func deleting(m *machinev1.Machine) {
	m.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1000, 0)))
}

func finalizers(names ...string) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.Finalizers = names }
}

func preDrain(hooks ...machinev1.LifecycleHook) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = hooks }
}

func preTerminate(hooks ...machinev1.LifecycleHook) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = hooks }
}

func labelled(key, value string) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, key, value) }
}

func annotated(m *machinev1.Machine) {
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "machine.openshift.io/delete-machine", "1")
}

// rules are those that the tables speak of.
func rules() admission.Rules {
	return admission.Rules{Admitter: fakeAdmitter{}, Platform: admit.Platform{ID: "cluster-x", Region: "r"}}
}

// message is what faults come to in an answer.
func message(v admission.Verdict) string {
	if len(v.Faults) == 0 {
		return ""
	}
	return v.Faults.ToAggregate().Error()
}

const (
	sizeless   = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","region":"r"}`
	noSize     = "providerSpec.size: Required value: expected providerSpec.size to be populated"
	noValue    = "providerSpec.value: Required value: a value must be provided"
	hooksFirst = "spec.lifecycleHooks.preDrain: Forbidden: pre-drain hooks are immutable when machine is marked for deletion: the following hooks are new or changed: "
	hooksLast  = "spec.lifecycleHooks.preTerminate: Forbidden: pre-terminate hooks are immutable when machine is marked for deletion: the following hooks are new or changed: "
)

// TestMachine has the rows of section 6.2 about machines.
func TestMachine(t *testing.T) {
	a, b := machinev1.LifecycleHook{Name: "a", Owner: "o"}, machinev1.LifecycleHook{Name: "b", Owner: "o"}
	for _, c := range []struct {
		row, reason string
		now, old    *machinev1.Machine
		refused     string
		warnings    []string
	}{
		{"", "nothing is wrong", machine(good), nil, "", nil},
		{"providerSpec nil", "of a new machine", machine(""), nil, noValue, nil},
		{"providerSpec nil", "null is as good as nothing", machine("null"), nil, noValue, nil},
		{"providerSpec nil", "taken away from a machine", machine(""), machine(good), noValue, nil},
		{"providerSpec nil", "it was missing before: whoever sets an annotation cannot help it", machine("", annotated), machine(""), "", []string{noValue}},
		{
			"undecodable", "a field of another type", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":1}`), nil,
			"providerSpec.value: Invalid value: json: cannot unmarshal number into Go struct field fakeSpec.size of type string", nil,
		},
		{
			"unknown field", "only the first one is told", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"s","sise":1,"zise":2}`), nil, "",
			[]string{`providerSpec.value: Unsupported value: "sise": Unknown field (sise) will be ignored`},
		},
		{
			"unknown field", "one within another", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"s","credentialsSecret":{"nam":"n"}}`), nil, "",
			[]string{`providerSpec.value: Unsupported value: "nam": Unknown field (nam) will be ignored`},
		},
		{"unknown field", "a name in another case is read as the original reads it", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","Size":"s"}`), nil, "", nil},
		{
			"wrong GVK", "another kind", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Other","size":"s"}`), nil, "",
			[]string{"incorrect GroupVersionKind for FakeSpec object: machine.openshift.io/v1beta1, Kind=Other"},
		},
		{"wrong GVK", "none at all", machine(`{"size":"s"}`), nil, "", []string{"incorrect GroupVersionKind for FakeSpec object: /, Kind="}},
		{"wrong GVK", "the legacy group is accepted", machine(`{"apiVersion":"fake.openshift.io/v1","kind":"FakeSpec","size":"s"}`), nil, "", nil},
		{"Errors", "the infrastructure's own rules", machine(sizeless), nil, noSize, nil},
		{"Errors", "a change that breaks the spec", machine(sizeless), machine(good), noSize, nil},
		{"Errors", "it was broken before, and a living machine gets a mark that lets the autoscaler remove it", machine(sizeless, annotated), machine(sizeless), "", []string{noSize}},
		{"Errors", "broken before, and still after a change", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec"}`), machine(sizeless), noSize, nil},
		{"Errors", "the same spec in another order is the same", machine(`{"kind":"FakeSpec","region":"r","apiVersion":"machine.openshift.io/v1beta1"}`), machine(sizeless), "", []string{noSize}},
		{
			"Errors", "several are one message", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","host":true}`, labelled("machine.openshift.io/cluster-api-machine-type", "master")), nil,
			"[" + noSize + ", providerSpec.host: Forbidden: not for the control plane]", nil,
		},
		{
			"Errors", "the role says control plane, too", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"s","host":true}`, labelled("machine.openshift.io/cluster-api-machine-role", "master")), nil,
			"providerSpec.host: Forbidden: not for the control plane", nil,
		},
		{"Errors", "a worker may", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"s","host":true}`, labelled("machine.openshift.io/cluster-api-machine-role", "worker")), nil, "", nil},
		{"warnings", "the infrastructure's own", machine(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"huge"}`), nil, "", []string{"providerSpec.size: huge is dear"}},
		{"finalizer removal", "all vanish, exactly", machine("", deleting), machine("", deleting, finalizers("x")), "", nil},
		{"finalizer removal", "one of several", machine(sizeless, deleting, finalizers("y")), machine(sizeless, deleting, finalizers("x", "y")), "", nil},
		{"finalizer removal", "together with another change of the metadata", machine(sizeless, deleting, annotated), machine(sizeless, deleting, finalizers("x")), "", nil},
		{"finalizer removal", "together with a spec that is broken now", machine(sizeless, deleting), machine(good, deleting, finalizers("x")), noSize, nil},
		{"lifecycle hooks", "a living machine may get some", machine(good, preDrain(a)), machine(good), "", nil},
		{"lifecycle hooks", "a new one in deletion", machine(good, deleting, preDrain(a, b)), machine(good, deleting, preDrain(a)), hooksFirst + "[{Name:b Owner:o}]", nil},
		{"lifecycle hooks", "another owner is another hook", machine(good, deleting, preDrain(machinev1.LifecycleHook{Name: "a", Owner: "p"})), machine(good, deleting, preDrain(a)), hooksFirst + "[{Name:a Owner:p}]", nil},
		{"lifecycle hooks", "of the other list", machine(good, deleting, preTerminate(a)), machine(good, deleting), hooksLast + "[{Name:a Owner:o}]", nil},
		{"lifecycle hooks", "of both", machine(good, deleting, preDrain(b), preTerminate(a)), machine(good, deleting), "[" + hooksFirst + "[{Name:b Owner:o}], " + hooksLast + "[{Name:a Owner:o}]]", nil},
		{"lifecycle hooks", "they may go, whatever the spec is worth", machine(sizeless, deleting, preDrain(b)), machine(sizeless, deleting, preDrain(a, b)), "", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			judged(t, c.row, rules().Machine(c.now, c.old), c.refused, c.warnings)
		})
	}
}

// judged fails the test where a verdict is not refused with this message, empty for not refused, or has other warnings.
func judged(t *testing.T, row string, v admission.Verdict, refused string, warnings []string) {
	t.Helper()
	if got := message(v); got != refused {
		t.Errorf("%s:\ngot  %s\nwant %s", row, got, refused)
	}
	if diff := cmp.Diff(warnings, v.Warnings, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: warnings (-want +got):\n%s", row, diff)
	}
}

// TestMachineSet has the rows of section 6.2 about sets.
func TestMachineSet(t *testing.T) {
	const mismatch = "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`"
	unmatched := func(s *machinev1.MachineSet) { s.Spec.Template.Labels["a"] = "c" }
	scaled := func(s *machinev1.MachineSet) { s.Spec.Replicas = ptr.To[int32](3) }
	other := func(s *machinev1.MachineSet) {
		s.Spec.Selector.MatchLabels["x"], s.Spec.Template.Labels["x"] = "y", "y"
	}
	unreadable := func(s *machinev1.MachineSet) {
		s.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Odd"}}
	}
	gone := func(s *machinev1.MachineSet) { s.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1000, 0))) }
	for _, c := range []struct {
		row, reason string
		now, old    *machinev1.MachineSet
		refused     string
		warnings    []string
	}{
		{"", "nothing is wrong", set(good), nil, "", nil},
		{"MachineSet selector", "it changes", set(good, other), set(good), "spec.selector: Forbidden: selector is immutable", nil},
		{"MachineSet selector", "it is kept", set(good, scaled), set(good), "", nil},
		{
			"MachineSet selector", "it does not convert", set(good, unreadable), nil,
			`spec.selector: Invalid value: {"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Odd"}]}: could not convert label selector to selector: "Odd" is not a valid label selector operator`, nil,
		},
		{"MachineSet selector", "it does not select its template", set(good, unmatched), nil, mismatch, nil},
		{"MachineSet selector", "the labels change so that it does not any more", set(good, unmatched), set(good), mismatch, nil},
		{"MachineSet selector", "it did not before: the set can be scaled all the same", set(good, unmatched, scaled), set(good, unmatched), "", []string{mismatch}},
		{"MachineSet template", "it is judged as a machine", set(sizeless), nil, noSize, nil},
		{"MachineSet template", "nil", set(""), nil, noValue, nil},
		{"MachineSet template", "broken before: the set can be scaled all the same", set(sizeless, scaled), set(sizeless), "", []string{noSize}},
		{"MachineSet template", "missing before: the set can be scaled all the same", set("", scaled), set(""), "", []string{noValue}},
		{"MachineSet template", "it has no labels that would say control plane", set(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"s","host":true}`,
			func(s *machinev1.MachineSet) {
				s.Spec.Template.Labels["machine.openshift.io/cluster-api-machine-role"] = "master"
			}), nil, "", nil},
		{"MachineSet template", "a set in deletion is let go in silence", set(sizeless, unmatched, gone), set(sizeless, unmatched, gone, func(s *machinev1.MachineSet) { s.Finalizers = []string{"foregroundDeletion"} }), "", nil},
		{"Errors", "several are one message", set(sizeless, unmatched), nil, "[" + mismatch + ", " + noSize + "]", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			judged(t, c.row, rules().MachineSet(c.now, c.old), c.refused, c.warnings)
		})
	}
}

// TestPlatformSelection: an infrastructure without rules refuses no spec, not even none; what is not about specs is judged.
func TestPlatformSelection(t *testing.T) {
	none := admission.Rules{Platform: admit.Platform{ID: "cluster-x"}}
	if v := none.Machine(machine(""), nil); message(v) != "" || v.Warnings != nil {
		t.Errorf("a machine: %+v", v)
	}
	if v := none.MachineSet(set(""), nil); message(v) != "" || v.Warnings != nil {
		t.Errorf("a set: %+v", v)
	}
	if v := none.MachineSet(set("", func(s *machinev1.MachineSet) { s.Spec.Template.Labels = nil }), nil); message(v) == "" {
		t.Error("a selector that does not match is accepted")
	}
	d, faults := none.DefaultMachine(machine(""))
	if diff := cmp.Diff(admission.Defaults{Labels: map[string]string{"machine.openshift.io/cluster-api-cluster": "cluster-x"}}, d); diff != "" || faults != nil {
		t.Errorf("defaults: %v %s", faults, diff)
	}
}

// TestCredentials: who judges looks for the secret that the spec names.
func TestCredentials(t *testing.T) {
	for spec, want := range map[string]provider.SecretRef{
		good: {},
		`{"size":"s","credentialsSecret":{"name":"n"}}`:                     {Name: "n"},
		`{"size":"s","credentialsSecret":{"name":"n","namespace":"other"}}`: {Name: "n", Namespace: "other"},
	} {
		t.Run(spec, func(t *testing.T) {
			if got := rules().Machine(machine(spec), nil).Credentials; got != want {
				t.Errorf("%s: %+v, want %+v", spec, got, want)
			}
			if got := rules().MachineSet(set(spec), set(sizeless)).Credentials; got != want {
				t.Errorf("%s of a set that changes: %+v, want %+v", spec, got, want)
			}
			if got := rules().Machine(machine(spec, annotated), machine(spec)).Credentials; got.Name != "" {
				t.Errorf("%s that was written before: %+v", spec, got)
			}
		})
	}
}

// TestUnknownFieldsAreLeftToWhoKnows: an admitter that does not show its type is trusted to warn itself.
func TestUnknownFieldsAreLeftToWhoKnows(t *testing.T) {
	r := rules()
	r.Admitter = plainAdmitter{fakeAdmitter{}}
	if v := r.Machine(machine(`{"apiVersion":"fake.openshift.io/v1","kind":"FakeSpec","size":"s","sise":1}`), nil); v.Warnings != nil {
		t.Errorf("warnings %v", v.Warnings)
	}
}

// TestDefaults has the rows of section 6.2 about defaults.
func TestDefaults(t *testing.T) {
	const label = "machine.openshift.io/cluster-api-cluster"
	for _, c := range []struct {
		row, reason string
		m           *machinev1.Machine
		want        admission.Defaults
		refused     string
	}{
		{"Machine default", "the label is absent", machine(good), admission.Defaults{Labels: map[string]string{label: "cluster-x"}, Spec: []byte(good)}, ""},
		{"Machine default", "the label is empty: that is said", machine(good, labelled(label, "")), admission.Defaults{Spec: []byte(good)}, ""},
		{"Machine default", "the label names another cluster", machine(good, labelled(label, "y")), admission.Defaults{Spec: []byte(good)}, ""},
		{"Machine default", "the infrastructure's own, and what is unknown stays", machine(`{"size":"s","sise":1}`, labelled(label, "y")), admission.Defaults{Spec: []byte(`{"region":"r","sise":1,"size":"s"}`)}, ""},
		{"providerSpec nil", "there is nothing to fill in", machine("", labelled(label, "y")), admission.Defaults{}, noValue},
		{
			"undecodable", "nor here", machine(`{"size":1}`, labelled(label, "y")),
			admission.Defaults{},
			"providerSpec.value: Invalid value: json: cannot unmarshal number into Go struct field fakeSpec.size of type string",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, faults := rules().DefaultMachine(c.m)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", c.row, c.reason, diff)
			}
			if text := message(admission.Verdict{Faults: faults}); text != c.refused {
				t.Errorf("%s: %s: refused %q, want %q", c.row, c.reason, text, c.refused)
			}
			s := set("")
			s.Spec.Template.Spec.ProviderSpec = c.m.Spec.ProviderSpec
			if of, _ := rules().DefaultMachineSet(s); of.Labels != nil || string(of.Spec) != string(c.want.Spec) {
				t.Errorf("%s: %s: of a set: %+v", c.row, c.reason, of)
			}
		})
	}
}

// TestNoDeletionAndNoScalingIsRefused: whatever a stored object is worth, it can lose finalizers and hooks and change its size.
func TestNoDeletionAndNoScalingIsRefused(t *testing.T) {
	specs := []string{"", "null", good, sizeless, `{"size":1}`, `[]`, `{`}
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom(specs).Draw(t, "spec")
		hooks := []machinev1.LifecycleHook{{Name: "a", Owner: "o"}, {Name: "b", Owner: "o"}}
		old := machine(spec, finalizers("x", "y"), preDrain(hooks...), preTerminate(hooks...))
		if rapid.Bool().Draw(t, "deleting") {
			deleting(old)
		}
		now := old.DeepCopy()
		now.Finalizers = now.Finalizers[:rapid.IntRange(0, 2).Draw(t, "finalizers")]
		now.Spec.LifecycleHooks.PreDrain = hooks[rapid.IntRange(0, 2).Draw(t, "hooks"):]
		annotated(now)
		if v := rules().Machine(now, old); len(v.Faults) > 0 {
			t.Fatalf("a machine: %v", v.Faults)
		}
		s := set(spec)
		if rapid.Bool().Draw(t, "unmatched") {
			s.Spec.Template.Labels = nil
		}
		bigger := s.DeepCopy()
		bigger.Spec.Replicas = ptr.To(rapid.Int32Range(0, 9).Draw(t, "replicas"))
		if v := rules().MachineSet(bigger, s); len(v.Faults) > 0 {
			t.Fatalf("a set: %v", v.Faults)
		}
	})
}
