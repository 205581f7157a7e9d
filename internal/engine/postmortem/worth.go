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
	// NeverJoined: it was deleted without ever having had a node.
	NeverJoined Cause = "NeverJoined"
	// Unwell: it was deleted while its node was missing or unhealthy.
	Unwell Cause = "Unwell"
	// NodeDeleted: it was deleted because its node had been deleted.
	NodeDeleted Cause = "NodeDeleted"
)

// patience is the age at which a machine should have progressed towards a node: a machine deleted before, for
// example by a scale-down, has no significance.
const patience = 2 * time.Minute

// Facts are the input of [Worth].
type Facts struct {
	Machine lifecycle.Machine
	Policy  lifecycle.Policy
	// Was is the last stage before the machine's deletion; StageDeleting if unknown.
	Was lifecycle.Stage
	// Replaced says that the controller deleted the machine because its node was deleted.
	Replaced bool
	// Node is the machine's node. Meaningless unless Looked.
	Node   *corev1.Node
	Looked bool
}

// Worth reports whether the machine leaves a record, and why. A machine under deletion is judged when the
// deletion begins: later its node is deleted in any case. So a missing node counts only if the stage before
// is known.
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
