package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func TestDeadline(t *testing.T) {
	in := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	const (
		over   = "annotation millwright.dev/termination-deadline of the node has passed, and the node still runs: it is ignored"
		unread = `annotation millwright.dev/termination-deadline of the node is "soon", which is not a time, and is ignored`
	)
	for _, c := range []struct {
		reason string
		text   string
		ready  corev1.ConditionStatus
		heeded bool
		remark string
	}{
		{"nobody takes the instance away", "", corev1.ConditionTrue, false, ""},
		{"in two minutes", in(2 * time.Minute), corev1.ConditionTrue, true, ""},
		{"now", in(0), corev1.ConditionTrue, true, ""},
		{"a silent kubelet takes a while to show", in(-59 * time.Second), corev1.ConditionTrue, true, ""},
		{"it was wrong: the node lives", in(-time.Minute), corev1.ConditionTrue, false, over},
		{"a node that says it is not ready lives, too", in(-time.Minute), corev1.ConditionFalse, false, over},
		{"a node that is silent has been taken away", in(-time.Hour), corev1.ConditionUnknown, true, ""},
		{"what cannot be read is none, and said", "soon", corev1.ConditionTrue, false, unread},
	} {
		t.Run(c.reason, func(t *testing.T) {
			n := node(c.ready)
			if c.text != "" {
				n.Annotations = map[string]string{"millwright.dev/termination-deadline": c.text}
			}
			at, remark := lifecycle.Deadline(now, n)
			if at.IsZero() == c.heeded || c.heeded && at.UTC().Format(time.RFC3339) != c.text || remark != c.remark {
				t.Errorf("%s: %v, %q", c.reason, at, remark)
			}
		})
	}
}

// Only a policy that forces a drain that takes too long also forces one with a deadline.
func TestHasten(t *testing.T) {
	n := node(corev1.ConditionTrue)
	n.Annotations = map[string]string{"millwright.dev/termination-deadline": now.Add(time.Minute).UTC().Format(time.RFC3339)}
	for timeout, late := range map[time.Duration]bool{0: false, time.Hour: true} {
		got := lifecycle.Hasten(now, n, drain.Policy{MaxEvictAttempts: 3, Remark: "a"}, lifecycle.Policy{Drain: lifecycle.DrainPolicy{Timeout: timeout}})
		if !got.Deadline.Equal(now.Add(time.Minute)) || got.ForceLate != late || got.MaxEvictAttempts != 3 || got.Remark != "a" {
			t.Errorf("drain timeout %v: %+v", timeout, got)
		}
	}
	n.Annotations["millwright.dev/termination-deadline"] = "soon"
	for was, want := range map[string]string{"": `annotation millwright.dev/termination-deadline of the node is "soon", which is not a time, and is ignored`, "a": `a; annotation millwright.dev/termination-deadline of the node is "soon", which is not a time, and is ignored`} {
		if got := lifecycle.Hasten(now, n, drain.Policy{Remark: was}, lifecycle.Policy{}); got.Remark != want || !got.Deadline.IsZero() {
			t.Errorf("%+v", got)
		}
	}
}
