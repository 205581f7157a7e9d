package dialect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestReadGuard(t *testing.T) {
	tests := map[string]struct {
		reason     string
		key, value string
		want       rollout.Guard
		fault      bool
	}{
		"failures":            {"a number", MaxFailuresAnnotation, "3", rollout.Guard{MaxFailures: 3}, false},
		"no failures":         {"0 never stops", MaxFailuresAnnotation, "0", rollout.Guard{}, false},
		"failures, negative":  {"no number of machines", MaxFailuresAnnotation, "-1", rollout.Guard{}, true},
		"failures, word":      {"no number", MaxFailuresAnnotation, "few", rollout.Guard{}, true},
		"failures, empty":     {"asked for, and not said", MaxFailuresAnnotation, "", rollout.Guard{}, true},
		"ready within":        {"a duration", ReadyWithinAnnotation, "20m", rollout.Guard{ReadyWithin: 20 * time.Minute}, false},
		"ready within, naked": {"has no unit", ReadyWithinAnnotation, "20", rollout.Guard{}, true},
		"stop":                {"the default", OnFailureAnnotation, "stop", rollout.Guard{}, false},
		"roll back":           {"", OnFailureAnnotation, "rollback", rollout.Guard{RollBack: true}, false},
		"neither":             {"no such reaction", OnFailureAnnotation, "page", rollout.Guard{}, true},
		"canary":              {"a number", CanaryAnnotation, "2", rollout.Guard{Canary: ptr.To(intstr.FromInt32(2))}, false},
		"canary, share":       {"a percentage", CanaryAnnotation, "10%", rollout.Guard{Canary: ptr.To(intstr.FromString("10%"))}, false},
		"canary, word":        {"neither", CanaryAnnotation, "tweety", rollout.Guard{}, true},
		"canary, negative":    {"below 0", CanaryAnnotation, "-10%", rollout.Guard{}, true},
		"soak":                {"a duration", SoakAnnotation, "1h30m", rollout.Guard{Soak: 90 * time.Minute}, false},
		"soak, negative":      {"no span", SoakAnnotation, "-1h", rollout.Guard{}, true},
		"approved":            {"a revision", ApprovedAnnotation, "7", rollout.Guard{Approved: 7}, false},
		"approved, word":      {"not a revision", ApprovedAnnotation, "yes", rollout.Guard{}, true},
		"estimate":            {"a switch", EstimateAnnotation, "", rollout.Guard{Estimate: true}, false},
		"no estimate":         {"switched off", EstimateAnnotation, "false", rollout.Guard{}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, faults := ReadGuard(map[string]string{tc.key: tc.value})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			field := "metadata.annotations[" + tc.key + "]"
			if tc.fault != (len(faults) == 1) || tc.fault && faults[0].Field != field {
				t.Errorf("%s: faults %v, want one of %s: %v", tc.reason, faults, field, tc.fault)
			}
		})
	}
	if got, faults := ReadGuard(nil); got != (rollout.Guard{}) || faults != nil {
		t.Errorf("precautions that nobody asked for: %+v, %v", got, faults)
	}
}

func TestNotes(t *testing.T) {
	for name, n := range map[string]rollout.Notes{
		"none":   {},
		"failed": {Failed: []string{"a", "b"}},
		"since":  {CanarySince: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		o := &corev1.Node{}
		WriteNotes(o, rollout.Notes{Failed: []string{"old"}, CanarySince: time.Unix(1, 0)})
		WriteNotes(o, n)
		if diff := cmp.Diff(n, ReadNotes(o.Annotations)); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
	o := &corev1.Node{}
	if WriteNotes(o, rollout.Notes{}); o.Annotations != nil {
		t.Errorf("nothing to remember, and yet %v", o.Annotations)
	}
	if n := ReadNotes(map[string]string{CanarySinceAnnotation: "noon"}); !n.CanarySince.IsZero() {
		t.Errorf("malformed: %v", n)
	}
}

func TestCheckBound(t *testing.T) {
	tests := map[string]struct {
		reason string
		bound  *intstr.IntOrString
		ok     bool
	}{
		"missing":    {"required", nil, false},
		"number":     {"", ptr.To(intstr.FromInt32(3)), true},
		"zero":       {"both bounds 0 come to 1 unavailable", ptr.To(intstr.FromInt32(0)), true},
		"percentage": {"", ptr.To(intstr.FromString("25%")), true},
		"above 100%": {"more than there are: kept within what there is", ptr.To(intstr.FromString("250%")), true},
		"negative":   {"below 0", ptr.To(intstr.FromInt32(-1)), false},
		"negative %": {"below 0", ptr.To(intstr.FromString("-1%")), false},
		"text":       {"neither", ptr.To(intstr.FromString("some")), false},
		"bare text":  {"a number in quotes is no percentage", ptr.To(intstr.FromString("3")), false},
	}
	for name, tc := range tests {
		faults := CheckBound("f", tc.bound, true)
		if tc.ok != (len(faults) == 0) || !tc.ok && faults[0].Field != "f" {
			t.Errorf("%s: %s: %v", name, tc.reason, faults)
		}
	}
	if faults := CheckBound("f", nil, false); faults != nil {
		t.Errorf("not required: %v", faults)
	}
	if !SelectsAll([]lifecycle.Fault{{Field: "spec.selector", Message: SelectsEverything}}) || SelectsAll([]lifecycle.Fault{{Field: "spec.selector", Message: "x"}}) {
		t.Error("the empty selector is not told from other faults")
	}
}
