// Package replicas decides how many machines a MachineSet creates, and which machines it deletes.
//
// [Decide] is the arithmetic of replicas, [Rank] the order in which a set deletes its machines, [Count] the numbers in the set's
// status, and [Claim] which set a machine belongs to. Questions on which the API groups disagree are fields of [Policy].
//
// The package performs no I/O, reads no clock and imports no API group.
package replicas

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/limits"
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
	// Growth bounds how many members are added at once; nil when nobody asked for it.
	Growth *limits.Growth
	// Paused says why the set is left alone; empty when it is not.
	Paused string
	// Faults are what is wrong with the object itself.
	Faults []lifecycle.Fault
}

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
	// PendingDeletion says that its deletion was asked for a moment ago and the answer was lost:
	// it may yet happen, so this member goes before any other that is of as much use.
	PendingDeletion bool
	// Shielded members count as replicas but are not given up.
	Shielded bool
	// Preservation is whether and for how long the member is kept for inspection.
	Preservation lifecycle.Preservation
	// FullyLabeled says that all labels of the template are there.
	FullyLabeled bool
	// Ready says that the machine's node is ready, since ReadySince (zero when
	// not known). Usable is what the API group calls available, before any
	// time of being ready is asked for.
	Ready, Usable bool
	ReadySince    time.Time
}

// Counts reports whether m is a replica.
func (m Member) Counts() bool { return !m.Deleting && !m.Leaving }

// Kept reports whether m stays for inspection although it failed. Of one whose time is
// over that is still said, as clients expect: it is deleted ([Decide]), not recovered.
func (m Member) Kept() bool { return m.Failed && m.Preservation.Begun() }

// Available reports whether m can do its work: it is a replica, is usable, and has been
// ready for longer than minReady; at the very moment it is not yet.
func (m Member) Available(now time.Time, minReady time.Duration) bool {
	return m.Counts() && m.Usable && m.availableIn(now, minReady) == 0
}

// never is how long a member has to wait of which nobody knows since when it is ready.
const never time.Duration = math.MaxInt64

// availableIn is how long m, which is usable, still has to be ready to be available. The
// time must have passed entirely: ready for exactly minReady is one nanosecond short.
func (m Member) availableIn(now time.Time, minReady time.Duration) time.Duration {
	switch {
	case minReady <= 0:
		return 0
	case m.ReadySince.IsZero():
		return never
	}
	return max(0, m.ReadySince.Add(minReady).Sub(now)+1)
}

// Policy answers the questions on which API groups disagree. Each field is
// named for the behaviour it selects.
type Policy struct {
	// Burst bounds the creations of one pass, and its deletions, of sets that
	// are not large ([Policy.burst]); it must be positive.
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
