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

// Millwright's annotations on deployments of every API group. They enable precautions that neither of the
// original APIs has; all are off by default.
const (
	// MaxFailuresAnnotation stops a rollout after so many new machines in a
	// row did not become ready ("3").
	MaxFailuresAnnotation = millwright.RolloutMaxFailures
	// ReadyWithinAnnotation is how long a new machine may take until it counts as failed ("20m"); without it
	// only the phase Failed counts.
	ReadyWithinAnnotation = millwright.RolloutReadyWithin
	// OnFailureAnnotation is what a stopped rollout does: "stop", which is the
	// default, or "rollback".
	OnFailureAnnotation = millwright.RolloutOnFailure
	// CanaryAnnotation is how many machines are updated first ("1", "10%").
	CanaryAnnotation = millwright.RolloutCanary
	// SoakAnnotation is how long the canary must have been available until the rest follows automatically
	// ("30m"); without it a user approves.
	SoakAnnotation = millwright.RolloutCanarySoak
	// ApprovedAnnotation is the revision whose canary a user approved ("7").
	ApprovedAnnotation = rollout.ApproveKey
	// EstimateAnnotation, unless "false", adds the progress of the rollout and its remaining time to the
	// Progressing condition.
	EstimateAnnotation = millwright.RolloutEstimate
	// OverlapAnnotation, unless "false", allows new machines while old ones are still under deletion, so that
	// slow drains do not delay a rollout. Then there are more instances than replicas and surge.
	OverlapAnnotation = millwright.RolloutOverlap
)

// Millwright's annotations on sets, written by their deployment.
const (
	// FailedAnnotation lists the new machines that did not become ready since the last one that did,
	// separated by commas.
	FailedAnnotation = millwright.RolloutFailed
	// CanarySinceAnnotation is when the canary became available, in RFC 3339.
	CanarySinceAnnotation = millwright.RolloutCanarySince
)

// Deployments reads and writes one kind of deployment. Methods that edit an object edit a copy that the
// caller made; so do those of its sets, machines and nodes, which have their own lenses.
type Deployments[D, S client.Object] interface {
	// Traits returns the properties of the kind.
	Traits() DeploymentTraits
	// New returns an empty deployment.
	New() D
	// View returns the facts of d, including faults. It does not decide about ownership.
	View(d D, now time.Time) DeploymentView
	// RollBack edits d to have the template of s; s is nil if only the request is to be cleared.
	RollBack(d D, s *S, p rollout.RollBack)
	// ApplyMetadata edits the metadata of d by a: its revision, its wishes, and whether it is frozen.
	ApplyMetadata(d D, sets []S, a rollout.Amend)
	// Record writes the result of a pass into the status of d, and nothing else.
	Record(d D, o DeploymentOutcome[S])
	// Sets returns the lens of the sets that deployments own, Machines that of their machines.
	Sets() DeployedSets[D, S]
	Machines() DeployedMachines
}

// DeploymentView has the facts of a deployment, in the engine's types.
type DeploymentView struct {
	rollout.Deployment
	// Policy has the API group's rules for the deployment.
	Policy rollout.Policy
	// Selector selects the sets of the deployment; it matches nothing if the deployment's selector is
	// invalid.
	Selector labels.Selector
}

// DeployedSets reads and writes the sets that deployments own.
type DeployedSets[D, S client.Object] interface {
	// Lens returns the lens of sets without a deployment.
	Lens() Sets[S]
	// View returns the facts of a set of d, without its machines.
	View(d D, s S) rollout.Set
	// Adopts reports whether d has to adopt s, which has no controller and which the selector matches.
	Adopts(d D, s S) bool
	// New returns the set of the current template, in the state w, with its finalizer and its owner. Its name
	// follows from the template and from the collisions that d has recorded.
	New(d D, w rollout.SetWant) S
	// Apply edits s to the state w and, if it is the current one, to follow d in all fields that can be
	// changed in place.
	Apply(d D, s S, w rollout.SetWant)
}

// DeployedMachines reads the machines of such sets, and writes on their nodes. It may also be a
// [VictimMarker] and a [Mover].
type DeployedMachines interface {
	// View returns the facts of a machine and, if it has one, its node. It does not change m.
	View(m client.Object, nodes Nodes) rollout.Machine
	// MarkNode edits n to have the marks w.
	MarkNode(n *corev1.Node, w rollout.NodeWant)
}

// Claims reports whether the controller of set, with this selector, has to adopt m, which has no controller
// ([replicas.Claim]).
func Claims(selector labels.Selector, set, m client.Object) bool {
	return replicas.Claim(replicas.Tie{
		Free: true, Matches: selector.Matches(labels.Set(m.GetLabels())),
		MachineDeleting: m.GetDeletionTimestamp() != nil, SetDeleting: set.GetDeletionTimestamp() != nil,
	}) == replicas.Adopt
}

// DeploymentTraits has the properties of a kind of deployment.
type DeploymentTraits struct {
	// Kind is the deployment's kind, as owner references spell it.
	Kind schema.GroupVersionKind
	// Finalizer holds a deployment until its sets are deleted; empty if the garbage collector deletes them.
	Finalizer string
	// Events are the reasons of the deployment's events.
	Events DeploymentEvents
}

// DeploymentEvents names the events about a deployment.
type DeploymentEvents struct {
	Scaled            string // Normal: a set was scaled
	CreateError       string // Warning: the set of the current template cannot be created
	SelectsAll        string // Warning: the empty selector
	Invalid           string // Warning: any other fault
	RolledBack        string // Normal
	RevisionNotFound  string // Warning
	TemplateUnchanged string // Warning: the revision to roll back to is the current one
	Stopped           string // Warning: the guard stopped a failing rollout
	Resumed           string // Normal: a stopped rollout, or one waiting at its canary, continues
	Canary            string // Normal: the canary step was reached
}

// DeploymentOutcome is the result of a pass over a deployment.
type DeploymentOutcome[S client.Object] struct {
	// Now is the time of the pass.
	Now time.Time
	// Deployment has the facts at the beginning of the pass, Plan is the resulting plan.
	Deployment rollout.Deployment
	Plan       rollout.Plan
	// Sets are the sets as last read or written.
	Sets []S
	// Collided says that another owner's set has the name of the new set; CreateErr why the set could not be
	// created.
	Collided  bool
	CreateErr error
}
