package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// rescale follows a change of the wanted number of machines: the change is distributed over the sets in use
// before the rollout continues.
func (q *input) rescale() bool {
	if !q.resized() {
		return false
	}
	if !q.d.Paused && q.d.Strategy != Rolling {
		// These strategies use the wanted number anew in each pass and need no shares; only the records have
		// to be updated.
		for _, b := range q.active() {
			q.record(b)
		}
		return false
	}
	active := q.active()
	switch {
	case len(active) <= 1:
		q.alone(active)
	case q.saturated():
		for _, b := range q.old {
			q.scale(b, 0, "the new set is complete")
		}
	default:
		q.shareOut(active)
	}
	return false
}

// alone scales the one set in use: at once, except for room that machines of other sets still take, or may
// take unseen.
func (q *input) alone(active []*setState) {
	b := q.activeOrLatest(active)
	if b == nil || q.d.Strategy == Recreate && q.d.Replicas > b.want.Replicas && b == q.current && !q.cleared() {
		return // paused, and old machines still exist
	}
	n := min(q.d.Replicas, b.want.Replicas)
	if others := q.total() - b.maxMachines(q.p); q.heeded(q.except(b)) {
		n = min(q.d.Replicas, max(n, q.d.Replicas+q.surge-others))
	}
	if n > b.want.Replicas && q.stopped == "" {
		b.want.NoGrowth = false
	}
	q.scale(b, n, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
	q.record(b)
	if n < q.d.Replicas {
		b.want.Desired, b.want.Max = nil, nil // to be computed again
	}
}

// except returns all sets but b.
func (q *input) except(b *setState) []*setState {
	return slices.DeleteFunc(slices.Clone(q.all), func(o *setState) bool { return o == b })
}

// resized reports whether the wanted number has changed since the sets were scaled last. If no set has
// machines, the rollout creates them, unless it is paused.
func (q *input) resized() bool {
	active := q.active()
	switch {
	case q.current == nil && !q.d.Paused:
		return false
	case len(active) == 0:
		return q.d.Paused && q.d.Replicas > 0
	case len(active) == 1 && q.d.Paused && active[0].Desired == nil:
		return active[0].want.Replicas != q.d.Replicas
	}
	return slices.ContainsFunc(active, func(b *setState) bool { return b.Desired != nil && *b.Desired != q.d.Replicas })
}

// active returns the sets with wanted machines.
func (q *input) active() (out []*setState) {
	for _, b := range q.all {
		if b.want.Replicas > 0 {
			out = append(out, b)
		}
	}
	return out
}

// activeOrLatest returns the set that stands for the deployment when at most one is in use.
func (q *input) activeOrLatest(active []*setState) *setState {
	switch {
	case len(active) == 1:
		return active[0]
	case q.current != nil:
		return q.current
	case len(q.old) > 0:
		return q.old[len(q.old)-1]
	}
	return nil
}

// saturated reports whether the current set alone has all wanted machines, and none of them is about to be
// updated in place.
func (q *input) saturated() bool {
	n := q.current
	return n != nil && n.want.Replicas == q.d.Replicas && n.lasting == q.d.Replicas &&
		n.Desired != nil && *n.Desired == q.d.Replicas
}

// shareOut distributes the difference over several sets in use.
func (q *input) shareOut(active []*setState) {
	allowed := 0
	if q.d.Replicas > 0 {
		allowed = q.d.Replicas + q.surge
	}
	// A client that lowers the number may have marked machines. They are deleted even if room below the surge
	// would let all stay; otherwise others would be deleted for them. Sets that have already seen this number
	// deleted theirs then.
	fewer := q.fewer(active)
	unheard := slices.DeleteFunc(slices.Clone(active), func(b *setState) bool { return b.Desired != nil && *b.Desired == q.d.Replicas })
	named := fewer - q.giveUpAsked(unheard, fewer)
	switch delta := allowed - sum(active, wanted); {
	case delta > 0 && named == 0:
		q.shareMore(active, delta)
	case delta < 0:
		q.shareLess(active, delta)
	}
	for _, b := range active {
		q.record(b)
	}
}

// fewer returns by how much the wanted number fell since the sets were scaled last.
func (q *input) fewer(active []*setState) (n int) {
	for _, b := range active {
		if b.Desired != nil {
			n = max(n, *b.Desired-q.d.Replicas)
		}
	}
	return n
}

// shareMore gives all new machines to the current set. While that must not grow, as under Recreate beside old
// machines, the largest old set gets the rest up to the wanted number, so that capacity still follows.
func (q *input) shareMore(active []*setState, delta int) {
	note := fmt.Sprintf("%s wanted now", machines(q.d.Replicas))
	most := 0
	apart := q.d.Strategy == Recreate && q.rolling()
	if q.current != nil && q.stopped == "" && !apart {
		most = q.grown()
		if n := min(delta, q.d.Replicas+q.surge-q.total(), most-q.current.want.Replicas); n > 0 {
			q.grow(q.current, n, note)
			delta -= n
		}
	}
	if most == q.d.Replicas {
		return
	}
	old := slices.DeleteFunc(largestFirst(active), func(b *setState) bool { return b == q.current })
	if n := min(delta, q.d.Replicas+q.surge-q.total(), q.d.Replicas-sum(q.all, wanted)); n > 0 && len(old) > 0 {
		q.grow(old[0], n, note)
	}
}

// grow raises the size of a set by n, even if it was held before.
func (q *input) grow(b *setState, n int, note string) {
	b.want.NoGrowth = false
	q.scale(b, b.want.Replicas+n, note)
}

// shareLess first takes machines that old sets have yet to create, then those marked to be deleted first from
// the sets that have them, and the rest from all sets in proportion to their sizes. The rounding remainder
// comes from the largest. As long as too few would stay available, unavailable machines of any set are
// deleted instead.
func (q *input) shareLess(active []*setState, delta int) {
	note := fmt.Sprintf("%s wanted now", machines(q.d.Replicas))
	delta = -q.giveUpAsked(active, q.giveUpUnmade(active, -delta))
	sorted := largestFirst(active)
	sizes := make([]int, len(sorted))
	left := delta
	for i, b := range sorted {
		sizes[i] = b.want.Replicas
		if left < 0 {
			change := max(q.proportion(b), left)
			sizes[i] += change
			left -= change
		}
	}
	if len(sizes) > 0 {
		sizes[0] = max(0, sizes[0]+left)
	}
	q.spare(sorted, sizes)
	for i, b := range sorted {
		q.scale(b, sizes[i], note)
	}
}

// giveUpUnmade lowers the sizes of old sets that have yet to create machines, and returns the remaining
// number: those machines do not exist yet, and no machine of the current template is deleted instead of them.
// While the rollout is paused the current set is treated like the others.
func (q *input) giveUpUnmade(active []*setState, over int) int {
	for _, b := range active {
		if n := min(b.want.Replicas-b.living, over); n > 0 && (b != q.current || q.d.Paused) {
			over -= n
			q.scale(b, b.want.Replicas-n, fmt.Sprintf("%s wanted now", machines(q.d.Replicas)))
		}
	}
	return over
}

// spare corrects the sizes to which sets shrink. With 5 and 2 machines, the 2 not available yet, and the
// sizes 4 and 1 where 5 have to be available, the result is 5 and 0.
func (q *input) spare(sets []*setState, sizes []int) {
	spare, kept := max(0, sum(q.all, minAvailable)-q.floor()), 0
	for i, b := range sets {
		for sizes[i] < b.want.Replicas && b.price(sizes[i]) > spare {
			sizes[i]++
			kept++
		}
		spare -= b.price(sizes[i])
	}
	for i, b := range sets {
		for kept > 0 && sizes[i] > 0 && b.price(sizes[i]-1) == b.price(sizes[i]) {
			sizes[i]--
			kept--
		}
	}
}

// proportion returns by how much the set would have to change to keep its share, never more than 0: of 6 out
// of 13 that shrink to 8, 4 are left, so -2.
func (q *input) proportion(b *setState) int {
	before := q.d.Replicas
	switch {
	case b.Max != nil && *b.Max > 0:
		before = *b.Max
	case b.Desired != nil && *b.Desired > 0:
		before = *b.Desired
	}
	if q.d.Replicas == 0 || before == 0 {
		return -b.want.Replicas
	}
	share := float64(b.want.Replicas) * float64(q.d.Replicas+q.surge) / float64(before)
	return min(0, int(math.Round(share))-b.want.Replicas)
}

func largestFirst(sets []*setState) []*setState {
	out := slices.Clone(sets)
	slices.SortStableFunc(out, func(a, b *setState) int {
		return cmp.Or(cmp.Compare(b.want.Replicas, a.want.Replicas), oldestFirst(a, b))
	})
	return out
}
