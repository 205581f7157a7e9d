package openshift

import (
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestKeyOrderIsNoChange hands back what the API server does: the same
// provider status with its keys in another order. Taking that for a change
// would write every machine on every pass.
func TestKeyOrderIsNoChange(t *testing.T) {
	stored := metav1.NewTime(time.Unix(1000, 0))
	m := &machinev1.Machine{Spec: machinev1.MachineSpec{ProviderID: ptr.To("p://1")}}
	o := lifecycle.Outcome{
		Decision: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		World: lifecycle.World{
			Instances: lifecycle.Instances{Looked: true, Own: []provider.Instance{{ProviderID: "p://1"}}, ProviderStatus: []byte(`{"kind":"X","apiVersion":"y/v1"}`)},
		},
		At: time.Unix(2000, 0),
	}
	Machines{}.Record(m, o)
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"y/v1","kind":"X"}`)}
	m.Status.LastUpdated = &stored

	Machines{}.Record(m, o)
	if !m.Status.LastUpdated.Equal(&stored) {
		t.Error("the same status with its keys in another order was taken for a change")
	}
	o.World.Instances.ProviderStatus = []byte(`{"kind":"Z"}`)
	Machines{}.Record(m, o)
	if m.Status.LastUpdated.Equal(&stored) {
		t.Error("a change of the provider status was missed")
	}
}

// TestErrorReasonIsOfTheLastFailure: the reason of an earlier failure does not stay with the message of the
// last one.
func TestErrorReasonIsOfTheLastFailure(t *testing.T) {
	for _, c := range []struct {
		reason string
		why    lifecycle.Decision
		want   machinev1.MachineStatusError
	}{
		{"no word of the API fits", lifecycle.Decision{Reason: lifecycle.ReasonMissing, Message: "it is gone"}, ""},
		{"late", lifecycle.Decision{Reason: lifecycle.ReasonJoinTimeout, Message: "too late"}, machinev1.JoinClusterTimeoutMachineError},
		{"refused", lifecycle.Decision{Reason: lifecycle.ReasonCreateFailed, Message: "no", Err: provider.Errorf(provider.Invalid, "no")}, machinev1.InvalidConfigurationMachineError},
	} {
		t.Run(c.reason, func(t *testing.T) {
			for _, stale := range []machinev1.MachineStatusError{"", machinev1.CreateMachineError, machinev1.JoinClusterTimeoutMachineError} {
				m := &machinev1.Machine{}
				if stale != "" {
					m.Status.ErrorReason, m.Status.ErrorMessage = ptr.To(stale), ptr.To("before")
				}
				d := c.why
				d.Step, d.Stage = lifecycle.Fail, lifecycle.StageFailed
				Machines{}.Record(m, lifecycle.Outcome{Decision: d, Steps: []lifecycle.Decision{d}, World: lifecycle.World{Instances: lifecycle.Instances{Looked: true}}, At: time.Unix(1000, 0)})
				if got := ptr.Deref(m.Status.ErrorReason, ""); got != c.want || ptr.Deref(m.Status.ErrorMessage, "") != d.Message {
					t.Errorf("%s, after %q: %q, %q", c.reason, stale, got, ptr.Deref(m.Status.ErrorMessage, ""))
				}
			}
		})
	}
}

// TestNodeRefStaysOnTheWayOut: the node that is drained is the one that the
// machine was linked to, whatever has its name by then.
func TestNodeRefStaysOnTheWayOut(t *testing.T) {
	linked := corev1.ObjectReference{Kind: "Node", Name: "node-1", UID: "first"}
	for _, c := range []struct {
		reason  string
		deleted *metav1.Time
		want    types.UID
	}{
		{"a wanted machine follows its node", nil, "second"},
		{"one on its way out does not", ptr.To(metav1.NewTime(time.Unix(1000, 0))), "first"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: c.deleted}}
			m.Status.NodeRef = linked.DeepCopy()
			Machines{}.Record(m, lifecycle.Outcome{
				World: lifecycle.World{Node: lifecycle.Node{Looked: true, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "second"}}}},
				At:    time.Unix(2000, 0),
			})
			if got := m.Status.NodeRef.UID; got != c.want {
				t.Errorf("%s: linked to %s, want %s", c.reason, got, c.want)
			}
		})
	}
}
