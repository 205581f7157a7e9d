// Package rollout decides how machines of the current template replace machines of older templates.
//
// [Decide] reads a MachineDeployment, its MachineSets, their machines and nodes, and returns a [Plan]: the
// wanted state of each set and each node, with the reason. A plan describes a state, not a change: once it is
// carried out, the next plan is empty. Differences between the API groups are fields of [Policy].
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

// Deployment has the facts of the API object, in the engine's types.
type Deployment struct {
	UID             types.UID
	Namespace, Name string
	// Replicas is the wanted number of machines; meaningless if invalid.
	Replicas int
	// Strategy is how old machines are replaced.
	Strategy Strategy
	// Surge and Unavailable are the declared bounds; nil is 0. Percentages are of Replicas: surge rounded up,
	// unavailable rounded down.
	Surge, Unavailable *intstr.IntOrString
	// ByHand says that a person chooses the machines to update in place.
	ByHand bool
	// HistoryLimit is how many empty old sets are kept; nil keeps all.
	HistoryLimit *int
	// Deadline is how long a rollout may make no progress before it is reported as stuck; zero: without a
	// limit.
	Deadline time.Duration
	// Paused stops the rollout of template changes.
	Paused bool
	// RollbackTo requests a rollback to a revision; 0 is the one before the current, nil requests none.
	RollbackTo *int64
	// Deleting says that the deployment is under deletion; Orphaning, that its sets survive it.
	Deleting, Orphaning bool
	// Faults are the errors in the object. While there are any, nothing is created, scaled or deleted.
	Faults []lifecycle.Fault
	// Frozen says why no set may grow; empty if they may.
	Frozen string
	// Revision is the recorded revision of the current template; 0 if none exists.
	Revision int64
	// Wishes are the machines that an autoscaler wants deleted.
	Wishes []Wish
	// Guard has the precautions that the user has set.
	Guard Guard
	// Connectivity is the connection to the clusters: deadlines count only watched time.
	Connectivity connectivity.State
	// Last is the last status.
	Last Last
}

// Strategy is how old machines are replaced.
type Strategy string

// The strategies.
const (
	// Rolling replaces machines step by step within bounds.
	Rolling Strategy = "Rolling"
	// Recreate deletes all old machines before it creates new ones.
	Recreate Strategy = "Recreate"
	// OnDelete replaces a machine after a user has deleted it.
	OnDelete Strategy = "OnDelete"
	// InPlace updates nodes step by step and hands their machines over to the
	// new set, without replacing instances.
	InPlace Strategy = "InPlace"
)

// Wish is one machine that an autoscaler wants deleted, as its annotation spells it.
type Wish struct {
	Machine string
	// At is when the autoscaler chose it; zero if the text is invalid.
	At time.Time
	// Undated says that the entry has no time (from an older autoscaler), so At is assumed and has to be
	// stored.
	Undated bool
}

// Guard has the precautions of a rollout. Each is off unless the user sets it (decision 9). The zero value
// has none.
type Guard struct {
	// Growth limits how many machines are added at once; nil if not set.
	Growth *limits.Growth
	// MaxFailures stops a rollout after so many new machines in a row did not become ready; 0 never stops it.
	MaxFailures int
	// ReadyWithin is how long a new machine may take before it counts as failed; zero: only the phase Failed
	// counts.
	ReadyWithin time.Duration
	// RollBack rolls back to the previous revision when the rollout is stopped.
	RollBack bool
	// Canary is how many machines are updated first, a number or a percentage of replicas rounded up; nil: no
	// canary.
	Canary *intstr.IntOrString
	// Soak is how long the canary must have been available before the rest follows; zero: until Approved.
	Soak time.Duration
	// Approved is the revision whose canary a user has approved.
	Approved int64
	// Estimate adds a line about the progress of the rollout and its remaining time.
	Estimate bool
}

// Last has the relevant fields of the deployment's last status.
type Last struct {
	// Updated, Old, Ready and Available are counters.
	Updated, Old, Ready, Available int
	// Progress is the condition with the progress of the rollout.
	Progress Progress
}

// Set is one set of the deployment.
type Set struct {
	UID     types.UID
	Name    string
	Created time.Time
	// Deleting says that the set is under deletion.
	Deleting bool
	// Current says that its template equals the deployment's, except for fields that can be changed in place.
	Current bool
	// Replicas is the wanted number of machines.
	Replicas int
	// Observed says that the set's own controller has seen its current spec.
	Observed bool
	// Revision is the recorded revision; 0 if none exists.
	Revision int64
	// Desired and Max are the deployment's replicas, without and with surge, when it last scaled the set; nil
	// if they were never recorded.
	Desired, Max *int
	// Avoided says that the record of the set says that new pods avoid its nodes.
	Avoided bool
	// NoGrowth says that the deployment keeps the set from growing.
	NoGrowth bool
	// Failure says why the set cannot create or delete machines.
	Failure *Failure
	// Notes are the records of earlier plans.
	Notes Notes
	// Alarm is the report of health checks about its template.
	Alarm Alarm
	// Machines are all machines of the set, including those under deletion.
	Machines []Machine
}

// Failure is a condition mirrored from a set. Withheld says that nothing has failed: the set deletes no
// machine before a user approves that many deletions.
type Failure struct {
	Reason, Message string
	Withheld        bool
}

// Notes are stored on a set between passes and across restarts.
type Notes struct {
	// Failed are the new machines that did not become ready, since the last one that did, in order of their
	// names. Each is a name and, except for updates in place, "~" and the creation time of the machine, in
	// RFC 3339. It has no comma.
	Failed []string
	// CanarySince is when the canary became available; zero before.
	CanarySince time.Time
}

// Machine is one machine of a set.
type Machine struct {
	// Member has the machine's facts for sets, which count it by the same rules.
	replicas.Member
	// Joined says that it has had a node.
	Joined bool
	// Moved says that it was handed over after an update in place and that its set has not made room for it
	// yet.
	Moved bool
	// Node is its node's name, empty if unknown; Seen says that the node exists, Marks are its marks.
	Node  string
	Seen  bool
	Marks Marks
	// Update has the facts of the node and the machine about an update in place.
	Update inplace.Update
}

// Alike reports whether m and o are equal in all fields that matter to a rollout. Fields that only sets use,
// for example for the order of deletion, may differ.
func (m Machine) Alike(o Machine) bool {
	return m.Update.Alike(o.Update) && m.decisive() == o.decisive()
}

// decisive returns m without its update and the fields that [Decide] does not read.
func (m Machine) decisive() Machine {
	kept := m.Kept()
	m.Update = inplace.Update{}
	m.Member = replicas.Member{
		UID: m.UID, Name: m.Name, Created: m.Created, Leaving: !m.Counts(), Failed: m.Failed, Asked: m.Asked, Marked: m.Marked,
		Ready: m.Ready, Usable: m.Usable, ReadySince: m.ReadySince,
	}
	if kept {
		m.Preservation.Until = time.Unix(1, 0) // only whether there is a time matters
	}
	return m
}

// Marks are the marks of a rollout on nodes.
type Marks struct {
	// Avoid: new pods prefer other nodes.
	Avoid bool
	// Stay: the autoscaler leaves the node alone because of Millwright; StayForeign: because another program
	// requested it.
	Stay, StayForeign bool
}

// Policy has the differences between API groups. Each field is named for the behaviour that it selects.
type Policy struct {
	// MinReady is how long a machine must have been ready to be available; zero if the API group has no such
	// time.
	MinReady time.Duration
	// LeavingTakesRoom counts machines under deletion against replicas and surge: a new machine has room only
	// when an old one is deleted.
	LeavingTakesRoom bool
	// StatusCountsLeaving counts them in the reported replicas.
	StatusCountsLeaving bool
	// Cascade deletes the sets of a deployment under deletion; otherwise the garbage collector does.
	Cascade bool
	// AvoidOld marks the nodes of old sets so that new pods prefer other nodes.
	AvoidOld bool
	// StayDuringRollout keeps the autoscaler from removing nodes during a rollout.
	StayDuringRollout bool
	// Nodeless says that machines join no cluster, so that no update in place
	// is possible.
	Nodeless bool
}
