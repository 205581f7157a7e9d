package lifecycle

import "time"

// RebootAgain and LookAgain return when the next decision is due for these reasons alone.
func RebootAgain(now time.Time, m Machine, w World, p Policy) time.Duration {
	return input{now: now, m: m, w: w, p: p}.rebootAgain()
}

func LookAgain(m Machine, w World, p Policy) time.Duration {
	return input{m: m, w: w, p: p}.lookAgain()
}
