package postmortem

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Cause is why a record was taken.
type Cause string

// The causes.
const (
	// GivenUp: the machine is Failed.
	GivenUp Cause = "GivenUp"
	// NeverJoined: it was sent away, having had no node in all its time.
	NeverJoined Cause = "NeverJoined"
	// Unwell: it was sent away while its node was missing or unhealthy.
	Unwell Cause = "Unwell"
	// NodeDeleted: it was sent away because somebody deleted its node.
	NodeDeleted Cause = "NodeDeleted"
)

// patience is how old a machine is that should have been on its way to a node:
// one that is taken back before, as by a scale-down, tells nothing.
const patience = 2 * time.Minute

// Facts are what [Worth] looks at.
type Facts struct {
	Machine lifecycle.Machine
	Policy  lifecycle.Policy
	// Was is the last stage before the machine's deletion; StageDeleting when
	// that is not known.
	Was lifecycle.Stage
	// Replaced says that we deleted the machine, because its node was deleted.
	Replaced bool
	// Node is the machine's node. Meaningless unless Looked.
	Node   *corev1.Node
	Looked bool
}

// Worth says whether the machine leaves evidence, and why. A machine in deletion
// is judged at its beginning: later its node is gone in any case. So a node that
// is not there counts only where the stage before is known.
func Worth(f Facts) (Cause, bool) {
	m := f.Machine
	stage := m.Stage
	if !m.Deleted.IsZero() {
		stage = f.Was
	}
	switch {
	case stage == lifecycle.StageFailed:
		return GivenUp, true
	case m.Deleted.IsZero():
		return "", false
	case f.Replaced:
		return NodeDeleted, true
	}
	switch stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing, lifecycle.StageJoining:
		return NeverJoined, stage == lifecycle.StageCrashing || m.Deleted.Sub(m.Created) >= patience
	case lifecycle.StageLost, lifecycle.StageUpdateFailed:
		return Unwell, true
	case lifecycle.StageDeleting:
		return Unwell, f.Looked && f.Node != nil && !lifecycle.Healthy(f.Node, f.Policy)
	case lifecycle.StageRunning, lifecycle.StageUpdating, lifecycle.StageUpdated:
		return Unwell, f.Looked && !lifecycle.Healthy(f.Node, f.Policy)
	}
	return "", false
}
