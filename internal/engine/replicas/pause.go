package replicas

import "time"

// Counters are written after a pause since the last time that follows the
// number of machines: 400 ms for up to 133, 3 s from 1000 on. With the time for
// which changes of machines are gathered it bounds how late the final counters are.
// A thousand machines that take 30 s to come up cost 10 writes. That a new spec was
// seen is written at once, because rollouts wait for it.
const (
	leastStatusPause = 400 * time.Millisecond
	mostStatusPause  = 3 * time.Second
	eachStatusPause  = 3 * time.Millisecond
)

// StatusPause is the least time between two writes of counters about so many
// machines.
func StatusPause(machines int) time.Duration {
	return min(mostStatusPause, max(leastStatusPause, time.Duration(machines)*eachStatusPause))
}

// A pass over the machines of a set looks at all of them, some 2.5 ms for a thousand, and each of their changes asks for one. So many machines
// have no rest; beyond them it keeps passes to a twentieth of a processor, however large the set is.
const (
	restless = 200
	eachRest = 50 * time.Microsecond
	mostRest = time.Second
)

// Rest is the least time from one pass over so many machines to the next.
func Rest(machines int) time.Duration {
	if machines <= restless {
		return 0
	}
	return min(mostRest, time.Duration(machines)*eachRest)
}
