// Package lifecycle decides what the machine controller does next about one machine.
//
// [Decide] takes three structs and returns one value: [Machine] has the facts of the object, [World] the
// facts outside of it, [Policy] the differences between API groups, and [Decision] the next step with its
// reason. Decide runs a list of checks from top to bottom, and the first check that objects names the step.
// live.go lists the checks for a machine that is not under deletion, remove.go those for a machine under
// deletion.
//
// The package performs no I/O, reads no clock and imports no API group, so that the same code serves several API groups, runs in the
// simulator, and explains itself to users. testdata/create-run-delete.golden shows a whole life.
package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/provider"
)

// Machine has the facts of the API object, in the engine's types.
type Machine struct {
	UID, Namespace, Name string
	// Created and Deleted are the object's timestamps; Deleted is zero while
	// the machine is wanted.
	Created, Deleted time.Time
	// HasFinalizer says that our finalizer is in place.
	HasFinalizer bool
	// Recorded has the object's records of the instance and the node.
	Recorded Recorded
	// Stage is the machine's stage by the object, since StageSince (zero if the API does not store it).
	Stage      Stage
	StageSince time.Time
	// Deletion has the requests for the machine's deletion, and its progress.
	Deletion Deletion
	// ForceDrain requests a forced drain while the machine stays.
	ForceDrain bool
	// Owned says that another object replaces the machine after it failed.
	Owned bool
	// Preservation has the requests to keep the machine although it failed.
	Preservation Preservation
	// Reboot is the request to reboot it before it is replaced.
	Reboot Rebooting
	// MovedTo is the machine of another API to which the instance was moved, as "api/namespace/name"; empty: none.
	MovedTo string
	// Faults are the errors in the object.
	Faults []Fault
}

// Recorded has the records in a machine's object about its instance and its node.
type Recorded struct {
	// ProviderID is empty until an instance was seen.
	ProviderID string
	// NodeName is the machine's node; empty until known.
	NodeName string
	// NodeUID is that node's UID if the API records it.
	NodeUID types.UID
	// Joined is the node that the machine has had; zero if not recorded.
	Joined Joined
	// Addresses also serve to find the node.
	Addresses []corev1.NodeAddress
	// Provisioned says that an instance was recorded at least once, so that a missing instance is a loss and
	// not a beginning.
	Provisioned bool
	// Origin is where its instance is requested; nil if the object has no record of that.
	Origin *Origin
	// Requests are the requests sent there.
	Requests Requests
}

// Joined is a node that a machine has had, and its cluster.
type Joined struct {
	// Cluster is the identity of the cluster: the UID of its namespace kube-system; empty if unknown.
	Cluster string `json:"cluster,omitempty"`
	// Node and UID are those of the node.
	Node string    `json:"node,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
	// Accepted is the identity of the cluster in which the node is now, as confirmed by a user.
	Accepted string `json:"-"`
}

// Deletion has the facts in a machine's object about its deletion. Requests count also before the deletion.
type Deletion struct {
	// Drained says that an earlier drain was recorded as finished, DrainedAt when (zero if unknown).
	Drained   bool
	DrainedAt time.Time
	// Started are the recorded steps of its deletion, in order; empty without a deletion.
	Started []StartedStep
	// SkipDrain requests to leave the node's pods alone.
	SkipDrain bool
	// Force requests a forced deletion.
	Force bool
	// Abandon allows the deletion of the object although its instance can no longer be reached through any
	// class.
	Abandon bool
	// PreDrain and PreTerminate are the hooks that stop the step they name.
	PreDrain, PreTerminate []Hook
}

// Stage is a coarse phase of a machine's life.
type Stage string

// The stages. Each API group has its own names for them.
const (
	StageNew      Stage = ""         // nothing was done yet
	StageCreating Stage = "Creating" // no usable instance yet
	StageCrashing Stage = "Crashing" // as Creating, and the last attempt failed
	StageJoining  Stage = "Joining"  // the instance runs, and its node has not joined yet
	StageDetached Stage = "Detached" // the instance runs, and is expected to have no node
	StageRunning  Stage = "Running"
	StageLost     Stage = "Lost" // was Running; its node is missing or unhealthy
	// Three stages of a machine that ran before, and whose node gets new software.
	StageUpdating     Stage = "Updating"
	StageUpdated      Stage = "Updated"
	StageUpdateFailed Stage = "UpdateFailed"
	StageFailed       Stage = "Failed"
	StageDeleting     Stage = "Deleting"
)

// Hook is a named request to wait, and its owner.
type Hook struct{ Name, Owner string }

// Fault is something wrong with an object that only its author can fix.
type Fault struct {
	// Field is the path of the offending field ("spec.class.kind").
	Field string
	// Message names the error and the expected value.
	Message string
}

// String returns "spec.class.kind: must be set".
func (f Fault) String() string { return f.Field + ": " + f.Message }

// World has the facts outside the API object at the time of the decision.
type World struct {
	// Connectivity is the connection to the clusters, on which timers depend. The zero value counts all time
	// as watched.
	Connectivity connectivity.State
	// Session has the facts about the provider session.
	Session Session
	// Instances are the machine's instances by the infrastructure.
	Instances Instances
	// Requests are [Recorded].Requests, with later facts that are not stored yet.
	Requests Requests
	// Unlisted is an instance that may exist although it is not listed.
	Unlisted Unlisted
	// Retry describes the last failed attempt to create or initialize.
	Retry Retry
	// Node is the machine's node.
	Node Node
	// Drain is the progress of the drain, Removal that of the instance's termination.
	Drain   Draining
	Removal Removal
	// Final is the decision that ended the machine's life for this pass: Fail, Replace, RemoveFinalizer, or
	// the first of the steps that follow a life that waits; nil: none of them was performed.
	Final *Decision
	// Token is the machine's bootstrap token, Preserving the progress of its preservation.
	Token      Token
	Preserving Preserving
	// Upkeep is the progress of reconciling the instance with its class.
	Upkeep Upkeep
	// Reboot is what this process knows of the last reboot, stored or not; its Request, Until and For are
	// unset. The zero value: no reboot.
	Reboot Rebooting
	// Successor is the machine in Machine.MovedTo. It is looked up only when a decision requires it.
	Successor Successor
	// Disruption is the answer of the disruption budgets. It is looked up only when a decision requires it.
	Disruption Disruption
	// MayFail says that an unhealthy machine may be set to Failed now. It is looked up only when a decision
	// requires it ([Decision.Needs]).
	MayFail bool
}

// Session has the facts about the provider session before instances are listed.
type Session struct {
	// Err says why there is no session; nil if there is one.
	Err error
	// UserDataErr says why there is no boot data; it matters to creation only.
	UserDataErr error
	// Origin is the cluster and account of the session; its Cluster is empty without a session.
	Origin Origin
	// Inherited has further inputs for the instance that are neither in the object nor in the objects that it
	// refers to, as far as the object does not store them yet; nil if there is nothing to store. Their source
	// may have changed by the time that the instance is looked for, so they are stored before one is
	// requested. Meaningless unless Instances.Looked.
	Inherited []byte
	// RebootPower is the infrastructure's ability to reboot.
	RebootPower RebootPower
	// IdentifiesNodes says that Millwright sets the provider ID of nodes ([provider.Traits]).
	IdentifiesNodes bool
}

// Instances are a machine's instances by the infrastructure ([Claims]).
type Instances struct {
	// Looked says that the infrastructure answered. A failed, partial or denied answer leaves it false and is
	// in Err.
	Looked bool
	Err    error
	// Own is the machine's instance, if it has one, among the reported instances that exist. Meaningless
	// unless Looked.
	Own []provider.Instance
	// Removed is the instance that this pass saw, and saw terminated; nil: none. Its fields are still
	// recorded, because they lead to the node that it leaves behind.
	Removed *provider.Instance
	// Duplicates are further instances of the machine. As long as the machine is not deleted they are left
	// alone and ignored: the orphan collector has them in quarantine. They are deleted with the machine.
	Duplicates []provider.Instance
	// Fault is why the infrastructure failed the machine's instance, still existing or not
	// ([provider.Instance].Fault); nil: it did not.
	Fault error
	// Substitute says that the instance is not the one that the machine has recorded, which was not reported.
	// It has the machine's UID.
	Substitute bool
	// Foreign were reported because of the machine's records, or its name, and do not belong to the machine.
	Foreign []Sighting
	// SeenToGo says that the end of the instance is proven by more than its absence: it is reported as
	// terminated, or it was reported during the machine's deletion and its termination requested, and either
	// it disappeared with that or the answering account is known to be the same.
	SeenToGo bool
	// Doubt is why the infrastructure is not trusted that a recorded instance does not exist, regardless of
	// the machine's node: it does not report the instances of other machines either. Empty if there is no
	// such reason.
	Doubt string
	// ProviderStatus is the provider's data to store in the object; nil changes nothing. Its form depends on
	// the API ([provider.Session]).
	ProviderStatus []byte
}

// Unlisted is an instance that may exist although the infrastructure does not list it.
type Unlisted struct {
	// For is how long it may still be unlisted, since its request by this process or its predecessor. Not
	// positive: an instance that is not listed does not exist. Until then an empty answer is not trusted.
	For time.Duration
	// Age is how long ago that request was sent at the latest; negative: it may still be on its way.
	Age time.Duration
	// Sent says that a request of the machine may have been carried out without an answer: the answer was
	// lost, or another process or implementation sent it. Otherwise the request is sent again at once.
	Sent bool
	// Err is why the answer was lost; nil if another process may have sent the request.
	Err error
}

// Awaited reports whether the instance of a request without an answer may still appear in listings.
func (u Unlisted) Awaited() bool { return u.Sent && u.For > 0 }

// Node has the facts about a machine's node.
type Node struct {
	// Object is nil if none exists. Meaningless unless Looked.
	Object *corev1.Node
	Looked bool
	Err    error
	// Cluster is the identity of the answering cluster, empty if unknown. Foreign says why that is not the
	// cluster which the machine joined, so that its answers do not concern the machine: then Looked is false.
	Cluster string
	Foreign string
	// Hosts are further nodes on which pods of the machine's instance may run: they have its provider ID or
	// an address of it, or have the recorded name and do not exist any more (then they have no UID). Their
	// pods are evicted with the machine's own; the nodes stay.
	Hosts []*corev1.Node
	// Doubt is why the cluster is not trusted that the recorded node does not exist; empty if there is no
	// such reason.
	Doubt string
	// DeletedAt is when a watch saw the deletion of the recorded node, by its UID; zero if it did not.
	DeletedAt time.Time
	// Taken names the owner of the node with the recorded name, if that is not the machine and the machine
	// has no other node. TakenReady says that it reports Ready.
	Taken      string
	TakenReady bool
	// Stale says that the node's metadata differs from the machine's declaration.
	Stale bool
	// Identity is the provider ID to set on the node; empty: none. Unsure says that it is unknown whether to
	// set one.
	Identity string
	Unsure   bool
	// Update has the node's facts about an update in place, Preservation those about keeping its machine.
	Update       inplace.Node
	Preservation NodePreservation
}

// Draining is the progress of a drain.
type Draining struct {
	// Result is the result of the drain; nil if this pass did not try. Err is the cluster's error if it
	// refused, or could not be reached.
	Result *drain.Decision
	Err    error
	// RefusedFor is how long, without a success in between, the cluster that machines join has refused or not
	// answered the requests of a deletion.
	RefusedFor time.Duration
}

// Removal is the progress of terminating the instance.
type Removal struct {
	State RemovalState
	// Err is the infrastructure's error.
	Err error
	// For is how long this process has been requesting the removal.
	For time.Duration
}

// RemovalState is how far this pass got with the removal of the instance.
type RemovalState string

// The states of a removal.
const (
	RemovalUntried RemovalState = ""
	// RemovalUnderway: accepted, not finished.
	RemovalUnderway RemovalState = "Underway"
	// RemovalDone: the infrastructure confirmed that nothing is left.
	RemovalDone RemovalState = "Done"
)

// Retry describes failed attempts at one thing.
type Retry struct {
	// Err is the last failure; nil if nothing failed.
	Err error
	// Step is the failed step: Create or Initialize.
	Step Step
	// At is when it failed, Failures how often in a row.
	At       time.Time
	Failures int
	// Told is when it was last reported; zero: never.
	Told time.Time
}

// Policy has the differences between API groups. Each field is named for the behaviour that it selects, not
// for an API group.
type Policy struct {
	// Targetless: machines are expected to have no node.
	Targetless bool
	Join       JoinPolicy
	Health     HealthPolicy
	Drain      DrainPolicy
	Update     UpdatePolicy
	Preserve   PreservePolicy
	// Delays are the limits of the pauses between attempts.
	Delays Delays
}

// JoinPolicy has the rules until a machine runs.
type JoinPolicy struct {
	// Timeout limits creating and joining, from the object's creation; zero: no limit.
	Timeout time.Duration
	// MissingFails: an instance that vanished, or that the infrastructure failed for good, sets the machine
	// to Failed at once; otherwise the machine is kept, without another instance, until Timeout, or until its
	// node is unhealthy.
	MissingFails bool
	// InvalidFails: a refusal of the spec at creation sets the machine to Failed at once; otherwise the
	// creation is retried until Timeout.
	InvalidFails bool
	// LinkedIsRunning: a machine runs as soon as its node is known; otherwise only when that node is healthy
	// and has none of HoldingTaints.
	LinkedIsRunning bool
	// HoldingTaints are keys of NoSchedule taints with which a new node does not count as running.
	HoldingTaints []string
}

// HealthPolicy has the rules for machines that have run.
type HealthPolicy struct {
	// Conditions are node condition types that must be False on a healthy node, in addition to Ready, which
	// must be True.
	Conditions []string
	// Tracked: a running machine whose node is missing or unhealthy is Lost, and
	// running again once it recovers.
	Tracked bool
	// Timeout makes a Lost machine Failed; zero: never.
	Timeout time.Duration
	// FailedRecovers: a Failed machine whose node is healthy runs again.
	FailedRecovers bool
	// NodeLossDeletes: if a joined machine's node object is deleted, the machine has to be replaced.
	NodeLossDeletes bool
}

// DrainPolicy has the rules for drains.
type DrainPolicy struct {
	// Timeout forces the drain, counted from the deletion or from the selection for an update; zero: never.
	Timeout time.Duration
	// Policy is passed to the drain unchanged, except for Force and Unreachable.
	Policy drain.Policy
	// UnreachableAfter: the drain is forced if the node has not been Ready for that long, or if one of
	// DefectConditions, which are node condition types, has not been False for that long; zero: never.
	UnreachableAfter time.Duration
	DefectConditions []string
	// HookPatience is how long hooks may stop a step before that is overdue; zero: without a limit.
	HookPatience time.Duration
}

// UpdatePolicy has the rules for updates in place.
type UpdatePolicy struct {
	// InPlace: nodes get new software if [inplace.Node] requests it; otherwise the node's requests are
	// ignored.
	InPlace bool
	// Timeout limits the time that a node's agent takes; zero: no limit.
	Timeout time.Duration
}

// PreservePolicy has the rules for machines that are kept although they failed.
type PreservePolicy struct {
	// Supported: failed machines are kept for inspection on request ([Preserve]), for Timeout.
	Supported bool
	Timeout   time.Duration
}

// Delays are limits of the pauses between attempts, by the kind of the error. Pauses after
// [provider.Transient] and [provider.Conflict] errors begin at [FirstDelay] and double up to Transient.
type Delays struct {
	Transient time.Duration
	Exhausted time.Duration
	Other     time.Duration
}

// FirstDelay is the pause after a first transient failure.
const FirstDelay = 500 * time.Millisecond
