package dialect

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func TestDrainWishOf(t *testing.T) {
	tests := []struct {
		reason      string
		annotations map[string]string
		want        DrainWish
		remark      string
	}{
		{"nothing is asked", nil, DrainWish{}, ""},
		{"force after", map[string]string{DrainTimeoutAnnotation: "90m"}, DrainWish{Timeout: 90 * time.Minute}, ""},
		{"never force", map[string]string{DrainTimeoutAnnotation: "never"}, DrainWish{NeverForce: true}, ""},
		{"a lead", map[string]string{CordonLeadAnnotation: "30s"}, DrainWish{CordonLead: 30 * time.Second}, ""},
		{"a number without a unit is no duration", map[string]string{DrainTimeoutAnnotation: "90"}, DrainWish{}, "annotation " + DrainTimeoutAnnotation + ` is "90", which is not a duration above zero, and is ignored`},
		{"nor is one below zero", map[string]string{CordonLeadAnnotation: "-1s"}, DrainWish{}, CordonLeadAnnotation + ` is "-1s"`},
		{"zero would force at once", map[string]string{DrainTimeoutAnnotation: "0s"}, DrainWish{}, `is "0s"`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			m := &corev1.Node{} // any object has annotations
			m.Annotations = tt.annotations
			got := DrainWishOf(m)
			if !strings.Contains(got.Remark, tt.remark) || (got.Remark == "") != (tt.remark == "") {
				t.Errorf("remark %q, want one with %q", got.Remark, tt.remark)
			}
			got.Remark = ""
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestForeseenWarnsOnceAtTheBeginning(t *testing.T) {
	d := drain.Decision{Began: true, Obstacles: []drain.Obstacle{{Message: "it stays", Endless: true}}}
	got := Foreseen(lifecycle.Outcome{World: lifecycle.World{Drain: lifecycle.Draining{Result: &d}}})
	if len(got) != 1 || got[0].Type != corev1.EventTypeWarning || got[0].Reason != "DrainObstacle" || !strings.Contains(got[0].Note, "it stays") {
		t.Errorf("got %+v", got)
	}
	d.Began = false
	if got := Foreseen(lifecycle.Outcome{World: lifecycle.World{Drain: lifecycle.Draining{Result: &d}}}); len(got) != 0 {
		t.Errorf("later: %+v", got)
	}
	if got := Foreseen(lifecycle.Outcome{}); len(got) != 0 {
		t.Errorf("without a drain: %+v", got)
	}
}
