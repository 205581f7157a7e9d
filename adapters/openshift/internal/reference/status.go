package reference

import (
	"context"
	"encoding/json"
	"maps"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/internal/nova"
)

// status is the actuator's own provider status.
type status struct {
	InstanceID    string             `json:"instanceId,omitempty"`
	InstanceState string             `json:"instanceState,omitempty"`
	Ordered       metav1.Time        `json:"ordered,omitzero"`
	Conditions    []metav1.Condition `json:"conditions,omitempty"`
}

func statusOf(m *machinev1.Machine) (s status) {
	if m.Status.ProviderStatus == nil || json.Unmarshal(m.Status.ProviderStatus.Raw, &s) != nil {
		return status{}
	}
	return s
}

// patch changes the machine, first what is not status, and then the status.
func (a *Actuator) patch(ctx context.Context, m *machinev1.Machine, change func(*machinev1.Machine, *status)) error {
	was := m.DeepCopy()
	s := statusOf(m)
	change(m, &s)
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
	wanted := m.Status.DeepCopy()
	if err := a.Client.Patch(ctx, m, client.MergeFrom(was)); err != nil {
		return err
	}
	was = m.DeepCopy() // as the server has it, whose answer has the status of before
	m.Status = *wanted
	return a.Client.Status().Patch(ctx, m, client.MergeFrom(was))
}

// ordered takes down which server was ordered, and when.
func (a *Actuator) ordered(ctx context.Context, m *machinev1.Machine, id string) error {
	return a.patch(ctx, m, func(_ *machinev1.Machine, s *status) {
		s.InstanceID, s.InstanceState, s.Ordered = id, "BUILD", metav1.Now()
		s.Conditions = []metav1.Condition{{Type: "MachineCreated", Status: metav1.ConditionTrue, Reason: "MachineCreationSucceeded"}}
	})
}

// condition takes down why there is no server.
func (a *Actuator) condition(ctx context.Context, m *machinev1.Machine, why string) error {
	return a.patch(ctx, m, func(_ *machinev1.Machine, s *status) {
		s.Conditions = []metav1.Condition{{Type: "MachineCreated", Status: metav1.ConditionFalse, Reason: "MachineCreationFailed", Message: why}}
	})
}

// say takes down what the server is like: labels, annotation and provider ID, then addresses and the provider's own status.
func (a *Actuator) say(ctx context.Context, m *machinev1.Machine, at *site, server nova.Server) error {
	return a.patch(ctx, m, func(m *machinev1.Machine, s *status) {
		m.Labels, m.Annotations = maps.Clone(m.Labels), maps.Clone(m.Annotations)
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Labels["machine.openshift.io/instance-type"] = at.spec.Flavor
		m.Labels["machine.openshift.io/region"] = at.spec.Region
		m.Labels["machine.openshift.io/zone"] = at.spec.AvailabilityZone
		m.Annotations["machine.openshift.io/instance-state"] = server.Status
		s.InstanceID, s.InstanceState = server.ID, server.Status
		if server.Status != "ACTIVE" {
			return
		}
		if !a.NoProviderID {
			m.Spec.ProviderID = providerID(at.spec.Region, server.ID)
		}
		m.Status.Addresses = server.NodeAddresses()
	})
}
