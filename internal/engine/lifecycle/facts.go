// Package lifecycle decides what the machine controller does next about one machine.
//
// [Decide] takes three structs and returns one value: [Machine] is what the object says, [World] what is true outside of it,
// [Policy] what the API groups disagree about, and [Decision] the next step with its reason. Decide runs a list of checks from top
// to bottom, and the first check that objects names the step. live.go lists the checks for a living machine, remove.go those for
// a machine under deletion.
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

// Machine is what the API object says, in the engine's words.
type Machine struct {
	UID, Namespace, Name string
	// Created and Deleted are the object's timestamps; Deleted is zero while
	// the machine is wanted.
	Created, Deleted time.Time
	// HasFinalizer says that our finalizer is in place.
	HasFinalizer bool
	// Recorded is what the object keeps of the instance and the node.
	Recorded Recorded
	// Stage is where the object says the machine stands, since StageSince
	// (zero when the API does not keep it).
	Stage      Stage
	StageSince time.Time
	// Deletion is what is asked about the machine's deletion, and how far that is.
	Deletion Deletion
	// ForceDrain asks to move workloads away without patience while the machine stays.
	ForceDrain bool
	// Owned says that another object replaces the machine when it failed.
	Owned bool
	// Preservation is what is asked about keeping the machine although it failed.
	Preservation Preservation
	// Reboot is what is asked about rebooting it before it is replaced.
	Reboot Rebooting
	// Faults are what is wrong with the object itself.
	Faults []Fault
}

// Recorded is what a machine's object keeps of its instance and of its node.
type Recorded struct {
	// ProviderID is empty until an instance was seen.
	ProviderID string
	// NodeName is the machine's node; empty until known.
	NodeName string
	// NodeUID is that node's UID where the API records it.
	NodeUID types.UID
	// Joined is the node that the machine was seen to have; zero where that was not recorded.
	Joined Joined
	// Addresses also serve to find the node.
	Addresses []corev1.NodeAddress
	// Provisioned says that an instance was recorded at least once, so that
	// finding none is a loss and not a beginning.
	Provisioned bool
	// Origin is where its instance is asked for; nil where the object does not say.
	Origin *Origin
	// Asks are what was asked for there.
	Asks Asks
}

// Joined is a node that a machine was seen to have, and where.
type Joined struct {
	// Cluster is the identity of the cluster: the UID of its namespace kube-system; empty
	// where it was not known.
	Cluster string `json:"cluster,omitempty"`
	// Node and UID are the node's.
	Node string    `json:"node,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
	// Accepted is the identity of the cluster in which a person says that the node is now.
	Accepted string `json:"-"`
}

// Deletion is what a machine's object says about its deletion. Requests count also
// before it.
type Deletion struct {
	// Drained says that an earlier drain was recorded as finished, DrainedAt
	// when (zero when that is not known).
	Drained   bool
	DrainedAt time.Time
	// Begun are the steps of its deletion that were recorded as begun, in order;
	// none while the machine is wanted.
	Begun []Begun
	// SkipDrain asks to leave the node's pods alone.
	SkipDrain bool
	// Force asks to get rid of the machine without patience.
	Force bool
	// Abandon allows to let the object go although its instance can no longer
	// be reached through any class.
	Abandon bool
	// PreDrain and PreTerminate are the hooks that stop the step they name.
	PreDrain, PreTerminate []Hook
}

// Stage is a coarse place in a machine's life.
type Stage string

// The stages. Each API group has its own words for them.
const (
	StageNew      Stage = ""         // nothing was done yet
	StageCreating Stage = "Creating" // no usable instance yet
	StageCrashing Stage = "Crashing" // as Creating, and the last attempt failed
	StageJoining  Stage = "Joining"  // the instance runs, its node is awaited
	StageDetached Stage = "Detached" // the instance runs, no node is expected
	StageRunning  Stage = "Running"
	StageLost     Stage = "Lost" // was Running; its node is missing or unhealthy
	// Three stages of a machine that ran before, and whose node is given new
	// software.
	StageUpdating     Stage = "Updating"
	StageUpdated      Stage = "Updated"
	StageUpdateFailed Stage = "UpdateFailed"
	StageFailed       Stage = "Failed"
	StageDeleting     Stage = "Deleting"
)

// Hook is a named request to wait, and who made it.
type Hook struct{ Name, Owner string }

// Fault is something wrong with an object that only its author can mend.
type Fault struct {
	// Field is the path of the offending field ("spec.class.kind").
	Field string
	// Message says what is wrong and what is expected.
	Message string
}

// String is "spec.class.kind: must be set".
func (f Fault) String() string { return f.Field + ": " + f.Message }

// World is what is true outside the API object at the time of asking.
type World struct {
	// Connectivity is how well the clusters were seen: timers run by it. The zero value
	// has seen everything.
	Connectivity connectivity.State
	// Session is where instances are asked for.
	Session Session
	// Instances are what the infrastructure says of the machine's.
	Instances Instances
	// Asks are [Recorded].Asks, with what is known since these were stored.
	Asks Asks
	// Unlisted is what may exist although no listing shows it.
	Unlisted Unlisted
	// Retry is what came of the last failed attempt to create or initialize.
	Retry Retry
	// Node is the machine's node.
	Node Node
	// Drain is how moving the workloads away goes, Removal how removing the
	// instance does.
	Drain   Draining
	Removal Removal
	// Final is the decision that ended, for this pass, what there is to decide about the
	// machine's life: Fail, Replace, RemoveFinalizer, or the first of the steps that come
	// after a life that waits; nil: none of them was performed.
	Final *Decision
	// Token is the machine's bootstrap token, Preserving how far keeping the machine is.
	Token      Token
	Preserving Preserving
	// Upkeep is how keeping the instance as its class says goes.
	Upkeep Upkeep
	// Reboot is what this process knows of the last reboot, be that stored or not; its
	// Request, Until and For say nothing. The zero value: it knows of none.
	Reboot Rebooting
	// MayFail says that giving up on an unhealthy machine is permitted now. Nobody
	// asks for that before a decision does ([Decision.Asks]).
	MayFail bool
}

// Session is what is known of the infrastructure before it is asked about instances.
type Session struct {
	// Err says why there is no session; nil when there is one.
	Err error
	// UserDataErr says why there is no boot data; it matters to creation only.
	UserDataErr error
	// Origin is what the session is for; its Cluster is empty while there is none.
	Origin Origin
	// Inherited is what else the instance is going to be made from than what the
	// object says and refers to, as far as the object does not keep it yet; nil
	// when there is nothing to keep. Where it comes from may say otherwise by the
	// time that the instance is looked for, so it is stored before one is asked
	// for. Meaningless unless Instances.Looked.
	Inherited []byte
	// RebootPower is how the infrastructure reboots.
	RebootPower RebootPower
	// IdentifiesNodes says that nodes are given their provider ID here ([provider.Traits]).
	IdentifiesNodes bool
}

// Instances are what the infrastructure says of a machine's instances ([Claims]).
type Instances struct {
	// Looked says that the infrastructure answered. An answer that failed, was
	// partial or denied leaves it false and is in Err.
	Looked bool
	Err    error
	// Own is the machine's instance, if it has one, of those that the
	// infrastructure reported and that exist. Meaningless unless Looked.
	Own []provider.Instance
	// Removed is the instance that this pass saw, and saw to its end; nil: none was.
	// What it says is recorded still, as it leads to the node that it leaves behind.
	Removed *provider.Instance
	// Duplicates are further instances of the machine. Nothing is done with them
	// while the machine lives, and they count for nothing: the orphan collector has
	// them in quarantine. They go with the machine.
	Duplicates []provider.Instance
	// Fault is why the infrastructure gave up the machine's instance, be it there
	// still or not ([provider.Instance].Fault); nil: it did not.
	Fault error
	// Substitute says that the instance is not the one that the machine has recorded,
	// which was not reported. It carries the machine's UID.
	Substitute bool
	// Foreign were reported because of what the machine has recorded, or of its
	// name, and are not the machine's.
	Foreign []Sighting
	// SeenToGo says that more than silence tells of the instance's end: it is
	// reported as terminated, or it was reported during the machine's deletion and asked to
	// go, and either was gone with that or the account that answers is known to be the same.
	SeenToGo bool
	// Doubt is why the infrastructure is not believed that a recorded instance is
	// not there, whatever the machine's node says: it does not report those of
	// other machines either. Empty where there is no such reason.
	Doubt string
	// ProviderStatus is what the provider wants kept in the object; nil leaves
	// it as it is. Its form depends on the API ([provider.Session]).
	ProviderStatus []byte
}

// Unlisted is an instance that may exist although the infrastructure does not list it.
type Unlisted struct {
	// For is for how long it may still be unlisted, since it was asked for by this process or by the one before. Not positive: an
	// instance that is not listed does not exist. Until then an empty answer is not believed.
	For time.Duration
	// Sent says that a request of the machine may have been carried out without an answer: the answer was lost, or another process sent
	// the request, or another implementation. Else it is sent again at once.
	Sent bool
	// Err is why the answer was lost; nil where another process may have sent the request.
	Err error
}

// Awaited reports whether a request without an answer may yet show in listings.
func (u Unlisted) Awaited() bool { return u.Sent && u.For > 0 }

// Node is what is known of a machine's node.
type Node struct {
	// Object is nil when there is none. Meaningless unless Looked.
	Object *corev1.Node
	Looked bool
	Err    error
	// Cluster is the identity of the cluster that was asked, empty where it is not known.
	// Foreign says why that is not the cluster which the machine joined, and nothing that it
	// says is about the machine: Looked is false then.
	Cluster string
	Foreign string
	// Hosts are further nodes on which pods of the machine's instance may run: they show its
	// provider ID or an address of it, or have the recorded name and are not there any more,
	// which those without a UID are. Their pods leave with the machine's own; the nodes stay.
	Hosts []*corev1.Node
	// Doubt is why the cluster is not believed that the recorded node is not there; empty
	// where there is no such reason.
	Doubt string
	// DeletedAt is when the cluster was watched as it deleted the recorded node, by its UID;
	// zero when it was not.
	DeletedAt time.Time
	// Taken says whose the node of the recorded name is, where that is not the machine's,
	// and no other is. TakenReady says that it reports Ready.
	Taken      string
	TakenReady bool
	// Stale says that the node's metadata differs from what the machine asks for.
	Stale bool
	// Identity is the provider ID that the node is to be given; empty: none. Unsure says
	// that it could not be told whether it is to be.
	Identity string
	Unsure   bool
	// Update is what the node says about an update in place, Preservation what it
	// says about keeping its machine.
	Update       inplace.Node
	Preservation NodePreservation
}

// Draining is how moving the workloads away goes.
type Draining struct {
	// Result is what draining the node came to; nil when this pass did not try.
	// Err is what the cluster answered where it refused, or could not be asked.
	Result *drain.Decision
	Err    error
	// RefusedFor is for how long, and without a success in between, the cluster
	// that machines join has refused or not answered what a deletion asks of it.
	RefusedFor time.Duration
}

// Removal is how removing the instance goes.
type Removal struct {
	State RemovalState
	// Err is what the infrastructure objected.
	Err error
	// For is since when this process has been asking for removal.
	For time.Duration
}

// RemovalState is how far this pass got with removing the instance.
type RemovalState string

// How far removing an instance got.
const (
	RemovalUntried RemovalState = ""
	// RemovalUnderway: accepted, not finished.
	RemovalUnderway RemovalState = "Underway"
	// RemovalDone: the infrastructure confirmed that nothing is left.
	RemovalDone RemovalState = "Done"
)

// Retry describes failed attempts at one thing.
type Retry struct {
	// Err is the last failure; nil when nothing failed.
	Err error
	// Step is what failed: Create or Initialize.
	Step Step
	// At is when it failed, Failures how often in a row.
	At       time.Time
	Failures int
	// Told is when people last heard of it; zero: they have not.
	Told time.Time
}

// Policy answers the questions on which API groups disagree. Each field is
// named for the behaviour it selects; none is named for an API group.
type Policy struct {
	// Targetless: no node is expected to join.
	Targetless bool
	Join       JoinPolicy
	Health     HealthPolicy
	Drain      DrainPolicy
	Update     UpdatePolicy
	Preserve   PreservePolicy
	// Delays are the upper bounds between attempts.
	Delays Delays
}

// JoinPolicy is about the way to a machine that runs.
type JoinPolicy struct {
	// Timeout bounds creating and joining, from the object's creation; zero: wait
	// for ever.
	Timeout time.Duration
	// MissingFails: an instance that vanished, or that the infrastructure gave up
	// for good, makes the machine Failed at once; else the machine is kept, without
	// another instance, until Timeout, or until its node is found unhealthy.
	MissingFails bool
	// InvalidFails: a refusal of the spec at creation makes the machine Failed
	// at once; else it is retried until Timeout.
	InvalidFails bool
	// LinkedIsRunning: a machine runs as soon as its node is known; else only
	// when that node is healthy and carries none of HoldingTaints.
	LinkedIsRunning bool
	// HoldingTaints are keys of NoSchedule taints that keep a new node from
	// counting as running.
	HoldingTaints []string
}

// HealthPolicy is about machines that have run.
type HealthPolicy struct {
	// Conditions are node condition types that must be False on a healthy node,
	// besides Ready, which must be True.
	Conditions []string
	// Tracked: a running machine whose node is missing or unhealthy is Lost, and
	// running again once it recovers.
	Tracked bool
	// Timeout makes a Lost machine Failed; zero: never.
	Timeout time.Duration
	// FailedRecovers: a Failed machine whose node is healthy runs again.
	FailedRecovers bool
	// NodeLossDeletes: when a joined machine's node object is deleted, the
	// machine is to be replaced.
	NodeLossDeletes bool
}

// DrainPolicy is about moving workloads away.
type DrainPolicy struct {
	// Timeout forces the drain, counted from deletion or from the selection for an
	// update; zero: never.
	Timeout time.Duration
	// Policy is handed to the drain as it is, but for Force and Unreachable.
	Policy drain.Policy
	// UnreachableAfter: the drain is forced when the node has not been Ready
	// for so long, or one of DefectConditions, which are node condition types,
	// has been other than False; zero: never.
	UnreachableAfter time.Duration
	DefectConditions []string
	// HookPatience is for how long hooks may stop a step before that is overdue;
	// zero: for ever.
	HookPatience time.Duration
}

// UpdatePolicy is about updates in place.
type UpdatePolicy struct {
	// InPlace: nodes are given new software where [inplace.Node] asks for it; else what
	// nodes say of that is not heard.
	InPlace bool
	// Timeout bounds the time that a node's agent takes; zero: wait for ever.
	Timeout time.Duration
}

// PreservePolicy is about machines that are kept although they failed.
type PreservePolicy struct {
	// Supported: failed machines are kept for inspection where somebody asks for it
	// ([Preserve]), for Timeout.
	Supported bool
	Timeout   time.Duration
}

// Delays are upper bounds between attempts, per reaction. Attempts after
// [provider.Transient] and [provider.Conflict] errors begin at [FirstDelay] and
// double up to Transient.
type Delays struct {
	Transient time.Duration
	Exhausted time.Duration
	Other     time.Duration
}

// FirstDelay is the pause after a first transient failure.
const FirstDelay = 500 * time.Millisecond
