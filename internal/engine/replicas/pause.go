package replicas

import "time"

// Counters are written after a pause since the last write. The pause depends on the number of machines: 400
// ms for up to 133, 3 s from 1000 on. Together with the time for which changes of machines are gathered it
// limits how late the final counters are. A thousand machines that take 30 s to come up cost 10 writes. A
// hundred sets of ten have the same pause while all of them change, because the number of recent writes
// counts then. The first change after a quiet time is written at once, and so is the observation of a new
// spec, because rollouts wait for it.
const (
	leastStatusPause  = 400 * time.Millisecond
	eachStatusPause   = 3 * time.Millisecond
	recentStatusPause = 60 * time.Millisecond
	// MostStatusPause is the longest pause, and the time in which writes are recent.
	MostStatusPause = 3 * time.Second
)

// StatusPause returns the minimum time between two writes of counters for so many machines, after so many
// recent writes of counters by sets, or deployments, within [MostStatusPause].
func StatusPause(machines, recent int) time.Duration {
	return min(MostStatusPause, max(leastStatusPause, time.Duration(machines)*eachStatusPause, time.Duration(recent)*recentStatusPause))
}

// A pass over the machines of a set reads all of them. That takes some 5 ms for a thousand, and as much for
// garbage collection, and each change of a machine requests a pass. Up to this many machines there is no
// rest; beyond, passes without changes take no more than a twentieth of a processor, for any size of the set.
// After a pass that created or deleted machines the next one, which continues that work, comes sooner.
const (
	restless = 200
	eachRest = 200 * time.Microsecond
	mostRest = 2 * time.Second
	// actedShare divides the rest after a pass that acted.
	actedShare = 4
)

// Rest returns the minimum time from one pass over so many machines to the next, which depends on whether the
// pass created or deleted any.
func Rest(machines int, acted bool) time.Duration {
	if machines <= restless {
		return 0
	}
	rest := min(mostRest, time.Duration(machines)*eachRest)
	if acted {
		return rest / actedShare
	}
	return rest
}

// Resting is the rest after the last pass over the machines of a set or a deployment. The zero value is no rest.
type Resting struct {
	until time.Time
	// generation is the spec's generation in the pass.
	generation int64
}

// After returns the rest after a pass that began now.
func After(now time.Time, generation int64, machines int, acted bool) Resting {
	return Resting{until: now.Add(Rest(machines, acted)), generation: generation}
}

// Left returns how long the next pass has to wait; 0 or less: not at all. A spec of another generation does not wait.
func (r Resting) Left(now time.Time, generation int64) time.Duration {
	if generation != r.generation {
		return 0
	}
	return r.until.Sub(now)
}
