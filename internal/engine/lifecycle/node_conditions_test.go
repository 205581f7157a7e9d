package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// reporting is a node with conditions of these types.
func reporting(types ...string) *corev1.Node {
	n := &corev1.Node{}
	for _, t := range types {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(t), Status: corev1.ConditionFalse})
	}
	return n
}

func numbered(n int) (types []string) {
	for i := range n {
		types = append(types, fmt.Sprintf("x%05d", i))
	}
	return types
}

func TestTelling(t *testing.T) {
	policy := Policy{Health: HealthPolicy{Conditions: []string{"KernelDeadlock"}}, Drain: DrainPolicy{DefectConditions: []string{"BadDisk"}}}
	long := reporting("Ready", "b")
	long.Status.Conditions[1].Message = strings.Repeat("é", 20_000)
	cases := []struct {
		reason string
		node   *corev1.Node
		first  []string // the first types told
		count  int
	}{
		{"no node", nil, nil, 0},
		{"what a kubelet and its agents report is told as it is", reporting("b", "Ready", "a"), []string{"b", "Ready", "a"}, 3},
		{"of many, what is judged comes first", reporting(append(numbered(10_000), "Preserved", "KernelDeadlock", "BadDisk", "Ready")...), []string{"Ready", "BadDisk", "KernelDeadlock", "Preserved", "x00000"}, 40},
		{"a long message is cut", long, []string{"Ready", "b"}, 2},
		{"a type that is a text is none", reporting(append(numbered(50), strings.Repeat("T", 5000))...), []string{"x00000"}, 40},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var types []string
			for _, c := range Telling(c.node, policy, "Preserved") {
				types = append(types, string(c.Type))
			}
			if len(types) != c.count || !slices.Equal(types[:len(c.first)], c.first) {
				t.Errorf("tells %d: %q", len(types), types)
			}
		})
	}
}

// TestTellingIsBounded: for any node, the reported conditions are small, and reporting the reported
// conditions gives the same.
func TestTellingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &corev1.Node{}
		word := rapid.SampledFrom([]string{"Ready", "a", "b", "", strings.Repeat("é", 300), strings.Repeat("x", 20_000)})
		for range rapid.IntRange(0, 100).Draw(t, "conditions") {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeConditionType(word.Draw(t, "type")), Status: corev1.ConditionStatus(word.Draw(t, "status")),
				Reason: word.Draw(t, "reason"), Message: word.Draw(t, "message"),
			})
		}
		told := Telling(n, Policy{})
		if len(told) > mostConditions || sizeOf(told) > mostConditionBytes+mostConditions*mostWord {
			t.Fatalf("tells %d conditions of %d bytes", len(told), sizeOf(told))
		}
		if again := Telling(&corev1.Node{Status: corev1.NodeStatus{Conditions: told}}, Policy{}); len(again) != len(told) {
			t.Fatalf("tells %d of %d told", len(again), len(told))
		}
		if text := Conditions(n, Policy{}); len(text) > 3<<10 {
			t.Fatalf("puts them into a line of %d bytes", len(text))
		}
	})
}
