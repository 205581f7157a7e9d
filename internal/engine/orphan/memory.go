package orphan

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Memory is what is remembered about a scope from one listing to the next. The
// zero Memory knows nothing. Losing it only delays: quarantines begin anew.
// Its methods leave the receiver as it is.
type Memory struct {
	// Looked is when a listing was last believed, Count how many instances it
	// had.
	Looked time.Time
	Count  int
	// Doubted says that the last listing had too few instances to be believed,
	// Rest how many.
	Doubted bool
	Rest    int
	// Suspects are those without a machine, by key.
	Suspects map[string]Suspect
	// Begun is when the removals of the last hour began.
	Begun []time.Time
}

// Suspect is an instance without a machine, or what is left of one.
type Suspect struct {
	Since time.Time
	// Seen is in how many listings in a row.
	Seen     int
	Fate     Fate
	Cause    Reason
	Reason   Reason
	Instance provider.Instance
	Left     []provider.Leftover
	Ref      provider.Ref
	// Removing says that its removal has begun. It goes on until it is done,
	// since what belongs to an instance may outlive it.
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

// Begin remembers that the removal of a suspect is asked for.
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

// Finish forgets a suspect of which nothing is left.
func (m Memory) Finish(key string) Memory {
	m = m.clone()
	delete(m.Suspects, key)
	return m
}

// Removing are the suspects whose removal has begun and is not done.
func (m Memory) Removing() (n int) {
	for _, s := range m.Suspects {
		if s.Removing {
			n++
		}
	}
	return n
}

// at is the memory with what is too old left out. After a gap in which no listing
// was believed quarantines begin anew: nobody knows what there was meanwhile.
// What is being removed is no longer in quarantine.
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

// longestGap is as long as one listing that is missing: two periods, each a tenth
// too long, and the time that listings take.
func longestGap(period time.Duration) time.Duration { return max(period*5/2, time.Minute) }
