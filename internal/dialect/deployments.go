package dialect

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Annotations of ours on deployments of every API group. They ask for
// precautions that neither of the original APIs has; without them nothing of
// the kind happens.
const (
	// MaxFailuresAnnotation stops a rollout after so many new machines in a
	// row did not become ready ("3").
	MaxFailuresAnnotation = millwright.RolloutMaxFailures
	// ReadyWithinAnnotation is how long a new machine may take until it counts
	// as failed ("20m"); without it only one that was given up counts.
	ReadyWithinAnnotation = millwright.RolloutReadyWithin
	// OnFailureAnnotation is what a stopped rollout does: "stop", which is the
	// default, or "rollback".
	OnFailureAnnotation = millwright.RolloutOnFailure
	// CanaryAnnotation is how many machines are updated first ("1", "10%").
	CanaryAnnotation = millwright.RolloutCanary
	// SoakAnnotation is for how long the canary must have been available until
	// the rest follows by itself ("30m"); without it a person approves.
	SoakAnnotation = millwright.RolloutCanarySoak
	// ApprovedAnnotation is the revision whose canary was found good ("7").
	ApprovedAnnotation = rollout.ApproveKey
	// EstimateAnnotation, unless "false", adds to the Progressing condition
	// how far the rollout is and how long it may take.
	EstimateAnnotation = millwright.RolloutEstimate
	// OverlapAnnotation, unless "false", lets new machines be made while old
	// ones are still on their way out, so that slow drains do not hold up a
	// rollout. There are then more instances than replicas and surge.
	OverlapAnnotation = millwright.RolloutOverlap
)

// Annotations of ours on sets, written by their deployment.
const (
	// FailedAnnotation are the new machines that did not become ready since
	// the last one that did, separated by commas.
	FailedAnnotation = millwright.RolloutFailed
	// CanarySinceAnnotation is since when the canary has been available, in
	// RFC 3339.
	CanarySinceAnnotation = millwright.RolloutCanarySince
)

// Deployments reads and writes one kind of deployment. What edits an object edits a copy
// that the caller made; so it is with the sets that a deployment owns, and with what a
// rollout writes on their machines and nodes, which have lenses of their own.
type Deployments[D, S client.Object] interface {
	// Traits are what does not depend on the object.
	Traits() DeploymentTraits
	// New returns an empty deployment.
	New() D
	// View is what d says, faults included. It has no opinion on who owns what.
	View(d D, now time.Time) DeploymentView
	// RollBack edits d to ask for the template of s, which is nil where only
	// the request is to be cleared.
	RollBack(d D, s *S, p rollout.RollBack)
	// ApplyMetadata edits the metadata of d as a says: its revision, its wishes, and
	// whether it is frozen.
	ApplyMetadata(d D, sets []S, a rollout.Amend)
	// Record writes what came of a pass into the status of d, and nothing
	// else.
	Record(d D, o DeploymentOutcome[S])
	// Sets is the lens of the sets that deployments own, Machines that of their machines.
	Sets() DeployedSets[D, S]
	Machines() DeployedMachines
}

// DeploymentView is what a deployment says, in the engine's words.
type DeploymentView struct {
	rollout.Deployment
	// Policy answers, for the deployment, the questions on which API groups disagree.
	Policy rollout.Policy
	// Selector tells the sets of the deployment; it matches nothing where the deployment is
	// at fault about it.
	Selector labels.Selector
}

// DeployedSets reads and writes the sets that deployments own.
type DeployedSets[D, S client.Object] interface {
	// Lens is that of the sets by themselves.
	Lens() Sets[S]
	// View projects a set of d, without its machines.
	View(d D, s S) rollout.Set
	// Adopts reports whether d is to take over s, which nobody controls and
	// which the selector matches.
	Adopts(d D, s S) bool
	// New is the set of the present template, dressed as w says, with its
	// finalizer and its owner in place. Its name follows from the template and
	// from the collisions that d has recorded.
	New(d D, w rollout.SetWant) S
	// Apply edits s to look as w says and, where it is the current one, to
	// follow d in all that can be changed on living machines.
	Apply(d D, s S, w rollout.SetWant)
}

// DeployedMachines reads the machines of such sets, and writes on their nodes. It may also
// be a [VictimMarker] and a [Mover].
type DeployedMachines interface {
	// View projects a machine and, where it has one, its node. It does not change m.
	View(m client.Object, nodes Nodes) rollout.Machine
	// MarkNode edits n to carry what w says.
	MarkNode(n *corev1.Node, w rollout.NodeWant)
}

// Claims reports whether the controller of set, which selects by selector, is to take over
// m, which nobody controls ([replicas.Claim]).
func Claims(selector labels.Selector, set, m client.Object) bool {
	return replicas.Claim(replicas.Tie{
		Free: true, Matches: selector.Matches(labels.Set(m.GetLabels())),
		MachineDeleting: m.GetDeletionTimestamp() != nil, SetDeleting: set.GetDeletionTimestamp() != nil,
	}) == replicas.Adopt
}

// DeploymentTraits is what holds for all deployments of a kind.
type DeploymentTraits struct {
	// Kind is the deployment's, as owner references spell it.
	Kind schema.GroupVersionKind
	// Finalizer holds a deployment until its sets are gone; empty when that is
	// the garbage collector's work.
	Finalizer string
	// Events are the reasons of what the deployment tells people.
	Events DeploymentEvents
}

// DeploymentEvents names the events about a deployment.
type DeploymentEvents struct {
	Scaled            string // Normal: a set was scaled
	CreateError       string // Warning: the set of the present template cannot be made
	SelectsAll        string // Warning: the empty selector
	Invalid           string // Warning: any other fault
	RolledBack        string // Normal
	RevisionNotFound  string // Warning
	TemplateUnchanged string // Warning: the revision to go back to is the present one
	Stopped           string // Warning: the guard stopped a failing rollout
	Resumed           string // Normal: a stopped rollout, or one waiting at its canary, goes on
	Canary            string // Normal: the canary step was reached
}

// DeploymentOutcome is what a pass over a deployment came to.
type DeploymentOutcome[S client.Object] struct {
	// Now is when.
	Now time.Time
	// Deployment are the facts that the pass began with, Plan what came of
	// them.
	Deployment rollout.Deployment
	Plan       rollout.Plan
	// Sets are the sets as last read or written.
	Sets []S
	// Collided says that the name of the new set is taken by a foreign one;
	// CreateErr why it could not be made.
	Collided  bool
	CreateErr error
}
