package replicas

import "time"

// Counters are written after a pause since the last time that follows the
// number of machines: 400 ms for up to 133, 3 s from 1000 on. With the time for
// which changes of machines are gathered it bounds how late the final counters are.
// A thousand machines that take 30 s to come up cost 10 writes. A hundred sets of ten have the same pause while all of them change: what
// counts then is how many counters were written lately. The first change after a quiet time is written at once, and that a new spec was
// seen, too, because rollouts wait for it.
const (
	leastStatusPause  = 400 * time.Millisecond
	eachStatusPause   = 3 * time.Millisecond
	recentStatusPause = 60 * time.Millisecond
	// MostStatusPause is the longest pause, and the time in which writes are recent.
	MostStatusPause = 3 * time.Second
)

// StatusPause is the least time between two writes of counters about so many
// machines, while the counters of sets, or deployments, were written so often within [MostStatusPause].
func StatusPause(machines, recent int) time.Duration {
	return min(MostStatusPause, max(leastStatusPause, time.Duration(machines)*eachStatusPause, time.Duration(recent)*recentStatusPause))
}

// A pass over the machines of a set looks at all of them, some 5 ms for a thousand and as much for the garbage that it leaves, and each of their
// changes asks for one. So many machines have no rest; beyond them passes that find nothing to do take no more than a twentieth of a processor,
// however large the set is. After a pass that created or deleted machines the next one, which goes on with that, comes sooner.
const (
	restless = 200
	eachRest = 200 * time.Microsecond
	mostRest = 2 * time.Second
	// actedShare is that of the rest after a pass that acted.
	actedShare = 4
)

// Rest is the least time from one pass over so many machines to the next, which depends on whether the pass created or deleted any.
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

// Resting is the rest after the last pass over the machines of a set or a deployment. The zero value is none.
type Resting struct {
	until time.Time
	// generation is that of the spec in the pass.
	generation int64
}

// After is the rest after a pass that began now.
func After(now time.Time, generation int64, machines int, acted bool) Resting {
	return Resting{until: now.Add(Rest(machines, acted)), generation: generation}
}

// Left is how long no other pass begins; 0 or less: one may. A spec of another generation does not wait.
func (r Resting) Left(now time.Time, generation int64) time.Duration {
	if generation != r.generation {
		return 0
	}
	return r.until.Sub(now)
}
