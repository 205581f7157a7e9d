// Package replicas decides how many machines a MachineSet creates, and which machines it deletes.
//
// [Decide] is the arithmetic of replicas, [Rank] is the order in which a set deletes its machines, [Count]
// has the counters of the set's status, and [Claim] decides which set a machine belongs to. Differences
// between the API groups are fields of [Policy].
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

// Set has the facts of the API object, in the engine's types.
type Set struct {
	UID             types.UID
	Namespace, Name string
	// Replicas is the wanted number of members; meaningless if that field is invalid.
	Replicas int
	// Deleting says that the set is under deletion; Orphaning, that its members survive it.
	Deleting, Orphaning bool
	// NoGrowth says why no member may be created; empty if they may.
	NoGrowth string
	// Frozen says that the set is frozen: as long as members are missing, failed ones stay as well.
	Frozen bool
	// Scaled is when an autoscaler last changed the replicas; zero if it never did. Members marked at or
	// before it are deleted.
	Scaled time.Time
	// AutoKeep is how many failed members may be kept for inspection without a request for each.
	AutoKeep int
	// Guard limits how many members are deleted at once; nil if not set.
	Guard *Guard
	// Growth limits how many members are added at once; nil if not set.
	Growth *limits.Growth
	// Paused says why the set is left alone; empty if it is not.
	Paused string
	// Faults are the errors in the object.
	Faults []lifecycle.Fault
}

// Phase orders members by their value; the lower goes first.
type Phase int

// The phases, from the least value to the greatest.
const (
	PhaseUnknown  Phase = iota // unknown, or under deletion
	PhaseFailed                // has failed
	PhaseCrashing              // no instance; the last attempt failed
	PhaseLost                  // has a node that is missing or unhealthy
	PhasePending               // has an instance, waits for its node
	PhaseDetached              // has an instance, and is expected to have no node
	PhaseRunning
)

// Member is one machine of a set.
type Member struct {
	UID     types.UID
	Name    string
	Created time.Time
	// Deleting says that the object has a deletion timestamp, Leaving that its own state says it is being
	// deleted. Neither counts as a replica.
	Deleting, Leaving bool
	// Phase serves the ranking only.
	Phase Phase
	// Failed says that the machine has failed and will not recover.
	Failed bool
	// Linked says that a node was recorded for the machine.
	Linked bool
	// Asked says that a user marked this member to be deleted first.
	Asked bool
	// Priority is that of the member; the lower goes first.
	Priority int
	// Marked is when an autoscaler chose the member; zero if it did not.
	Marked time.Time
	// PendingDeletion says that its deletion was requested a moment ago and the answer was lost: it may still
	// happen, so this member goes before any other of the same value.
	PendingDeletion bool
	// Shielded members count as replicas but are not deleted.
	Shielded bool
	// Preservation says whether and how long the member is kept for inspection.
	Preservation lifecycle.Preservation
	// FullyLabeled says that it has all labels of the template.
	FullyLabeled bool
	// Ready says that the machine's node is ready, since ReadySince (zero if unknown). Usable is the API
	// group's notion of available, without the minimum time of being ready.
	Ready, Usable bool
	ReadySince    time.Time
}

// Counts reports whether m is a replica.
func (m Member) Counts() bool { return !m.Deleting && !m.Leaving }

// Kept reports whether m stays for inspection although it failed. It is true also when the time is over, as
// clients expect: then the member is deleted ([Decide]), not recovered.
func (m Member) Kept() bool { return m.Failed && m.Preservation.Started() }

// Available reports whether m can do its work: it is a replica, is usable, and has been ready for longer than
// minReady.
func (m Member) Available(now time.Time, minReady time.Duration) bool {
	return m.Counts() && m.Usable && m.availableIn(now, minReady) == 0
}

// never is the wait of a member whose ready time is unknown.
const never time.Duration = math.MaxInt64

// availableIn returns how long m, which is usable, still has to be ready to be available. The time must have
// passed entirely: ready for exactly minReady is one nanosecond short.
func (m Member) availableIn(now time.Time, minReady time.Duration) time.Duration {
	switch {
	case minReady <= 0:
		return 0
	case m.ReadySince.IsZero():
		return never
	}
	return max(0, m.ReadySince.Add(minReady).Sub(now)+1)
}

// Policy has the differences between API groups. Each field is named for the behaviour that it selects.
type Policy struct {
	// Burst limits the creations of one pass, and its deletions, of sets that are not large ([Policy.burst]);
	// it must be positive.
	Burst int
	// Order is the order in which members are deleted.
	Order []Criterion
	// ReplaceFailed deletes failed members even without a surplus; the next pass creates their replacements.
	ReplaceFailed bool
	// HonourMarks deletes members that an autoscaler chose even without a surplus.
	HonourMarks bool
	// Cascade deletes the members of a set under deletion; otherwise the garbage collector does.
	Cascade bool
	// MinReady is how long a member must have been ready to be available; zero if the API group has no such
	// time.
	MinReady time.Duration
	// StatusCountsLeaving counts members under deletion in the reported replicas, never in the arithmetic.
	StatusCountsLeaving bool
}
