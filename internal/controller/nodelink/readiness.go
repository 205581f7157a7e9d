package nodelink

import "time"

// sight is the state in which a pass saw a machine's node.
type sight struct {
	ready bool
	// stamped is when the machine was last stamped.
	stamped time.Time
}

// unheard reports whether to stamp a machine because its node became ready or not ready at a time that the
// node states: controllers that count ready machines may watch only machines. No stamp is needed if another
// client has written the machine since, because those controllers saw that write.
//
// A pass with an earlier sight of the node, last, also compares the writes since then, because the time is
// by the node's clock. The first pass of a process, whose last is nil, has only that time.
func unheard(last *sight, now sight, changed time.Time) bool {
	switch {
	case last == nil:
		return now.stamped.Before(changed.Truncate(time.Second))
	case last.ready == now.ready:
		return false
	}
	return now.stamped.Equal(last.stamped) || !now.stamped.After(changed)
}
