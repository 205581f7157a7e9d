package machinehealthcheck

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestLeavingIsLeftAlone: a machine that is being deleted already, which the cache
// has yet to show, is not remedied on top.
func TestLeavingIsLeftAlone(t *testing.T) {
	m, _ := pair("a")
	live := m.DeepCopy()
	live.DeletionTimestamp, live.Finalizers = ptr.To(metav1.NewTime(begin)), []string{"machine.machine.openshift.io"}
	w := newWorld(t, m, checkOf())
	w.r.Live = newWorld(t, live).Client
	w.pass()
	if got := w.leaving(); got != nil {
		t.Errorf("deleted once more: %v", got)
	}
	again := newWorld(t, m, checkOf())
	again.pass()
	if got := again.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("without that it is remedied: leaving %v", got)
	}
}
