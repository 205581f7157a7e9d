package dialect

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// A lens implements the following interfaces if its API has the feature. The programs that serve the API look
// for them once, at the start, by [As].

// InPlaceUpdater is the lens of machines that are updated in place
// ([lifecycle.UpdatePolicy].InPlace).
type InPlaceUpdater interface {
	// Update returns the facts of n about an update of its machine, Marked the node condition with its
	// progress.
	Update(n *corev1.Node) inplace.Node
	Marked(mark inplace.Mark) corev1.NodeCondition
}

// Preserver is the lens of machines that are kept although they failed
// ([lifecycle.PreservePolicy].Supported).
type Preserver interface {
	// NodePreservation returns the facts of n about that, Preserve edits its metadata and taints by k at a
	// time, PreserveCondition is the node condition for k.Sign.
	NodePreservation(n *corev1.Node) lifecycle.NodePreservation
	Preserve(n *corev1.Node, k lifecycle.PreservePlan, at time.Time)
	PreserveCondition(k lifecycle.PreservePlan) corev1.NodeCondition
}

// DrainNarrator is the lens of machines whose nodes say why they are drained before their deletion.
type DrainNarrator interface {
	// Leaving returns the condition with which n says that it, or its machine, was unhealthy, or that there
	// is one too many.
	Leaving(n *corev1.Node, unwell bool) corev1.NodeCondition
}

// SetPreserver is the lens of sets that choose failed machines to keep for inspection
// (replicas.Set.AutoKeep).
type SetPreserver interface {
	// PreserveMachine writes into m that its set keeps it, or no longer.
	PreserveMachine(m client.Object, keep bool)
}

// NodeReader is the lens of sets whose machines are ready when their nodes are, without a field for that in
// the machine.
type NodeReader interface {
	// MachineOf returns the machine that a node names; empty if it names none.
	MachineOf(n *corev1.Node) client.ObjectKey
}

// HealthJudge is the lens of sets whose machines record why they failed.
type HealthJudge interface {
	// FailedByHealth reports whether m failed because it was unhealthy for too long.
	FailedByHealth(m client.Object) bool
}

// Linker is the lens of machines whose node another controller than the machine controller may record; it
// writes nothing else into them.
type Linker[M client.Object] interface {
	// Link records n as the node of m, as Record does, and reports whether that changed m.
	Link(m M, n *corev1.Node) bool
	// Stamp records in m that it changed at a time, in whole seconds. Controllers that read only machines
	// learn from it that a node became ready or unready.
	Stamp(m M, at time.Time)
	// Stamped returns when that was recorded last; zero if never.
	Stamped(m M) time.Time
}

// VictimMarker is the lens of machines whose deployments pass on the autoscaler's choice
// ([rollout.MarkVictims]). In other APIs the autoscaler marks machines itself.
type VictimMarker interface {
	// MarkForDeletion edits m to be deleted first, as the autoscaler chose at the given time.
	MarkForDeletion(m client.Object, at time.Time)
}

// Mover is the lens of machines that their deployments update in place.
type Mover[S client.Object] interface {
	// Move edits m, an updated machine of the set from, to belong to the set to, and shields it until that
	// has made room. Unprotect ends that.
	Move(m client.Object, from, to S)
	Unprotect(m client.Object)
}

// Scaled is a kind whose objects the autoscaler scales from zero, in an API in which it reads the size of
// their machines from annotations.
type Scaled interface {
	// Name returns the name of the controller that writes them.
	Name() string
	// New returns an empty object.
	New() client.Object
	// Machine returns a machine as o would create it.
	Machine(o client.Object) client.Object
	// Left says that another program writes the annotations of o, or that o is paused.
	Left(o client.Object) bool
	// Differ reports whether a change from one to the other may change the annotations. A change of status
	// and replicas only may not.
	Differ(a, b client.Object) bool
}

// As returns the lens, or the lens that it wraps, as a T, like optional interfaces of provider sessions.
func As[T any](lens any) (T, bool) { return provider.As[T](lens) }
