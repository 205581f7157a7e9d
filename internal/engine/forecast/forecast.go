// Package forecast predicts what controllers will do about a change before a user makes it.
//
// [Run] calls the functions that the controllers call ([rollout.Decide], [replicas.Decide] and
// [lifecycle.DecideLife]) with a [Model], which stands for the stored objects. It lets the model carry out
// each decision, and repeats until nothing changes any more. It has no rules of its own about which machines
// are created and deleted.
//
// The package performs no I/O, reads no clock and imports no API group.
package forecast

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Model is a deployment with its sets, a set, or a machine, with their machines. It stores decisions as the
// controllers do, and returns the resulting facts.
type Model interface {
	// Rollout returns the facts for the deployment's controller; false: the sets have no deployment.
	Rollout(now time.Time) (Rollout, bool)
	// Carry stores the changes of a plan, and reports whether it changed anything.
	Carry(now time.Time, p rollout.Plan) bool
	// Settle stores the changes to objects that precede the decision of a set's controller: machines are
	// adopted and released and follow the template, and objects that have lost their owner are deleted.
	Settle(now time.Time) []Step
	// Sets returns the facts for the controllers of the sets.
	Sets(now time.Time) []Set
	// Act stores the decision about a set, and returns the created machines.
	Act(now time.Time, set types.UID, d replicas.Decision) []types.UID
	// Machines returns the machines of the sets, and those without a set.
	Machines(now time.Time) []Machine
	// Exit returns the facts about the deletion of a machine.
	Exit(machine types.UID) Exit
	// Become stores that a machine has reached a state.
	Become(now time.Time, machine types.UID, to State)
}

// Rollout is the input of a decision about a deployment.
type Rollout struct {
	Deployment rollout.Deployment
	Sets       []rollout.Set
	Policy     rollout.Policy
}

// Set is the input of a decision about a set.
type Set struct {
	Set     replicas.Set
	Members []replicas.Member
	Policy  replicas.Policy
}

// State is the progress of a machine.
type State string

// The states.
const (
	// Coming: its node has not joined yet.
	Coming State = "Coming"
	// Running: its node is ready.
	Running State = "Running"
	// Unwell: it has a node and does not work; the forecast cannot say when it will.
	Unwell State = "Unwell"
	// Updating: an agent on its node installs new software.
	Updating State = "Updating"
	// Updated: it has the software.
	Updated State = "Updated"
	// Leaving: it is being deleted.
	Leaving State = "Leaving"
	// Gone: it does not exist any more.
	Gone State = "Gone"
)

// Machine is a machine of the model.
type Machine struct {
	UID   types.UID
	Name  string
	Set   string
	State State
	// New says that the machine does not exist outside the model.
	New bool
	// Since is when the state began; zero: unknown.
	Since time.Time
}

// Object names a deployment, set, machine or class.
type Object struct {
	API       string `json:"api"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Kind is what a step does.
type Kind string

// The kinds of steps.
const (
	CreateSet Kind = "CreateSet"
	DeleteSet Kind = "DeleteSet"
	ScaleSet  Kind = "ScaleSet"
	// SetGone: a deleted set does not exist any more.
	SetGone  Kind = "SetGone"
	RollBack Kind = "RollBack"
	Create   Kind = "Create"
	Delete   Kind = "Delete"
	Adopt    Kind = "Adopt"
	Release  Kind = "Release"
	// Amend changes machines in place, without replacing them.
	Amend Kind = "Amend"
	// Freeze and Thaw are about a set with far too many machines.
	Freeze Kind = "Freeze"
	Thaw   Kind = "Thaw"
	// Select lets nodes be updated in place, HandOver gives an updated machine to the new set.
	Select   Kind = "Select"
	HandOver Kind = "HandOver"
)

// Step is one event of the forecast.
type Step struct {
	// At is the time since the change.
	At time.Duration `json:"at"`
	// After is the event that it waited for: "1 machine ready"; empty for the first step.
	After string `json:"after,omitempty"`
	Kind  Kind   `json:"kind"`
	// Set is the set's name; empty for a machine without one.
	Set string `json:"set,omitempty"`
	// From and To are the sizes of a set.
	From *int `json:"from,omitempty"`
	To   *int `json:"to,omitempty"`
	// Count is the number of machines, Machines are those that exist already.
	Count    int       `json:"count,omitempty"`
	Machines []Subject `json:"machines,omitempty"`
	// Shared are the budgets that allow the pods of all these machines to leave only a few at a time.
	Shared []Block `json:"shared,omitempty"`
	// Held are the machines that wait for machine disruption budgets.
	Held []Hold `json:"held,omitempty"`
	// Reason is the controller's own text, for people.
	Reason string `json:"reason,omitempty"`
	// Open says that several machines are created or deleted at once before this step: if that happens one
	// after the other, the step comes in several smaller ones, or at another position. The final result is
	// the same.
	Open bool `json:"open,omitempty"`
}

// Subject is a machine that a step concerns.
type Subject struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
	// Reason is why this machine was chosen, for people.
	Reason string `json:"reason,omitempty"`
	// Open says that another machine may be chosen: the criterion between them may change until then.
	Open bool `json:"open,omitempty"`
	// Exit is the course of its deletion; nil if it is not deleted.
	Exit *Leave `json:"exit,omitempty"`
}

// Forecast is the predicted sequence of steps.
type Forecast struct {
	Steps []Step `json:"steps"`
	// Waits are the events that it waits for in the end; empty: it finishes by itself.
	Waits []string `json:"waits,omitempty"`
	// Cut says that it goes on after the last listed step.
	Cut bool `json:"cut,omitempty"`
	// Beyond is the number of machines that are created like those of the steps, and are only counted.
	Beyond int `json:"beyond,omitempty"`
	// Created and Deleted count machines; Rest is the number of machines in the end.
	Created int `json:"created"`
	Deleted int `json:"deleted"`
	Rest    int `json:"rest"`
	// Took is how long it takes.
	Took Estimate `json:"duration"`
}

// Nothing reports whether nothing happens.
func (f Forecast) Nothing() bool { return len(f.Steps) == 0 }

// Estimate is a length of time, and its source.
type Estimate struct {
	// Length is the time; at least that where Known is false.
	Length time.Duration `json:"length"`
	Known  bool          `json:"known"`
	// Source names its source, or says why the time is unknown.
	Source string `json:"source"`
}

// Durations are how long machines take.
type Durations struct {
	Create, Delete Estimate
	// AtOnce is the greatest number of machines seen to come up at once: more machines may take longer. Zero:
	// unknown.
	AtOnce int
	// Undrained says that Delete begins when the drain is over, because no fact shows when deletions began.
	Undrained bool
}
