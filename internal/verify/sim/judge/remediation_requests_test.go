package judge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// TestRestlessWhileOthersMayBeAsked: a failed machine that no set replaces recovers only by a check's external
// remedy, which the breaker may delay.
func TestRestlessWhileOthersMayBeAsked(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		machine func(*v1alpha1.Machine)
		check   func(*lenient.MachineHealthCheck)
		want    bool
	}{
		{reason: "the breaker may let the check ask later", want: true},
		{reason: "nothing is wrong with the machine", machine: func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning }},
		{reason: "people want it left alone", machine: func(m *v1alpha1.Machine) { m.Annotations = map[string]string{skipRemediation: ""} }},
		{reason: "the check asks nobody, and machines without a set it leaves", check: func(c *lenient.MachineHealthCheck) { c.Spec.RemediationTemplate = nil }},
		{reason: "others have just answered, and are asked again", check: func(c *lenient.MachineHealthCheck) { delete(c.Annotations, breaker) }, want: true},
		{reason: "the check is paused", check: func(c *lenient.MachineHealthCheck) { c.Annotations[remediationPaused] = "" }},
		{reason: "it is about others", check: func(c *lenient.MachineHealthCheck) { c.Spec.Selector.MatchLabels = map[string]string{"set": "other"} }},
	} {
		s := newScene()
		m := gardenerMachine("m", func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed })
		if tc.machine != nil {
			tc.machine(m)
		}
		c := &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", Annotations: map[string]string{machineAPI: "machine.sapcloud.io", breaker: "enforce"}}}
		c.Spec.RemediationTemplate = &corev1.ObjectReference{Kind: "RepairTemplate", Name: "restart"}
		if tc.check != nil {
			tc.check(c)
		}
		s.write(nil, m)
		s.write(nil, c)
		if got := s.judge.MayStillWrite(); got != tc.want {
			t.Errorf("%s: restless %v, want %v", tc.reason, got, tc.want)
		}
	}
}
