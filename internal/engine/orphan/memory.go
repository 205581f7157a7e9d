package orphan

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Memory is remembered for a scope from one listing to the next. The zero Memory is empty. Losing it only
// delays: quarantines begin again. Its methods do not change the receiver.
type Memory struct {
	// Looked is the time of the last trusted listing, Count is how many instances it had.
	Looked time.Time
	Count  int
	// Doubted says that the last listing had too few instances to be trusted, Rest how many.
	Doubted bool
	Rest    int
	// Suspects are the instances without a machine, by key.
	Suspects map[string]Suspect
	// Begun is when the removals of the last hour began.
	Begun []time.Time
}

// Suspect is an instance without a machine, or its leftovers.
type Suspect struct {
	Since time.Time
	// Seen is the number of listings in a row that had it.
	Seen     int
	Fate     Fate
	Cause    Reason
	Reason   Reason
	Instance provider.Instance
	Left     []provider.Leftover
	Ref      provider.Ref
	// Removing says that its removal has begun. It continues until it is done, because resources of an
	// instance may outlive it.
	Removing bool
}

func (m Memory) clone() Memory {
	m.Suspects = maps.Clone(m.Suspects)
	if m.Suspects == nil {
		m.Suspects = map[string]Suspect{}
	}
	m.Begun = slices.Clone(m.Begun)
	return m
}

// Begin remembers that the removal of a suspect was requested.
func (m Memory) Begin(v Verdict, now time.Time) Memory {
	m = m.clone()
	s := m.Suspects[v.Key]
	if !s.Removing {
		m.Begun = append(m.Begun, now)
	}
	s.Removing, s.Ref, s.Instance, s.Left = true, v.Ref, v.Instance, v.Left
	m.Suspects[v.Key] = s
	return m
}

// Finish forgets a suspect without any leftovers.
func (m Memory) Finish(key string) Memory {
	m = m.clone()
	delete(m.Suspects, key)
	return m
}

// Removing counts the suspects whose removal has begun and is not done.
func (m Memory) Removing() (n int) {
	for _, s := range m.Suspects {
		if s.Removing {
			n++
		}
	}
	return n
}

// at returns the memory without entries that are too old. After a gap without a trusted listing quarantines
// begin again, because nothing is known about the gap. A suspect under removal is no longer in quarantine.
func (m Memory) at(now time.Time, period time.Duration) Memory {
	m = m.clone()
	m.Begun = slices.DeleteFunc(m.Begun, func(t time.Time) bool { return now.Sub(t) >= time.Hour })
	if m.Looked.IsZero() || period <= 0 || now.Sub(m.Looked) <= longestGap(period) {
		return m
	}
	for k, s := range m.Suspects {
		s.Since, s.Seen = now, 0
		m.Suspects[k] = s
	}
	return m
}

// longestGap allows for one missing listing: two periods, each a tenth too long, and the time that listings
// take.
func longestGap(period time.Duration) time.Duration { return max(period*5/2, time.Minute) }
