package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// C29: one eviction that fails for no good reason does not undo the others, nor
// keep them from being asked for.
func TestOneFailedEvictionLeavesTheOthers(t *testing.T) {
	calls := 0
	first := func() error {
		if calls++; calls == 1 {
			return apierrors.NewForbidden(corev1.Resource("pods"), "a", nil)
		}
		return nil
	}
	w := newWorld(t, refusing(first), podOn("w1", "a"), podOn("w1", "b"))
	d, err := w.Drain(t.Context(), node("w1"), noPolicy)
	if err == nil || len(w.writes) != 2 {
		t.Fatalf("writes %v, %v", w.writes, err)
	}
	if len(d.Blocked) != 1 || d.Blocked[0].Pod.Name != "a" || len(d.Waiting) != 1 || d.Waiting[0].Pod.Name != "b" {
		t.Errorf("blocked %v, waiting %v", d.Blocked, d.Waiting)
	}
}
