package openshift

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

var setNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sampleSet(changes ...func(*machinev1.MachineSet)) *machinev1.MachineSet {
	pool := map[string]string{"machine.openshift.io/cluster-api-machineset": "workers"}
	s := &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "workers", UID: "set-uid", Generation: 4},
		Spec: machinev1.MachineSetSpec{
			Replicas: ptr.To(int32(3)),
			Selector: metav1.LabelSelector{MatchLabels: pool},
			Template: machinev1.MachineTemplateSpec{
				ObjectMeta: machinev1.ObjectMeta{Labels: pool, Annotations: map[string]string{"note": "x"}},
				Spec:       machinev1.MachineSpec{ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"tier": "a"}}},
			},
		},
	}
	for _, c := range changes {
		c(s)
	}
	return s
}

// setGolden compares with testdata/<name>.yaml, which UPDATE_GOLDEN=1 writes.
func setGolden(t *testing.T, name string, object any) {
	t.Helper()
	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".yaml")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestSetRecordGolden(t *testing.T) {
	invalid := func(s *machinev1.MachineSet) {
		s.Status.ErrorReason = ptr.To(machinev1.InvalidConfigurationMachineSetError)
		s.Status.ErrorMessage = ptr.To("spec.replicas: old news")
	}
	tests := map[string]struct {
		set     *machinev1.MachineSet
		outcome dialect.SetOutcome
	}{
		"set-counted": {
			sampleSet(), dialect.SetOutcome{Tally: replicas.Tally{Replicas: 3, FullyLabeled: 3, Ready: 2, Available: 1}, Judged: true},
		},
		"set-invalid": {
			sampleSet(func(s *machinev1.MachineSet) { s.Status.Replicas = 3 }),
			dialect.SetOutcome{Faults: []lifecycle.Fault{{Field: "spec.selector", Message: "empty selector is not valid for MachineSet."}}},
		},
		"set-mended": {
			sampleSet(invalid), dialect.SetOutcome{Judged: true},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.outcome.Now = setNow
			Sets{}.Record(tc.set, tc.outcome)
			setGolden(t, name, tc.set.Status)
		})
	}
}

// TestSetReady: what clients go by that know no more than Ready. The time is that of the last change, and a pass that finds the
// same changes nothing.
func TestSetReady(t *testing.T) {
	s := sampleSet(func(s *machinev1.MachineSet) { s.Spec.Replicas = ptr.To(int32(2)) })
	for _, step := range []struct {
		reason string
		tally  replicas.Tally
		faults []lifecycle.Fault
		want   string
		moved  bool
	}{
		{"nothing is there yet", replicas.Tally{}, nil, "False MachinesUnavailable: available machines: 0 of 2; existing machines: 0", true},
		{"they are there, and start", replicas.Tally{Replicas: 2, Ready: 1, Available: 1}, nil, "False MachinesUnavailable: available machines: 1 of 2; existing machines: 2", true},
		{"all are available", replicas.Tally{Replicas: 2, Ready: 2, Available: 2}, nil, "True : ", true},
		{"and still are", replicas.Tally{Replicas: 2, Ready: 2, Available: 2}, nil, "True : ", false},
		{"one is too many", replicas.Tally{Replicas: 3, Ready: 3, Available: 3}, nil, "False MachinesUnavailable: available machines: 3 of 2; existing machines: 3", true},
		{"nothing is counted", replicas.Tally{}, []lifecycle.Fault{{Field: "spec.selector", Message: "is empty"}}, "False InvalidSpec: spec.selector: is empty", true},
	} {
		var before metav1.Time
		if n := len(s.Status.Conditions); n > 0 {
			before = s.Status.Conditions[n-1].LastTransitionTime
		}
		Sets{}.Record(s, dialect.SetOutcome{Now: before.Add(time.Hour), Tally: step.tally, Faults: step.faults, Judged: true})
		if len(s.Status.Conditions) != 1 {
			t.Fatalf("%s: %v", step.reason, s.Status.Conditions)
		}
		c := s.Status.Conditions[0]
		if got := string(c.Status) + " " + c.Reason + ": " + c.Message; got != step.want || c.LastTransitionTime.Equal(&before) == step.moved {
			t.Errorf("%s: %s at %s, want %s", step.reason, got, c.LastTransitionTime, step.want)
		}
	}
}

func TestSetMachineGolden(t *testing.T) {
	setGolden(t, "set-machine", Sets{}.NewMachine(sampleSet(), dialect.MachineName("workers", "x7k2p")))
}

func TestSetFaults(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*machinev1.MachineSet)
		field  string
	}{
		"sound":             {"no fault", func(*machinev1.MachineSet) {}, ""},
		"nil replicas":      {"not defaulted", func(s *machinev1.MachineSet) { s.Spec.Replicas = nil }, "spec.replicas"},
		"negative replicas": {"below zero", func(s *machinev1.MachineSet) { s.Spec.Replicas = ptr.To(int32(-1)) }, "spec.replicas"},
		"empty selector":    {"would match every machine", func(s *machinev1.MachineSet) { s.Spec.Selector = metav1.LabelSelector{} }, "spec.selector"},
		"broken selector": {"no such operator", func(s *machinev1.MachineSet) {
			s.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		}, "spec.selector"},
		"foreign selector":     {"would make machines for ever", func(s *machinev1.MachineSet) { s.Spec.Template.Labels = nil }, "spec.template.metadata.labels"},
		"unknown policy":       {"not one of three", func(s *machinev1.MachineSet) { s.Spec.DeletePolicy = "Prettiest" }, "spec.deletePolicy"},
		"policy of any case":   {"Oldest is known", func(s *machinev1.MachineSet) { s.Spec.DeletePolicy = "Oldest" }, ""},
		"very long name":       {"names of machines are cut, not refused", func(s *machinev1.MachineSet) { s.Name = strings.Repeat("n", 253) }, ""},
		"deleting with faults": {"still reported; deciding does not look", func(s *machinev1.MachineSet) { s.Spec.Replicas, s.DeletionTimestamp = nil, &metav1.Time{Time: setNow} }, "spec.replicas"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			faults := Sets{}.View(sampleSet(tc.change)).Faults
			switch {
			case tc.field == "" && len(faults) > 0:
				t.Errorf("%s: got %v", tc.reason, faults)
			case tc.field != "" && (len(faults) != 1 || faults[0].Field != tc.field || faults[0].Message == ""):
				t.Errorf("%s: got %v, want one about %s", tc.reason, faults, tc.field)
			}
		})
	}
}

func TestSetMember(t *testing.T) {
	node := func(status corev1.ConditionStatus) dialect.Nodes {
		return func(name string) *corev1.Node {
			if name != "node-1" {
				return nil
			}
			return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(setNow)}}}}
		}
	}
	linked := func(name string) *machinev1.Machine {
		return &machinev1.Machine{Status: machinev1.MachineStatus{NodeRef: &corev1.ObjectReference{Name: name}}}
	}
	annotated := func(key, value string) *machinev1.Machine {
		return &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}}
	}
	tests := map[string]struct {
		reason  string
		machine *machinev1.Machine
		nodes   dialect.Nodes
		want    replicas.Member
	}{
		"no node":         {"nothing to be ready", &machinev1.Machine{}, node(corev1.ConditionTrue), replicas.Member{}},
		"ready":           {"since the node's transition", linked("node-1"), node(corev1.ConditionTrue), replicas.Member{Linked: true, Ready: true, Usable: true, ReadySince: setNow}},
		"not ready":       {"linked only", linked("node-1"), node(corev1.ConditionUnknown), replicas.Member{Linked: true}},
		"node gone":       {"linked to nothing", linked("node-2"), node(corev1.ConditionTrue), replicas.Member{Linked: true}},
		"asked":           {"any value that is not empty", annotated(DeleteMachineAnnotation, "false"), node(""), replicas.Member{Asked: true}},
		"asked, old form": {"the older spelling counts", annotated(OldDeleteMachineAnnotation, "yes"), node(""), replicas.Member{Asked: true}},
		"asked, empty":    {"an empty value does not ask", annotated(DeleteMachineAnnotation, ""), node(""), replicas.Member{}},
		"error message":   {"failed", &machinev1.Machine{Status: machinev1.MachineStatus{ErrorMessage: ptr.To("x")}}, node(""), replicas.Member{Failed: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Sets{}.Member(sampleSet(), tc.machine, tc.nodes)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
