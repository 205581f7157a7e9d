package replicas

import "errors"

// Runner calls do with every number from 0 to n-1 and returns when all calls have returned. The calls may run
// in parallel.
type Runner func(n int, do func(i int))

// Sequential is the runner that calls sequentially.
func Sequential(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// SlowStart calls do with the numbers from 0 to n-1 in batches of 1, 2, 4, 8 and so on, and stops after the
// first batch with a failure: an error that concerns all calls fails once, not n times. It returns how many
// calls were made, and their errors joined.
func SlowStart(n int, run Runner, do func(i int) error) (made int, err error) {
	for size := 1; made < n; size *= 2 {
		size = min(size, n-made)
		errs := make([]error, size)
		run(size, func(i int) { errs[i] = do(made + i) })
		made += size
		if err := errors.Join(errs...); err != nil {
			return made, err
		}
	}
	return made, nil
}
