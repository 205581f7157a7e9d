package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// TestEventsAreAllFound: known places of each way in which the code records something are among those that are found.
func TestEventsAreAllFound(t *testing.T) {
	events, written, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ way, file, text, with string }{
		{"a literal", "internal/controller/capacity/controller.go", "FailedUpdate", "Warning"},
		{"a constant of another package", "internal/controller/machinehealthcheck/act.go", "MachineDeleted", "Normal"},
		{"a parameter, over two functions", "internal/controller/orphan/tell.go", "OrphanQuarantined", "Warning"},
		{"a function in a variable", "internal/dialect/openshift/events.go", "DrainBlocked", "Normal"},
		{"a field of a table of the API", "internal/controller/machinedeployment/events.go", "RolloutCanary", "Normal"},
		{"what a function returns", "internal/dialect/gardener/events.go", "Recovered", "Normal"},
		{"what a function of another package returns second", "internal/controller/machineset/guard.go", "UnreadableAnnotation", "Warning"},
		{"a map", "internal/controller/machinedeployment/pass.go", "CreationHeld", "Warning"},
		{"a value without field names", "internal/operator/verdict/status.go", "Status upgrade", "Normal"},
		{"a reason that the engine decides", "internal/controller/csr/tell.go", "NodeExists", "Warning"},
	} {
		if !found(events, c.file, c.text, c.with) {
			t.Errorf("%s: %s of %s is not found", c.way, c.text, c.file)
		}
	}
	for _, c := range []struct{ file, text, with string }{
		{"internal/dialect/openshift/node.go", "NodeExists", "NodeMissing"},
		{"internal/dialect/openshift/health_record.go", "RemediationAllowed", "TooManyUnhealthy"},
		{"internal/operator/verdict/status.go", "Available", "AsExpected"},
		{"internal/controller/csr/controller.go", "Approved", ""},
	} {
		if !found(written, c.file, c.text, c.with) {
			t.Errorf("condition %s %s of %s is not found", c.text, c.with, c.file)
		}
	}
}

func found(all []occurrence, file, text, with string) bool {
	return slices.ContainsFunc(all, func(o occurrence) bool {
		return strings.HasPrefix(o.at, file+":") && slices.Contains(o.texts, text) && (with == "" || slices.Contains(o.kinds, with))
	})
}

// TestNewReasonsFail: a reason without a row, a row without a reason, another type, and what cannot be followed are errors.
func TestNewReasonsFail(t *testing.T) {
	const folder = "internal/controller/capacity"
	for _, c := range []struct{ name, call, want string }{
		{"a new reason", `e.Eventf(o, nil, corev1.EventTypeWarning, "Surprise", "Do", "")`, "event Surprise [Warning] has no row"},
		{"another type", `e.Eventf(o, nil, corev1.EventTypeNormal, "FailedUpdate", "Do", "")`, "event FailedUpdate [Normal] has no row"},
		{"a reason from outside", `e.Eventf(o, nil, corev1.EventTypeNormal, o.Why, "Do", "")`, "cannot tell which texts this may be"},
		{"a new condition", `_ = Condition{Type: "Surprise"}`, "condition Surprise has no row"},
		{"a new reason of a condition", `_ = Condition{Type: "Valid", Reason: "Surprise"}`, "does not say what Surprise of condition Valid means"},
		{"a row without a reason", ``, "describes FailedUpdate of \"Capacity for an autoscaler\", which no code records"},
	} {
		f, err := tidy.Parse(folder+"/x.go", []byte("package capacity\n\nfunc f() {\n"+c.call+"\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		s := newSources([]*tidy.File{f}, followed)
		s.foreign, s.assumed = foreign, assumedReasons(s)
		events, lost := s.events()
		written, _ := s.conditions()
		problems := undescribed(events, written)
		if lost != nil {
			problems = append(problems, lost.Error())
		}
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%s: got %q", c.name, problems)
		}
	}
}

// TestNewFolderFails: events of a folder that no table is about are an error.
func TestNewFolderFails(t *testing.T) {
	got := undescribed([]occurrence{{texts: []string{"A"}, at: "internal/controller/new/a.go:1"}}, nil)
	if len(got) == 0 || !strings.Contains(got[0], "no table") {
		t.Errorf("got %q", got)
	}
}
