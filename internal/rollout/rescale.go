package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// rescale follows a change of the wanted number of machines: it is shared out
// among the sets that are in use before the rollout goes on.
func (q *question) rescale() bool {
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
		if b := q.activeOrLatest(active); b != nil {
			q.scale(b, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
			q.record(b)
		}
	case q.saturated():
		for _, b := range q.old {
			q.scale(b, 0, "the new set is complete")
		}
	default:
		q.shareOut(active)
	}
	return false
}

// resized reports whether the wanted number changed since the sets were scaled
// last. A deployment at rest looks at every pass: nothing else scales then.
func (q *question) resized() bool {
	if q.d.Paused {
		return true
	}
	if q.current == nil {
		return false
	}
	active := q.active()
	if len(active) == 0 {
		return q.d.Replicas > 0
	}
	return slices.ContainsFunc(active, func(b *book) bool { return b.Desired != nil && *b.Desired != q.d.Replicas })
}

// active are the sets that are to have machines.
func (q *question) active() (out []*book) {
	for _, b := range q.all {
		if b.want.Replicas > 0 {
			out = append(out, b)
		}
	}
	return out
}

// activeOrLatest is the set that stands for the deployment when at most one is
// in use.
func (q *question) activeOrLatest(active []*book) *book {
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

// saturated reports whether the current set alone has all that is wanted.
func (q *question) saturated() bool {
	n := q.current
	return n != nil && n.want.Replicas == q.d.Replicas && n.available == q.d.Replicas &&
		n.Desired != nil && *n.Desired == q.d.Replicas
}

// shareOut spreads the difference over several sets in use.
func (q *question) shareOut(active []*book) {
	allowed := 0
	if q.d.Replicas > 0 {
		allowed = q.d.Replicas + q.surge
	}
	switch delta := allowed - sum(active, wanted); {
	case delta > 0:
		q.shareMore(active, delta)
	case delta < 0:
		q.shareLess(active, delta)
	}
	for _, b := range active {
		q.record(b)
	}
}

// shareMore gives all that is new to the current set. While that must not
// grow, the largest old one gets it, so that capacity follows nevertheless.
func (q *question) shareMore(active []*book, delta int) {
	grower, most := q.current, min(q.limit, q.d.Replicas)
	if grower == nil || q.stopped != "" || grower.want.Replicas >= most {
		if q.stopped == "" && q.limit >= q.d.Replicas && q.current != nil {
			return // complete but for what is too many elsewhere
		}
		grower, most = largestFirst(active)[0], q.d.Replicas
		delta -= q.surge
	}
	delta = min(delta, q.d.Replicas+q.surge-q.total(), most-grower.want.Replicas)
	if delta > 0 {
		q.scale(grower, grower.want.Replicas+delta, fmt.Sprintf("%s wanted now", machines(q.d.Replicas)))
	}
}

// shareLess takes machines that somebody asked to give up from the sets that
// have them, and the rest from all in proportion to their sizes. What rounding
// leaves over comes from the largest.
func (q *question) shareLess(active []*book, delta int) {
	note := fmt.Sprintf("%s wanted now", machines(q.d.Replicas))
	for _, b := range active {
		n := min(b.askedLiving-max(0, b.living-b.want.Replicas), b.want.Replicas, -delta)
		if n > 0 {
			delta += n
			q.scale(b, b.want.Replicas-n, note)
		}
	}
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
	for i, b := range sorted {
		if i == 0 {
			sizes[i] = max(0, sizes[i]+left)
		}
		q.scale(b, sizes[i], note)
	}
}

// proportion is by how much the set would have to change to keep its share,
// never more than 0: of 6 out of 13 that come down to 8, 4 are left, -2.
func (q *question) proportion(b *book) int {
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

func largestFirst(sets []*book) []*book {
	out := slices.Clone(sets)
	slices.SortStableFunc(out, func(a, b *book) int {
		return cmp.Or(cmp.Compare(b.want.Replicas, a.want.Replicas), oldestFirst(a, b))
	})
	return out
}
