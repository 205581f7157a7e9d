package replicas

import "time"

// Tally is what a set reports about its members.
type Tally struct {
	Replicas, FullyLabeled, Ready, Available int32
	// Kept are failed members with an end of their preservation set, AutoKept
	// the members kept by the set's own choice.
	Kept, AutoKept int32
	// Next is when Available grows by the passing of time alone; zero when it
	// does not.
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
	t.Kept += one(m.Failed && !m.Keep.Until.IsZero())
	t.AutoKept += one(m.Keep.Auto)
	wait := availableIn(now, m, p)
	t.Available += one(m.Usable && wait == 0)
	if m.Usable && wait > 0 && (t.Next == 0 || wait < t.Next) {
		t.Next = wait
	}
}

// availableIn returns how long m still has to be ready to be available. The
// time must have passed entirely: ready for exactly MinReady is one
// nanosecond short.
func availableIn(now time.Time, m Member, p Policy) time.Duration {
	if p.MinReady <= 0 {
		return 0
	}
	return max(0, m.ReadySince.Add(p.MinReady).Sub(now)+1)
}

func one(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
