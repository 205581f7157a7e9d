package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// rescale follows a change of the wanted number of machines: it is shared out
// among the sets that are in use before the rollout goes on.
func (q *input) rescale() bool {
	if !q.resized() {
		return false
	}
	if !q.d.Paused && q.d.Strategy != Rolling {
		// These strategies look at the wanted number anew in each pass and
		// need no shares; what was written down only has to be brought up.
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

// alone scales the one set that stands for the deployment: at once, but for
// room that machines of others still take, or may take unseen.
func (q *input) alone(active []*setState) {
	b := q.activeOrLatest(active)
	if b == nil || q.d.Strategy == Recreate && q.d.Replicas > b.want.Replicas && b == q.current && !q.cleared() {
		return // the latter: paused, and old machines are not gone yet
	}
	n := min(q.d.Replicas, b.want.Replicas)
	if others := q.total() - b.atMost(q.p); q.heeded(q.except(b)) {
		n = min(q.d.Replicas, max(n, q.d.Replicas+q.surge-others))
	}
	if n > b.want.Replicas && q.stopped == "" {
		b.want.NoGrowth = false
	}
	q.scale(b, n, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
	q.record(b)
	if n < q.d.Replicas {
		b.want.Desired, b.want.Max = nil, nil // to be looked at again
	}
}

// except is all sets without b.
func (q *input) except(b *setState) []*setState {
	return slices.DeleteFunc(slices.Clone(q.all), func(o *setState) bool { return o == b })
}

// resized reports whether the wanted number changed since the sets were scaled
// last. Where no set has machines it is for the rollout to make some, unless
// that is paused.
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

// active are the sets that are to have machines.
func (q *input) active() (out []*setState) {
	for _, b := range q.all {
		if b.want.Replicas > 0 {
			out = append(out, b)
		}
	}
	return out
}

// activeOrLatest is the set that stands for the deployment when at most one is
// in use.
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

// saturated reports whether the current set alone has all that is wanted, and none
// of it is about to be updated in place.
func (q *input) saturated() bool {
	n := q.current
	return n != nil && n.want.Replicas == q.d.Replicas && n.lasting == q.d.Replicas &&
		n.Desired != nil && *n.Desired == q.d.Replicas
}

// shareOut spreads the difference over several sets in use.
func (q *input) shareOut(active []*setState) {
	allowed := 0
	if q.d.Replicas > 0 {
		allowed = q.d.Replicas + q.surge
	}
	// Whoever lowers the number may have named machines. They go even where
	// room below the surge would let all stay, or others would go for them. Sets
	// that have heard of this number gave theirs up then.
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

// fewer is by how much the wanted number came down since the sets were scaled
// last.
func (q *input) fewer(active []*setState) (n int) {
	for _, b := range active {
		if b.Desired != nil {
			n = max(n, *b.Desired-q.d.Replicas)
		}
	}
	return n
}

// shareMore gives all that is new to the current set. While that must not
// grow, as under Recreate beside old machines, the largest old one gets the rest
// up to the wanted number, so that capacity follows nevertheless.
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

// grow lets a set have n more machines, even if it was held before.
func (q *input) grow(b *setState, n int, note string) {
	b.want.NoGrowth = false
	q.scale(b, b.want.Replicas+n, note)
}

// shareLess takes machines that old sets have yet to make, then those that somebody
// asked to give up from the sets that have them, and the rest from all in
// proportion to their sizes. What rounding leaves over comes from the largest. As
// long as too few would stay available, machines that are not go instead,
// whichever set they are of.
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

// giveUpUnmade lowers the sizes of old sets that have yet to make machines, and
// returns what is still to go: nobody misses those, and none of the present
// template goes for them. While the rollout is paused that one is like the others.
func (q *input) giveUpUnmade(active []*setState, over int) int {
	for _, b := range active {
		if n := min(b.want.Replicas-b.living, over); n > 0 && (b != q.current || q.d.Paused) {
			over -= n
			q.scale(b, b.want.Replicas-n, fmt.Sprintf("%s wanted now", machines(q.d.Replicas)))
		}
	}
	return over
}

// spare corrects the sizes that sets are to shrink to. Of 5 and 2 machines, the
// 2 not available yet, that come down to 4 and 1 where 5 have to be available,
// 5 and 0 are left.
func (q *input) spare(sets []*setState, sizes []int) {
	spare, kept := max(0, sum(q.all, surely)-q.floor()), 0
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

// proportion is by how much the set would have to change to keep its share,
// never more than 0: of 6 out of 13 that come down to 8, 4 are left, -2.
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
