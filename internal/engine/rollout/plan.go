package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// Plan is what is to be done about a deployment now.
type Plan struct {
	// Actions are to be done in their order.
	Actions []Action
	// ByMarks says that one of several sets shrinks for a smaller number: machines
	// that somebody asked to give up go first, so that their marks have to be
	// known as of now. Whoever lowers a number marks them just before.
	ByMarks bool
	// Status is what to report.
	Status Status
	// After is when to look again although nothing happens; zero: never.
	After time.Duration
}

// ApproveKey is the annotation that approves a canary, for messages.
const ApproveKey = millwright.RolloutApproved

// SetRef names a set, and why it is meant.
type SetRef struct {
	UID  types.UID
	Name string
	Note string
}

// MachineRef names a machine.
type MachineRef struct {
	UID  types.UID
	Name string
}

// RollBack is the answer to a request to go back, or to a rollout that failed.
type RollBack struct {
	// To is the set whose template to return to; nil where there is none, and
	// only the request is cleared.
	To *SetRef
	// Found says that there is such a revision, Differs that its template is
	// another than the present. Automatic, that nobody asked.
	Found, Differs, Automatic bool
	// Revision is the one returned to.
	Revision int64
	Note     string
}

// Victim is a machine to mark as an autoscaler's choice made at At.
type Victim struct {
	MachineRef
	At time.Time
}

// Move hands a machine over from one set to another.
type Move struct {
	MachineRef
	From, To types.UID
	Note     string
}

// SetWant is what a set is to look like.
type SetWant struct {
	UID  types.UID
	Name string
	// Current sets follow the deployment in all that can be changed on living
	// machines.
	Current bool
	// Replicas is the wanted number of machines, Was the present one, Note why
	// they differ; empty when they do not.
	Replicas, Was int
	Note          string
	// Desired and Max are to be recorded with the set; nil leaves them alone.
	Desired, Max *int
	// Revision is to be recorded; 0 leaves it alone.
	Revision int64
	// Avoided and NoGrowth are the flags of the same names of [Set].
	Avoided, NoGrowth bool
	// Notes are to be remembered.
	Notes Notes
}

// Scales reports whether w changes the number of machines.
func (w SetWant) Scales() bool { return w.Replicas != w.Was }

// NodeWant is what a node is to carry. It is planned only where the node
// differs from it.
type NodeWant struct {
	Node    string
	Machine string
	// Avoid and Stay are the marks of the same names of [Marks]; Stay leaves
	// alone what somebody else asked for. A node that is released is not avoided.
	Avoid, Stay bool
	// Update is what is wanted of an update in place.
	Update inplace.Wish
	Note   string
}

// Progress is the condition that tells how the rollout goes.
type Progress struct {
	Status Truth
	Reason Reason
	// Message is for people.
	Message string
	// Since is when the condition was last written; progress counts from
	// there.
	Since time.Time
}

// Truth is the status of a condition; empty where there is none.
type Truth string

// The truths.
const (
	True    Truth = "True"
	False   Truth = "False"
	Unknown Truth = "Unknown"
)

// Reason is why the condition is as it is. The first eight are on the wire in
// every API group.
type Reason string

// The reasons.
const (
	SetCreated       Reason = "NewMachineSetCreated"
	SetFound         Reason = "FoundNewMachineSet"
	SetUpdated       Reason = "MachineSetUpdated"
	SetAvailable     Reason = "NewMachineSetAvailable"
	SetCreateError   Reason = "MachineSetCreateError"
	DeadlineExceeded Reason = "ProgressDeadlineExceeded"
	IsPaused         Reason = "DeploymentPaused"
	IsResumed        Reason = "DeploymentResumed"
	// Stopped: the guard stopped a failing rollout, or a health check one to a
	// template whose machines fall ill.
	Stopped Reason = "RolloutStopped"
	// HeldBack: a set gives up no machine before a person allows it.
	HeldBack Reason = "DeletionHeld"
	// InvalidObject: the object is at fault, and nothing is done.
	InvalidObject Reason = "InvalidSpec"
	// SelectsAll: the empty selector would match every set.
	SelectsAll Reason = "SelectingAll"
)

// Status is what to report about a deployment.
type Status struct {
	// Replicas, Updated, Ready, Available, Kept (failed and preserved) and
	// Unavailable count machines.
	Replicas, Updated, Ready, Available, Kept, Unavailable int
	// Waiting says what the rollout waits for, for people; empty when it goes
	// on by itself or there is none.
	Waiting string
	// Complete says that all machines are of the present template and there
	// are as many as wanted, all available.
	Complete bool
	// Enough says that at least as many are available as must be at all times,
	// which is Floor.
	Enough bool
	Floor  int
	// Progress is the condition to record; an empty truth leaves it as it is.
	Progress Progress
	// Failure mirrors a set's failure; nil when no set has one.
	Failure *Failure
	// Faulty says that nothing was counted because of a fault; counters and
	// availability are then to be left alone.
	Faulty bool
}
