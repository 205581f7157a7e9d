package openshift

import (
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// SetLabel is the label that sets of this API usually have on their machines.
const SetLabel = "machine.openshift.io/cluster-api-machineset"

// Group returns the group of machines of which one at a time may fail: those of a set, otherwise of a
// cluster. Only machines with their own health timeout can fail at all after they have run.
func (Machines) Group(m *machinev1.Machine) (key, value string) {
	key = SetLabel
	if m.Labels[key] == "" {
		key = ClusterLabel
	}
	return key, m.Labels[key]
}

// timeouts sets the timeouts of the other API, if a machine of this one requests them. A machine whose
// timeout has passed is Failed, which is final here; a MachineHealthCheck replaces it.
func timeouts(p *lifecycle.Policy, m *machinev1.Machine) {
	own := dialect.ReadOwn(m.Annotations)
	p.Join.Timeout = ptr.Deref(own.Startup, 0)
	if own.Health != nil {
		p.Health.Tracked, p.Health.Timeout, p.Health.Conditions = true, *own.Health, own.Conditions
	}
}

// NodeHealthyCondition is False on a running machine with its own health timeout whose node is unhealthy,
// since that was first seen, and absent elsewhere: this API has no phase for it.
const NodeHealthyCondition machinev1.ConditionType = "NodeHealthy"

// viewTimeouts recognizes a running machine with an unhealthy node by that condition.
func viewTimeouts(v *lifecycle.Machine, m *machinev1.Machine) {
	if v.Stage != lifecycle.StageRunning {
		return
	}
	if c := find(m, NodeHealthyCondition); c.Status == corev1.ConditionFalse {
		v.Stage, v.StageSince = lifecycle.StageLost, c.LastTransitionTime.Time
	}
}

// recordTimeouts updates the condition. Its transition time is what matters, so no other field changes
// meanwhile.
func recordTimeouts(m *machinev1.Machine, o lifecycle.Outcome) {
	known := find(m, NodeHealthyCondition).Status == corev1.ConditionFalse
	switch {
	case o.Stage != lifecycle.StageLost && known:
		m.Status.Conditions = slices.DeleteFunc(m.Status.Conditions, func(c machinev1.Condition) bool { return c.Type == NodeHealthyCondition })
	case o.Stage == lifecycle.StageLost && !known:
		setCondition(m, machinev1.Condition{
			Type: NodeHealthyCondition, Status: corev1.ConditionFalse, Severity: machinev1.ConditionSeverityWarning,
			Reason: string(o.Reason), Message: o.Message,
		}, o.At)
	}
}
