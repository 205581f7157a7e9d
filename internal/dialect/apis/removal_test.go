package apis

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestRemovalIsTold: the lenses tell the events by which the table says that a deletion can be followed.
func TestRemovalIsTold(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	one := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", DeletionTimestamp: &at}}
	drained := one.DeepCopy()
	drained.Status.Conditions = []machinev1.Condition{{Type: machinev1.MachineDrained, Status: "True", LastTransitionTime: at}}
	other := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", DeletionTimestamp: &at}, Spec: v1alpha1.MachineSpec{ProviderID: "test:///m"}}
	deleting := other.DeepCopy()
	deleting.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.MachineOperationDelete, State: v1alpha1.MachineStateProcessing, Description: "Set machine status to termination"}
	gone := lifecycle.Outcome{Steps: []lifecycle.Decision{{Step: lifecycle.RemoveFinalizer}}, World: lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalDone}}}
	left := lifecycle.Outcome{World: lifecycle.World{Drain: lifecycle.Draining{Result: ptr.To(drain.Decision{Done: true})}}}
	for _, test := range []struct {
		reason, api string
		events      []dialect.Event
		last        bool
	}{
		{"its pods have left", provider.OpenShift, openshift.Machines{}.Events(one, drained, left), false},
		{"it is not drained", provider.OpenShift, openshift.Machines{}.Events(one, drained, lifecycle.Outcome{}), false},
		{"it is gone", provider.OpenShift, openshift.Machines{}.Events(drained, drained, gone), true},
		{"its deletion begins", provider.Gardener, gardener.Machines{}.Events(other, deleting, lifecycle.Outcome{}), false},
		{"it is gone", provider.Gardener, gardener.Machines{}.Events(deleting, deleting, gone), true},
	} {
		t.Run(test.reason, func(t *testing.T) {
			api, _ := Of(test.api)
			want := api.Removal.Begins
			if test.last {
				want = []string{api.Removal.Ends}
			}
			if !slices.ContainsFunc(test.events, func(e dialect.Event) bool { return slices.Contains(want, e.Reason) }) {
				t.Errorf("%s, %s: told %+v, want one of %q", test.api, test.reason, test.events, want)
			}
		})
	}
}
