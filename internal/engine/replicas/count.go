package replicas

import "time"

// Tally has the counters of a set's status.
type Tally struct {
	Replicas, FullyLabeled, Ready, Available int32
	// Kept counts failed members with an end of their preservation, AutoKept the members kept by the set's
	// own choice.
	Kept, AutoKept int32
	// Next is the time until Available grows without an event; zero if it does not.
	Next time.Duration
}

// Count tallies members at now.
func Count(now time.Time, members []Member, p Policy) Tally {
	var t Tally
	for _, m := range members {
		if m.Counts() || p.StatusCountsLeaving {
			t.add(now, m, p)
		}
	}
	return t
}

func (t *Tally) add(now time.Time, m Member, p Policy) {
	t.Replicas++
	t.FullyLabeled += one(m.FullyLabeled)
	t.Ready += one(m.Ready)
	t.Kept += one(m.Kept())
	t.AutoKept += one(m.Preservation.ByOwner())
	wait := m.availableIn(now, p.MinReady)
	t.Available += one(m.Usable && wait == 0)
	if m.Usable && wait > 0 && wait < never && (t.Next == 0 || wait < t.Next) {
		t.Next = wait
	}
}

func one(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
