package machine_test

import (
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/provider"
)

// C24: a change of labels or annotations alone wakes the controller: clients ask
// for things by them. Our own status does not.
func TestLabelsAreWishes(t *testing.T) {
	old := openshiftMachine()
	old.ResourceVersion = "1"
	tests := map[string]struct {
		change func(*machinev1.Machine)
		want   bool
	}{
		"label":      {func(m *machinev1.Machine) { m.Labels["force-deletion"] = "true" }, true},
		"annotation": {func(m *machinev1.Machine) { m.Annotations = map[string]string{"a": "b"} }, true},
		"finalizer":  {func(m *machinev1.Machine) { m.Finalizers = []string{"example.com/hold"} }, true},
		"deletion":   {func(m *machinev1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: start} }, true},
		"status":     {func(m *machinev1.Machine) { m.Status.LastUpdated = &metav1.Time{Time: start} }, false},
		"resync":     {func(m *machinev1.Machine) { m.ResourceVersion = "1" }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			changed := old.DeepCopy()
			changed.ResourceVersion = "2"
			tc.change(changed)
			if got := enqueue.SpecChanged(old, changed); got != tc.want {
				t.Errorf("woken %v, want %v", got, tc.want)
			}
		})
	}
}

// The histogram counts each phase once, when it begins.
func TestPhaseTransitionsAreMeasured(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	g.cloud.next.State = provider.Pending
	g.pass()
	g.pass()
	g.cloud.instances[0].State = provider.Running
	g.pass()
	g.joins()
	g.pass()
	g.pass()
	got := map[string]uint64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "mapi_machine_phase_transition_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
		}
	}
	for _, phase := range []string{"Provisioning", "Provisioned", "Running"} {
		if got[phase] != 1 {
			t.Errorf("phase %s was measured %d times: %v", phase, got[phase], got)
		}
	}
}
