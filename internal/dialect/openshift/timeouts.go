package openshift

import (
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/millwright"
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

// viewTimeouts knows a running machine whose node is not well by our annotation:
// this API has no phase for it.
func viewTimeouts(v *lifecycle.Machine, m *machinev1.Machine) {
	if v.Stage != lifecycle.StageRunning {
		return
	}
	if since, ok := unhealthySince(m); ok {
		v.Stage, v.StageSince = lifecycle.StageLost, since
	}
}

func unhealthySince(m *machinev1.Machine) (time.Time, bool) {
	return millwright.Read(m.Annotations).Time(dialect.UnhealthySinceAnnotation)
}

// recordTimeouts keeps the annotation, and reports whether it changed.
func recordTimeouts(m *machinev1.Machine, o lifecycle.Outcome) bool {
	_, known := unhealthySince(m)
	before, _ := millwright.Read(m.Annotations).Text(dialect.UnhealthySinceAnnotation)
	switch {
	case o.Stage != lifecycle.StageLost:
		dialect.SetAnnotation(m, dialect.UnhealthySinceAnnotation, "")
	case !known:
		dialect.SetAnnotation(m, dialect.UnhealthySinceAnnotation, o.At.UTC().Format(time.RFC3339))
	}
	after, _ := millwright.Read(m.Annotations).Text(dialect.UnhealthySinceAnnotation)
	return after != before
}
