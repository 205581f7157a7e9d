// Package forecast says what controllers will do about a change before anybody makes it.
//
// [Run] asks the functions that the controllers ask ([rollout.Decide], [replicas.Decide] and [lifecycle.DecideLife]) about a [Model], which
// stands for the stored objects, lets the model carry each decision out, and goes on until nothing changes any more. It has no rules
// of its own about who is created and who goes.
//
// The package performs no I/O, reads no clock and imports no API group.
package forecast

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Model is a deployment with its sets, a set, or a machine, with their machines. It stores what is decided as the controllers do, and
// shows what comes of it as facts.
type Model interface {
	// Rollout is what the deployment's controller looks at; false: nobody looks after the sets.
	Rollout(now time.Time) (Rollout, bool)
	// Carry stores what a plan says, and reports whether that changed anything.
	Carry(now time.Time, p rollout.Plan) bool
	// Settle stores what happens to objects before a set's controller decides: machines are adopted and released, follow the
	// template, and what has lost its owner goes.
	Settle(now time.Time) []Step
	// Sets are what the controllers of the sets look at.
	Sets(now time.Time) []Set
	// Act stores what was decided about a set, and returns the machines that were created.
	Act(now time.Time, set types.UID, d replicas.Decision) []types.UID
	// Machines are those that the sets have, and those without a set.
	Machines(now time.Time) []Machine
	// Exit is what is known about the deletion of a machine.
	Exit(machine types.UID) Exit
	// Become stores that a machine has come to a state.
	Become(now time.Time, machine types.UID, to State)
}

// Rollout is what is asked about a deployment.
type Rollout struct {
	Deployment rollout.Deployment
	Sets       []rollout.Set
	Policy     rollout.Policy
}

// Set is what is asked about a set.
type Set struct {
	Set     replicas.Set
	Members []replicas.Member
	Policy  replicas.Policy
}

// State is how far a machine is.
type State string

// The states.
const (
	// Coming: its node is awaited.
	Coming State = "Coming"
	// Running: its node is ready.
	Running State = "Running"
	// Unwell: it came, and does not work; nothing here says when it will.
	Unwell State = "Unwell"
	// Updating: its node is given new software, which somebody on it does.
	Updating State = "Updating"
	// Updated: it has the software.
	Updated State = "Updated"
	// Leaving: it is being deleted.
	Leaving State = "Leaving"
	// Gone: there is no such machine any more.
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
	// Since is when the state began; zero: not known.
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
	// SetGone: a set that was deleted is there no more.
	SetGone  Kind = "SetGone"
	RollBack Kind = "RollBack"
	Create   Kind = "Create"
	Delete   Kind = "Delete"
	Adopt    Kind = "Adopt"
	Release  Kind = "Release"
	// Amend changes machines in place, which replaces none.
	Amend Kind = "Amend"
	// Freeze and Thaw are about a set with far too many machines.
	Freeze Kind = "Freeze"
	Thaw   Kind = "Thaw"
	// Select lets nodes be updated in place, HandOver gives an updated machine to the new set.
	Select   Kind = "Select"
	HandOver Kind = "HandOver"
)

// Step is one thing that happens.
type Step struct {
	// At is how long after the change.
	At time.Duration `json:"at"`
	// After is what it waited for: "1 machine ready"; empty at first.
	After string `json:"after,omitempty"`
	Kind  Kind   `json:"kind"`
	// Set is the set's name; empty for a machine without one.
	Set string `json:"set,omitempty"`
	// From and To are the sizes of a set.
	From *int `json:"from,omitempty"`
	To   *int `json:"to,omitempty"`
	// Count is how many machines it is about, Machines those that exist already.
	Count    int       `json:"count,omitempty"`
	Machines []Subject `json:"machines,omitempty"`
	// Shared are the budgets that let the pods of all these machines go only in turn.
	Shared []Block `json:"shared,omitempty"`
	// Reason is the controller's own, for people.
	Reason string `json:"reason,omitempty"`
	// Open says that several machines come or go at once before this step: where they do it one after the other, the step comes in
	// several smaller ones, or in another place. What it comes to in the end is the same.
	Open bool `json:"open,omitempty"`
}

// Subject is a machine that something happens to.
type Subject struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
	// Reason is why this one, for people.
	Reason string `json:"reason,omitempty"`
	// Open says that another one may be taken: what decides between them may change until then.
	Open bool `json:"open,omitempty"`
	// Exit is what its deletion meets; nil where it is not deleted.
	Exit *Leave `json:"exit,omitempty"`
}

// Forecast is what will happen.
type Forecast struct {
	Steps []Step `json:"steps"`
	// Waits are what it waits for in the end; empty: it comes to its end by itself.
	Waits []string `json:"waits,omitempty"`
	// Cut says that it goes on after the last step that was looked at.
	Cut bool `json:"cut,omitempty"`
	// Beyond are machines that are created as those of the steps are, and were counted only.
	Beyond int `json:"beyond,omitempty"`
	// Created and Deleted count machines; Rest is how many there are in the end.
	Created int `json:"created"`
	Deleted int `json:"deleted"`
	Rest    int `json:"rest"`
	// Took is how long it takes.
	Took Estimate `json:"duration"`
}

// Nothing reports whether nothing happens.
func (f Forecast) Nothing() bool { return len(f.Steps) == 0 }

// Estimate is a length of time, and where it comes from.
type Estimate struct {
	// Length is the time; at least that where Known is false.
	Length time.Duration `json:"length"`
	Known  bool          `json:"known"`
	// Source says what it was taken from, or why it is not known.
	Source string `json:"source"`
}

// Durations are how long machines take.
type Durations struct {
	Create, Delete Estimate
	// AtOnce is how many machines were seen to come up at once at the most: more may take longer, as nobody has seen. Zero: not
	// known.
	AtOnce int
	// Undrained says that Delete begins when the drain is over, because nothing shows when deletions began.
	Undrained bool
}
