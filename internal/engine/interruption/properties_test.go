package interruption

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var notices = rapid.Custom(func(t *rapid.T) Notice {
	n := Notice{
		Kind:   rapid.SampledFrom(Kinds).Draw(t, "kind"),
		Action: rapid.SampledFrom([]string{"terminate", "Reboot"}).Draw(t, "action"),
		Detail: rapid.StringN(0, 5, -1).Draw(t, "detail"),
	}
	if minutes := rapid.IntRange(0, 5).Draw(t, "minutes"); minutes > 0 {
		n.At = began.Add(time.Duration(minutes) * time.Minute)
	}
	n.Grace = time.Duration(rapid.IntRange(0, 2).Draw(t, "grace")) * 30 * time.Second
	return n
})

var reports = rapid.Custom(func(t *rapid.T) Report {
	r := Report{Notices: rapid.SliceOfN(notices, 0, 4).Draw(t, "notices"), Clear: map[Kind]bool{}}
	for _, k := range Kinds {
		r.Clear[k] = rapid.Bool().Draw(t, "clear")
	}
	return r
})

var nodes = rapid.Custom(func(t *rapid.T) Node {
	var n Node
	for _, is := range []corev1.NodeConditionType{"Ready", Terminating, RebalanceRecommended, MaintenanceScheduled} {
		if rapid.Bool().Draw(t, "there") {
			status := rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status")
			reason := rapid.SampledFrom([]string{"", "ScaleDown", ReasonTerminationRequested, ReasonCapacityAtRisk, ReasonMaintenanceNotice, ReasonWithdrawn}).Draw(t, "reason")
			n.Conditions = append(n.Conditions, at(is, status, reason, ""))
		}
	}
	return withDeadline(n, rapid.SampledFrom([]string{"", "nonsense", "2026-11-21T10:02:00Z"}).Draw(t, "deadline"))
})

func withDeadline(n Node, text string) Node {
	out := NodeOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{DeadlineAnnotation: text}}})
	out.Conditions = n.Conditions
	return out
}

// written returns the node after a change, as an API server merges it.
func written(n Node, c Change) Node {
	out := n
	out.Conditions = slices.Clone(n.Conditions)
	for _, set := range c.Conditions {
		found := false
		for i := range out.Conditions {
			if out.Conditions[i].Type == set.Type {
				out.Conditions[i], found = set, true
			}
		}
		if !found {
			out.Conditions = append(out.Conditions, set)
		}
	}
	if c.Deadline != nil {
		out = withDeadline(out, *c.Deadline)
	}
	return out
}

// A repeated report causes no second write.
func TestDecideSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, r := nodes.Draw(t, "node"), reports.Draw(t, "report")
		after := written(n, Decide(now, n, r))
		if again := Decide(now.Add(time.Hour), after, r); !again.None() {
			t.Fatalf("a second write: %s", cmp.Diff(Change{}, again))
		}
	})
}

// An empty report changes no node, and no report withdraws a condition of a kind that it does not clear.
func TestSilenceTakesNothingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, r := nodes.Draw(t, "node"), reports.Draw(t, "report")
		if c := Decide(now, n, Report{}); !c.None() {
			t.Fatalf("silence has changed something: %s", cmp.Diff(Change{}, c))
		}
		for _, c := range Decide(now, n, r).Conditions {
			kind := map[corev1.NodeConditionType]Kind{Terminating: Termination, RebalanceRecommended: Rebalance, MaintenanceScheduled: Maintenance}[c.Type]
			switch {
			case c.Status == "True" && !r.Has(kind):
				t.Fatalf("%s without a notice", c.Type)
			case c.Status == "False" && (r.Has(kind) || !r.Clear[kind]):
				t.Fatalf("%s was taken back, and nobody said so", c.Type)
			}
			before := find(n.Conditions, c.Type)
			if before.Status == c.Status && !c.LastTransitionTime.Equal(&before.LastTransitionTime) {
				t.Fatalf("%s: a transition to the same status", c.Type)
			}
			if before.Status != c.Status && !c.LastTransitionTime.Equal(&metav1.Time{Time: now}) {
				t.Fatalf("%s: the transition is not of now", c.Type)
			}
		}
	})
}

// A notice is known until it is withdrawn, after any number of failed requests.
func TestMergeForgetsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := Merge(Report{}, reports.Draw(t, "known"))
		look := reports.Draw(t, "look")
		merged := Merge(known, look)
		for _, k := range Kinds {
			if known.Has(k) && !look.Has(k) && !look.Clear[k] && !merged.Has(k) {
				t.Fatalf("%s was forgotten", k)
			}
			if merged.Has(k) && merged.Clear[k] {
				t.Fatalf("%s is there and is not", k)
			}
		}
	})
}
