package dialect

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// What follows is what a lens also is where its API has such a thing. Whoever serves the
// API looks once, when it is made, by [As].

// InPlaceUpdater is the lens of machines that are updated in place
// ([lifecycle.UpdatePolicy].InPlace).
type InPlaceUpdater interface {
	// Update is what n says about an update of its machine, Marked the node condition
	// that says how far it is.
	Update(n *corev1.Node) inplace.Node
	Marked(mark inplace.Mark) corev1.NodeCondition
}

// Preserver is the lens of machines that are kept although they failed
// ([lifecycle.PreservePolicy].Supported).
type Preserver interface {
	// NodePreservation is what n says about that, Preserve edits its metadata and taints
	// as k wants them at a time, PreserveCondition is the node condition for k.Sign.
	NodePreservation(n *corev1.Node) lifecycle.NodePreservation
	Preserve(n *corev1.Node, k lifecycle.PreservePlan, at time.Time)
	PreserveCondition(k lifecycle.PreservePlan) corev1.NodeCondition
}

// DrainNarrator is the lens of machines whose nodes tell why they are drained for good.
type DrainNarrator interface {
	// Leaving is the condition with which n tells that it, or its machine, was unwell,
	// or that there is one too many.
	Leaving(n *corev1.Node, unwell bool) corev1.NodeCondition
}

// SetPreserver is the lens of sets that choose failed machines to keep for inspection
// (replicas.Set.AutoKeep).
type SetPreserver interface {
	// PreserveMachine writes into m that its set keeps it, or no longer.
	PreserveMachine(m client.Object, keep bool)
}

// NodeReader is the lens of sets whose machines are ready when their nodes are, which the
// machines do not say themselves.
type NodeReader interface {
	// MachineOf is the machine that a node says it is; empty when it does not.
	MachineOf(n *corev1.Node) client.ObjectKey
}

// HealthJudge is the lens of sets whose machines say why they failed.
type HealthJudge interface {
	// FailedByHealth reports whether m failed because it was unhealthy for too long.
	FailedByHealth(m client.Object) bool
}

// Linker is the lens of machines whose node another controller than theirs may record, which
// is all that it writes into them.
type Linker[M client.Object] interface {
	// Link records n as the node of m, as Record does, and reports whether m did not say so.
	Link(m M, n *corev1.Node) bool
	// Stamp notes in m that something of it changed at a time, in whole seconds. Controllers
	// that look at machines alone learn from it that a node became ready, or ceased to be.
	Stamp(m M, at time.Time)
	// Stamped is when that was noted last; zero when it never was.
	Stamped(m M) time.Time
}

// VictimMarker is the lens of machines whose deployments pass on the autoscaler's choice
// ([rollout.MarkVictims]). Elsewhere the autoscaler marks machines itself.
type VictimMarker interface {
	// MarkForDeletion edits m to be given up first, as the autoscaler chose at the given time.
	MarkForDeletion(m client.Object, at time.Time)
}

// Mover is the lens of machines that their deployments update in place.
type Mover[S client.Object] interface {
	// Move edits m, an updated machine of the set from, to be one of the set
	// to, and shields it until that has made room. Unprotect ends that.
	Move(m client.Object, from, to S)
	Unprotect(m client.Object)
}

// Scaled is a kind whose objects the autoscaler scales from zero, in an API where it reads
// the size of their machines from annotations.
type Scaled interface {
	// Name is what the controller that writes them is called.
	Name() string
	// New returns an empty object.
	New() client.Object
	// Machine is one that o would make.
	Machine(o client.Object) client.Object
	// Left says that somebody else writes the annotations of o, or that o was paused.
	Left(o client.Object) bool
	// Differ reports whether a change from one to the other may change the annotations. What
	// is about status and replicas alone may not.
	Differ(a, b client.Object) bool
}

// As is the lens as a T, or what it wraps, as sessions of providers have their powers.
func As[T any](lens any) (T, bool) { return provider.As[T](lens) }
