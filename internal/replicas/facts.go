// Package replicas decides how many machines a set creates and which it
// deletes.
//
// It performs no I/O, reads no clock and imports no API group. [Decide] is the
// replica arithmetic, [Rank] the order in which members are given up, [Count]
// what the set's status says, [Claim] to whom a machine belongs. Questions on
// which API groups disagree are fields of [Policy].
package replicas

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Set is what the API object says, in the engine's words.
type Set struct {
	UID             types.UID
	Namespace, Name string
	// Replicas is the wanted number of members; meaningless with a fault on
	// that field.
	Replicas int
	// Deleting says that the set is on its way out; Orphaning, that its
	// members are to survive it.
	Deleting, Orphaning bool
	// NoGrowth says why no member may be created; empty when they may.
	NoGrowth string
	// Frozen says that somebody froze the set: as long as members are missing,
	// failed ones stay as well.
	Frozen bool
	// Scaled is when an autoscaler last changed the replicas; zero when it
	// never did. Members marked at or before it are given up.
	Scaled time.Time
	// AutoKeep is how many failed members may be kept for inspection without
	// having been asked for one by one.
	AutoKeep int
	// Guard bounds how many members go at once; nil when nobody asked for it.
	Guard *Guard
	// Paused says why the set is left alone; empty when it is not.
	Paused string
	// Faults are what is wrong with the object itself.
	Faults []Fault
}

// Fault is something wrong with an object that only its author can mend.
type Fault struct {
	// Field is the path of the offending field ("spec.selector").
	Field string
	// Message says what is wrong and what is expected.
	Message string
}

func (f Fault) String() string { return f.Field + ": " + f.Message }

// Phase orders members by how little is lost with them; lower goes first.
type Phase int

// The phases, from the least loss to the greatest.
const (
	PhaseUnknown  Phase = iota // nothing known, or on its way out
	PhaseFailed                // given up
	PhaseCrashing              // no instance; the last attempt failed
	PhaseLost                  // has a node that is missing or unhealthy
	PhasePending               // has an instance, awaits its node
	PhaseDetached              // has an instance, no node is expected
	PhaseRunning
)

// Member is one machine of a set.
type Member struct {
	UID     types.UID
	Name    string
	Created time.Time
	// Deleting says that the object carries a deletion timestamp, Leaving that
	// its own state says it is on its way out. Neither counts as a replica.
	Deleting, Leaving bool
	// Phase serves the ranking only.
	Phase Phase
	// Failed says that the machine was given up and will not recover.
	Failed bool
	// Linked says that a node was recorded for the machine.
	Linked bool
	// Asked says that somebody asked to give this member up first.
	Asked bool
	// Priority is the member's own; lower goes first.
	Priority int
	// Marked is when an autoscaler chose the member; zero when it did not.
	Marked time.Time
	// Doomed says that its deletion was asked for a moment ago and the answer was lost:
	// it may yet happen, so this member goes before any other that is of as much use.
	Doomed bool
	// Shielded members count as replicas but are not given up.
	Shielded bool
	// Keep is whether and for how long the member is kept for inspection.
	Keep Keep
	// FullyLabeled says that all labels of the template are there.
	FullyLabeled bool
	// Ready says that the machine's node is ready, since ReadySince (zero when
	// not known). Usable is what the API group calls available, before any
	// time of being ready is asked for.
	Ready, Usable bool
	ReadySince    time.Time
}

// Keep is a member's preservation.
type Keep struct {
	// Until is when it ends; zero when no end was set yet.
	Until time.Time
	// Wanted says that keeping is asked for, and would begin with a failure.
	Wanted bool
	// Auto says that it was asked for by the set, not by a person.
	Auto bool
	// Decided says that somebody chose, for or against.
	Decided bool
}

// Active reports whether m is kept at now.
func (k Keep) Active(now time.Time) bool { return now.Before(k.Until) }

// Counts reports whether m is a replica.
func (m Member) Counts() bool { return !m.Deleting && !m.Leaving }

// Policy answers the questions on which API groups disagree. Each field is
// named for the behaviour it selects.
type Policy struct {
	// Burst bounds the creations of one pass, and its deletions; it must be
	// positive.
	Burst int
	// Order is how members are given up.
	Order []Criterion
	// ReplaceFailed deletes failed members even when there is no surplus; the
	// next pass makes good for them.
	ReplaceFailed bool
	// HonourMarks deletes members that an autoscaler chose even when there is
	// no surplus left for them.
	HonourMarks bool
	// Cascade deletes the members of a set that is being deleted; else that is
	// the garbage collector's work.
	Cascade bool
	// MinReady is for how long a member must have been ready to be available;
	// zero when the API group does not ask for it.
	MinReady time.Duration
	// StatusCountsLeaving counts members that are on their way out in the
	// reported replicas. Never in the arithmetic.
	StatusCountsLeaving bool
}
