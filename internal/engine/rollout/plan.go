package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// Plan has the actions for a deployment now.
type Plan struct {
	// Actions have to be carried out in this order.
	Actions []Action
	// ByMarks says that one of several sets shrinks: machines marked to be deleted first go first, so the
	// marks have to be read past the cache. Clients set the marks just before they lower the number.
	ByMarks bool
	// Status is the status to report.
	Status Status
	// After is the time until the next decision without an event; zero: never.
	After time.Duration
}

// ApproveKey is the annotation that approves a canary, for messages.
const ApproveKey = millwright.RolloutApproved

// SetRef names a set, with a reason.
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

// RollBack is the answer to a rollback request, or to a failed rollout.
type RollBack struct {
	// To is the set whose template to return to; nil if none exists, and then only the request is cleared.
	To *SetRef
	// Found says that the revision exists, Differs that its template differs from the current one, Automatic
	// that no user requested the rollback.
	Found, Differs, Automatic bool
	// Revision is the target revision.
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

// SetWant is the wanted state of a set.
type SetWant struct {
	UID  types.UID
	Name string
	// Current sets follow the deployment in all fields that can be changed in place.
	Current bool
	// Replicas is the wanted number of machines, Was the present one, Note why they differ; empty if they do
	// not.
	Replicas, Was int
	Note          string
	// Desired and Max are to be recorded on the set; nil leaves them alone.
	Desired, Max *int
	// Revision is to be recorded; 0 leaves it alone.
	Revision int64
	// Avoided and NoGrowth are the flags of the same names of [Set].
	Avoided, NoGrowth bool
	// Notes are to be stored.
	Notes Notes
}

// Scales reports whether w changes the number of machines.
func (w SetWant) Scales() bool { return w.Replicas != w.Was }

// NodeWant has the wanted marks of a node. It is planned only if the node differs.
type NodeWant struct {
	Node    string
	Machine string
	// Avoid and Stay are the marks of the same names of [Marks]; Stay does not change the mark of another
	// program. A released node is not avoided.
	Avoid, Stay bool
	// Update is the wanted state of an update in place.
	Update inplace.Wish
	Note   string
}

// Progress is the condition with the progress of the rollout.
type Progress struct {
	Status Truth
	Reason Reason
	// Message is for people.
	Message string
	// Since is when the condition was last written; the deadline counts from there.
	Since time.Time
}

// Truth is the status of a condition; empty if none exists.
type Truth string

// The truths.
const (
	True    Truth = "True"
	False   Truth = "False"
	Unknown Truth = "Unknown"
)

// Reason is the reason of the condition. The first eight are on the wire in every API group.
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
	// Stopped: the guard stopped a failing rollout, or a health check stopped a rollout to a template whose
	// machines become unhealthy.
	Stopped Reason = "RolloutStopped"
	// HeldBack: a set deletes no machine before a user approves it.
	HeldBack Reason = "DeletionHeld"
	// InvalidObject: the object is invalid, and the controller does nothing.
	InvalidObject Reason = "InvalidSpec"
	// SelectsAll: the empty selector would match every set.
	SelectsAll Reason = "SelectingAll"
)

// Status is the status of a deployment.
type Status struct {
	// Replicas, Updated, Ready, Available, Kept (failed and preserved) and
	// Unavailable count machines.
	Replicas, Updated, Ready, Available, Kept, Unavailable int
	// Waiting says what the rollout waits for, for users; empty if it continues by itself, or without a rollout.
	Waiting string
	// Complete says that all machines are of the current template and as many as wanted, all available.
	Complete bool
	// Enough says that at least Floor machines are available, the minimum at all times.
	Enough bool
	Floor  int
	// Progress is the condition to record; an empty truth does not change it.
	Progress Progress
	// Failure mirrors a set's failure; nil if no set has one.
	Failure *Failure
	// Faulty says that the object is invalid and nothing was counted; counters and availability are then left
	// alone.
	Faulty bool
}
