package openshift

import (
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

func TestDrainPolicyOfMachine(t *testing.T) {
	tests := []struct {
		reason      string
		annotations map[string]string
		timeout     time.Duration
		lead        time.Duration
	}{
		{"by default nothing is forced", nil, 0, 0},
		{"force after", map[string]string{dialect.DrainTimeoutAnnotation: "1h"}, time.Hour, 0},
		{"never is the default", map[string]string{dialect.DrainTimeoutAnnotation: dialect.Never}, 0, 0},
		{"a lead", map[string]string{dialect.CordonLeadAnnotation: "1m"}, 0, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			p := Machines{}.Policy(&machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations}})
			if p.Drain.Timeout != tt.timeout || p.Drain.Policy.CordonLead != tt.lead || p.Drain.UnreachableAfter != 0 || p.Drain.Policy.MaxEvictAttempts != 0 {
				t.Errorf("got %+v", p)
			}
			if p.Drain.Policy.VolumesOneByOne || p.Drain.Policy.RemoveAttachments {
				t.Error("this API does not look at volumes")
			}
		})
	}
}

// A timeout that a machine asks for forces its drain, and not a moment before.
func TestDrainTimeoutAnnotationForces(t *testing.T) {
	deleted := metav1.NewTime(compatNow)
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		DeletionTimestamp: &deleted, Finalizers: []string{machinev1.MachineFinalizer},
		Annotations: map[string]string{dialect.DrainTimeoutAnnotation: "1h"},
	}}
	for after, forced := range map[time.Duration]bool{59 * time.Minute: false, 61 * time.Minute: true} {
		w := lifecycle.World{Instances: lifecycle.Instances{Looked: true, Own: []provider.Instance{{State: provider.Running}}}, Node: lifecycle.Node{Looked: true, Object: &corev1.Node{}}}
		d := lifecycle.Decide(compatNow.Add(after), Machines{}.View(m), w, Machines{}.Policy(m))
		if d.Step != lifecycle.Drain || d.Force != forced {
			t.Errorf("after %v: %s, forced %v", after, d.Step, d.Force)
		}
	}
}

// An unnecessary drain, without a node, is recorded as finished when the instance itself is terminating:
// until then a node may join.
func TestDrainIsSkippedForGood(t *testing.T) {
	one, other := provider.Instance{ProviderID: "p://1"}, provider.Instance{ProviderID: "p://2"}
	for _, tt := range []struct {
		reason string
		world  lifecycle.World
		over   bool
	}{
		{"the instance leaves", lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalUnderway}, Instances: lifecycle.Instances{Own: []provider.Instance{one}}}, true},
		{"it leaves with a double", lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalUnderway}, Instances: lifecycle.Instances{Own: []provider.Instance{one}, Duplicates: []provider.Instance{other}}}, true},
		{"all is gone", lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalDone}}, true},
		{"only a double is listed, and leaves", lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalUnderway}, Instances: lifecycle.Instances{Duplicates: []provider.Instance{other}}}, false},
		{"another is listed in its place, and leaves", lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalUnderway}, Instances: lifecycle.Instances{Own: []provider.Instance{other}, Substitute: true}}, false},
		{"nothing was removed", lifecycle.World{Instances: lifecycle.Instances{Own: []provider.Instance{one}}}, false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			deleted := metav1.NewTime(compatNow)
			m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted, Finalizers: []string{machinev1.MachineFinalizer}}}
			tt.world.Instances.Looked, tt.world.Node.Looked = true, true
			Machines{}.Record(m, lifecycle.Outcome{
				Decision: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonTerminating, Stage: lifecycle.StageDeleting}, World: tt.world, At: compatNow,
			})
			if got := (Machines{}).View(m).Deletion.Drained; got != tt.over {
				t.Errorf("%s: the drain is over: %t, want %t", tt.reason, got, tt.over)
			}
		})
	}
}
