package openshift

import (
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// SetLabel is what sets of this API usually mark their machines with.
const SetLabel = "machine.openshift.io/cluster-api-machineset"

// Group is that of machines of which one at a time is given up: those of a set,
// else of a cluster. Only machines that bring a health timeout along are given
// up at all after they have run.
func (Machines) Group(m *machinev1.Machine) (key, value string) {
	key = SetLabel
	if m.Labels[key] == "" {
		key = ClusterLabel
	}
	return key, m.Labels[key]
}

// timeouts are those that the other API gives to its machines, where a machine
// of this one asks for them. One that ran out of a timeout is Failed, which is
// final here; a MachineHealthCheck replaces it.
func timeouts(p *lifecycle.Policy, m *machinev1.Machine) {
	own := dialect.ReadOwn(m.Annotations)
	p.Join.Timeout = ptr.Deref(own.Startup, 0)
	if own.Health != nil {
		p.Health.Tracked, p.Health.Timeout, p.Health.Conditions = true, *own.Health, own.Conditions
	}
}

// NodeHealthyCondition is False on a running machine that brings a health timeout along and
// whose node is not well, since that was seen first, and nowhere else: this API has no phase
// for it.
const NodeHealthyCondition machinev1.ConditionType = "NodeHealthy"

// viewTimeouts knows a running machine whose node is not well by that.
func viewTimeouts(v *lifecycle.Machine, m *machinev1.Machine) {
	if v.Stage != lifecycle.StageRunning {
		return
	}
	if c := find(m, NodeHealthyCondition); c.Status == corev1.ConditionFalse {
		v.Stage, v.StageSince = lifecycle.StageLost, c.LastTransitionTime.Time
	}
}

// recordTimeouts keeps the condition. Since when is what it is about, so that nothing else
// in it changes meanwhile.
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
