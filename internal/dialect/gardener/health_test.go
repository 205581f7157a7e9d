package gardener_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

func TestPatient(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	machine := func(edit func(*v1alpha1.Machine)) *v1alpha1.Machine {
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
			UID: "u", Namespace: "ns", Name: "m", CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{"node": "n"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "set", UID: "s", Controller: ptr.To(true)}},
		}}
		m.Spec.Class.Name = "class-1"
		m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(now.Add(time.Minute))}
		edit(m)
		return m
	}
	phase := func(p v1alpha1.MachinePhase) func(*v1alpha1.Machine) {
		return func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = p }
	}
	base := health.Target{
		UID: "u", Namespace: "ns", Name: "m", Created: now, Updated: now.Add(time.Minute), Owner: health.Owner{UID: "s", Kind: "MachineSet", Name: "set"},
		Template: "class-1", NodeName: "n",
	}
	for _, c := range []struct {
		reason string
		edit   func(*v1alpha1.Machine)
		want   func(*health.Target)
	}{
		{"Running, its node is gone", func(*v1alpha1.Machine) {}, func(*health.Target) {}},
		{"Pending: the name of the node is foretold", phase(v1alpha1.MachinePending), func(t *health.Target) { t.NodeName = "" }},
		{"Unknown: the node was there", phase(v1alpha1.MachineUnknown), func(*health.Target) {}},
		{"Failed", phase(v1alpha1.MachineFailed), func(t *health.Target) { t.Failed = true }},
		{"kept for inspection", func(m *v1alpha1.Machine) { m.Status.CurrentStatus.PreserveExpiryTime = ptr.To(metav1.NewTime(now)) }, func(t *health.Target) { t.Skip = true }},
		{"left alone by a person", func(m *v1alpha1.Machine) {
			m.Annotations = map[string]string{dialect.SkipRemediationAnnotation: "true"}
		}, func(t *health.Target) { t.Skip = true }},
		{"on its way out", func(m *v1alpha1.Machine) { m.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }, func(t *health.Target) { t.Deleting = true }},
		{"marked", func(m *v1alpha1.Machine) { gardener.Patients{}.Mark(m) }, func(t *health.Target) { t.Marked = true }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			want := base
			c.want(&want)
			if d := cmp.Diff(want, gardener.Patients{}.Patient(machine(c.edit), nil)); d != "" {
				t.Errorf("%s:\n%s", c.reason, d)
			}
		})
	}
}
