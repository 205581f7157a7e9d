// Package rollout decides how machines of the present template replace machines of older templates.
//
// [Decide] looks at a MachineDeployment, its MachineSets, their machines and nodes, and returns a [Plan]: what each set and each node
// is to look like now, with the reason. A plan describes a state, not a change: once it is carried out, the next plan is empty.
// Questions on which the API groups disagree are fields of [Policy].
//
// The package performs no I/O, reads no clock and imports no API group.
package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Deployment is what the API object says, in the engine's words.
type Deployment struct {
	UID             types.UID
	Namespace, Name string
	// Replicas is the wanted number of machines; meaningless with a fault.
	Replicas int
	// Strategy is how old machines give way.
	Strategy Strategy
	// Surge and Unavailable are the bounds as declared; nil is 0. Percentages
	// are of Replicas: surge rounded up, unavailable rounded down.
	Surge, Unavailable *intstr.IntOrString
	// ByHand says that a person chooses the machines to update in place.
	ByHand bool
	// HistoryLimit is how many emptied old sets are kept; nil keeps all.
	HistoryLimit *int
	// Deadline is how long a rollout may stand still before it is reported as
	// stuck; zero is for ever.
	Deadline time.Duration
	// Paused keeps a change of the template from being rolled out.
	Paused bool
	// RollbackTo asks to go back to a revision; 0 is the one before the
	// present, nil asks for nothing.
	RollbackTo *int64
	// Deleting says that the deployment is on its way out; Orphaning, that its
	// sets are to survive it.
	Deleting, Orphaning bool
	// Faults are what is wrong with the object itself. Nothing is created,
	// scaled or deleted while there are any.
	Faults []lifecycle.Fault
	// Frozen says why no set may grow; empty when they may.
	Frozen string
	// Revision is the one recorded for the present template; 0 when none is.
	Revision int64
	// Wishes are the machines that an autoscaler wants gone.
	Wishes []Wish
	// Guard are the precautions asked for.
	Guard Guard
	// Connectivity is how well the clusters are seen: nobody is late by time in which
	// nobody looked.
	Connectivity connectivity.State
	// Last is what the status said last.
	Last Last
}

// Strategy is how old machines give way.
type Strategy string

// The strategies.
const (
	// Rolling replaces machines step by step within bounds.
	Rolling Strategy = "Rolling"
	// Recreate removes all old machines before it makes new ones.
	Recreate Strategy = "Recreate"
	// OnDelete replaces a machine when somebody deletes it.
	OnDelete Strategy = "OnDelete"
	// InPlace updates nodes step by step and hands their machines over to the
	// new set, without replacing instances.
	InPlace Strategy = "InPlace"
)

// Wish is one machine that an autoscaler wants gone, as its annotation spells
// it.
type Wish struct {
	Machine string
	// At is when it was wished for; zero where the text is not understood.
	At time.Time
	// Undated says that the entry carries no time (an older autoscaler), so
	// that At was made up and has to be written down.
	Undated bool
}

// Guard are the precautions of a rollout that its owner asks for (decision 9: none is
// taken by itself). The zero value takes none.
type Guard struct {
	// Growth bounds how many machines are added at once; nil when nobody asked for it.
	Growth *limits.Growth
	// MaxFailures stops a rollout after so many new machines in a row did not
	// become ready; 0 never stops it.
	MaxFailures int
	// ReadyWithin is how long a new machine may take before it counts as
	// failed; zero: only a machine that was given up counts.
	ReadyWithin time.Duration
	// RollBack goes back to the revision before when the rollout is stopped.
	RollBack bool
	// Canary is how many machines are updated first, a number or a percentage
	// of replicas rounded up; nil: no such step.
	Canary *intstr.IntOrString
	// Soak is for how long the canary must have been available before the rest
	// follows; zero: until Approved.
	Soak time.Duration
	// Approved is the revision whose canary a person found good.
	Approved int64
	// Estimate asks for a line about how far the rollout is and how long it
	// may take.
	Estimate bool
}

// Last is what the deployment's status said last.
type Last struct {
	// Updated, Old, Ready and Available are counters.
	Updated, Old, Ready, Available int
	// Progress is the condition that tells how the rollout goes.
	Progress Progress
}

// Set is one set of the deployment.
type Set struct {
	UID     types.UID
	Name    string
	Created time.Time
	// Deleting says that the set is on its way out.
	Deleting bool
	// Current says that its template is the deployment's, but for what can be
	// changed on living machines.
	Current bool
	// Replicas is the wanted number of machines.
	Replicas int
	// Observed says that the set's own controller has seen its present spec.
	Observed bool
	// Revision is the recorded one; 0 when none is.
	Revision int64
	// Desired and Max are the deployment's replicas, and those with surge,
	// when it last scaled the set; nil when that was never recorded.
	Desired, Max *int
	// Avoided says that the set is recorded as one whose nodes are avoided by
	// new pods.
	Avoided bool
	// NoGrowth says that the set is kept from growing by the deployment.
	NoGrowth bool
	// Failure is what keeps the set from creating or deleting machines.
	Failure *Failure
	// Notes are what earlier plans asked to be remembered.
	Notes Notes
	// Alarm is what health checks say about what its machines are made from.
	Alarm Alarm
	// Machines are all that the set controls, those on their way out included.
	Machines []Machine
}

// Failure is a condition mirrored from a set. Withheld says that nothing has failed:
// the set gives up no machine before a person allows that so many go at once.
type Failure struct {
	Reason, Message string
	Withheld        bool
}

// Notes are remembered with a set between passes and across restarts.
type Notes struct {
	// Failed are the new machines that did not become ready, since the last
	// that did; in order of their names. Each is a name and, but for updates in
	// place, "~" and when the machine was made, in RFC 3339. It has no comma.
	Failed []string
	// CanarySince is since when the canary has been available; zero before.
	CanarySince time.Time
}

// Machine is one machine of a set.
type Machine struct {
	// Member is the machine as sets see it, who count it by the same rules.
	replicas.Member
	// Joined says that a node was seen for it at least once.
	Joined bool
	// Moved says that it was handed over after an update in place and that its
	// set was not yet seen to make room for it.
	Moved bool
	// Node is its node's name, empty when it has none that is known; Seen says
	// that the node exists, Marks what it carries.
	Node  string
	Seen  bool
	Marks Marks
	// Update is what the node and the machine say about an update in place.
	Update inplace.Update
}

// Alike reports whether m and o differ in nothing that a rollout is decided from. What
// sets alone go by, their order of giving up above all, may differ.
func (m Machine) Alike(o Machine) bool {
	return m.Update.Alike(o.Update) && m.decisive() == o.decisive()
}

// decisive is m without its update and what [Decide] does not read.
func (m Machine) decisive() Machine {
	kept := m.Kept()
	m.Update = inplace.Update{}
	m.Member = replicas.Member{
		UID: m.UID, Name: m.Name, Created: m.Created, Leaving: !m.Counts(), Failed: m.Failed, Asked: m.Asked, Marked: m.Marked,
		Ready: m.Ready, Usable: m.Usable, ReadySince: m.ReadySince,
	}
	if kept {
		m.Preservation.Until = time.Unix(1, 0) // that there is one is all that is read
	}
	return m
}

// Marks are what a rollout puts on nodes.
type Marks struct {
	// Avoid: new pods prefer other nodes.
	Avoid bool
	// Stay: the autoscaler leaves the node alone because of us; StayForeign:
	// because somebody else asked for it.
	Stay, StayForeign bool
}

// Policy answers the questions on which API groups disagree. Each field is
// named for the behaviour it selects.
type Policy struct {
	// MinReady is for how long a machine must have been ready to be available;
	// zero when the API group does not ask for it.
	MinReady time.Duration
	// LeavingTakesRoom counts machines on their way out against replicas and
	// surge: there is room for a new machine only when an old one is gone.
	LeavingTakesRoom bool
	// StatusCountsLeaving counts them in the reported replicas.
	StatusCountsLeaving bool
	// Cascade deletes the sets of a deployment that is being deleted; else
	// that is the garbage collector's work.
	Cascade bool
	// AvoidOld marks the nodes of old sets for new pods to prefer others.
	AvoidOld bool
	// StayDuringRollout keeps the autoscaler from removing nodes meanwhile.
	StayDuringRollout bool
	// Nodeless says that machines join no cluster, so that no update in place
	// is possible.
	Nodeless bool
}
