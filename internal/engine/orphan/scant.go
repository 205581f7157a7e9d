package orphan

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// Scant says why a listing of a scope is not to be believed about what it does not
// show, given the provider IDs that others there have recorded; empty when it is.
// It takes two others: one may well have gone at the same time.
func Scant(ids []string, instances []provider.Instance) string {
	seen := shown(ids, instances)
	if len(ids) < 2 || !shrunk(seen, len(ids)) {
		return ""
	}
	return fmt.Sprintf("it shows %d of the %d instances that other machines have recorded", seen, len(ids))
}

// shown is how many of the instances with the provider IDs are listed, in whatever
// spelling.
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

// shrunk reports whether n is less than half of what there was.
func shrunk(n, before int) bool { return 2*n < before }
