package nodelink

import "time"

// sight is what a pass saw of a node that is a machine's.
type sight struct {
	ready bool
	// stamped is when the machine was stamped last.
	stamped time.Time
}

// unheard reports whether a machine is to be stamped because its node became ready, or ceased to
// be, at a time that the node says: controllers that count ready machines may watch nothing but
// machines. It is not where somebody else wrote into the machine since, which they saw.
//
// A pass that saw the node before, last, compares what was written since then as well, because
// the time is by the clock of the node. The first pass of a process, whose last is nil, has
// that time alone.
func unheard(last *sight, now sight, changed time.Time) bool {
	switch {
	case last == nil:
		return now.stamped.Before(changed.Truncate(time.Second))
	case last.ready == now.ready:
		return false
	}
	return now.stamped.Equal(last.stamped) || !now.stamped.After(changed)
}
