package sim

import (
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOrphans: in world 99900344 of both APIs a recreated set kept the finalizer of its former deletion, and no
// machine could stay with it.
func TestOrphans(t *testing.T) {
	now := metav1.Now()
	for _, c := range []struct {
		reason     string
		finalizers []string
		deleted    *metav1.Time
		want       bool
	}{
		{"it is deleted without what belongs to it", []string{metav1.FinalizerOrphanDependents}, &now, true},
		{"it was stored again, and nobody deletes it", []string{metav1.FinalizerOrphanDependents}, nil, false},
		{"it is deleted with what belongs to it", []string{metav1.FinalizerDeleteDependents}, &now, false},
	} {
		s := &machinev1.MachineSet{}
		s.Finalizers, s.DeletionTimestamp = c.finalizers, c.deleted
		if got := orphans(s); got != c.want {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}
