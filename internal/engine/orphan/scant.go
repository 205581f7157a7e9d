package orphan

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// Scant returns why a listing of a scope is not trusted about missing instances, given the provider IDs that
// other machines there have recorded; empty if it is trusted. At least two of them must be missing: a single
// other instance may well have been terminated at the same time.
func Scant(ids []string, instances []provider.Instance) string {
	seen := shown(ids, instances)
	if len(ids) < 2 || !shrunk(seen, len(ids)) {
		return ""
	}
	return fmt.Sprintf("it shows %d of the %d instances that other machines have recorded", seen, len(ids))
}

// shown counts the listed instances that have one of the provider IDs, in any spelling.
func shown(ids []string, instances []provider.Instance) (n int) {
	listed := map[string]bool{}
	for _, i := range instances {
		for _, t := range tails(i) {
			listed[t] = true
		}
	}
	for _, id := range ids {
		if listed[provider.Tail(id)] {
			n++
		}
	}
	return n
}

// shrunk reports whether n is less than half of before.
func shrunk(n, before int) bool { return 2*n < before }
