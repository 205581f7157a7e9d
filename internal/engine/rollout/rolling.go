package rollout

import (
	"fmt"
	"slices"
)

// growCurrent makes machines of the present template as far as there is room
// below replicas and surge.
func (q *input) growCurrent() {
	n := q.current
	if n.want.Replicas > q.d.Replicas {
		q.scale(n, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
		return
	}
	missing := min(q.limit, q.d.Replicas) - n.want.Replicas
	if missing <= 0 || q.stopped != "" {
		return
	}
	if n.living > n.want.Replicas {
		return // what it is to give up goes first, or it would keep it
	}
	if grow := min(q.room(), missing); grow > 0 {
		q.scale(n, n.want.Replicas+grow, fmt.Sprintf("room for %d below %d wanted and %d surge", grow, q.d.Replicas, q.surge))
		return
	}
	if leaving := q.leaving(); leaving > 0 && q.p.LeavingTakesRoom && q.unseen == "" {
		q.waiting = fmt.Sprintf("waiting for %s to leave", machines(leaving))
	}
}

// shrinkOld gives up old machines as far as enough stay available: first those
// that do not work, then the oldest sets'.
func (q *input) shrinkOld() {
	if q.stopped != "" {
		return
	}
	// What was asked to be replaced before counts as unavailable until it
	// works: it must not be counted on twice.
	coming := max(0, q.current.want.Replicas-q.current.surely())
	budget := sum(q.all, wanted) - q.floor() - coming
	// A canary leaves all the others in place.
	budget = min(budget, sum(q.old, wanted)-(q.d.Replicas-min(q.limit, q.d.Replicas)))
	for _, b := range q.old {
		n := min(b.idle(), budget)
		if n <= 0 {
			continue
		}
		budget -= n
		q.scale(b, b.want.Replicas-n, fmt.Sprintf("%d of its machines not available", n))
	}
	for _, b := range q.old {
		spare := sum(q.all, surely) - q.floor()
		n := min(b.want.Replicas, budget, spare)
		if n <= 0 {
			continue
		}
		budget -= n
		q.scale(b, b.want.Replicas-n, fmt.Sprintf("%d available, %d needed", spare+q.floor(), q.floor()))
	}
	if q.waiting == "" && q.current.available < q.current.want.Replicas {
		q.waiting = fmt.Sprintf("waiting for %d of %d new machines to become available", q.current.want.Replicas-q.current.available, q.current.want.Replicas)
	}
}

// recreate empties the old sets first. The current one gets its machines when
// nothing is left of them.
func (q *input) recreate() {
	n := q.current
	switch {
	case q.cleared():
		if q.stopped == "" || n.want.Replicas > q.d.Replicas {
			q.scale(n, q.d.Replicas, fmt.Sprintf("no old machine is left, %d wanted", q.d.Replicas))
		}
		return
	case n.want.Replicas > q.d.Replicas:
		q.scale(n, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
	}
	switch {
	case q.stopped != "":
	case q.d.Frozen != "":
		q.waiting = "no set may grow, so that nothing is given up either: " + q.d.Frozen
	default:
		for _, b := range q.old {
			q.scale(b, 0, "all old machines go before new ones come")
		}
		if left := sum(q.old, going) + sum(q.dying, going); left > 0 {
			q.waiting = fmt.Sprintf("waiting for %s of old sets to go", machines(left))
		}
	}
}

// onDelete lets old machines be until somebody deletes them, and makes good
// for those with new ones. Where there are too many, old ones go first: those
// that are yet to be made, then others as far as new ones that work are there for
// them.
func (q *input) onDelete() {
	for _, b := range q.old {
		q.follow(b)
	}
	over := q.giveUpAsked(q.all, sum(q.all, wanted)-q.d.Replicas)
	for _, b := range q.old {
		if cut := min(over, b.want.Replicas-b.living); cut > 0 {
			over -= cut
			q.scale(b, b.want.Replicas-cut, "others are there instead of those it has yet to make")
		}
	}
	working := min(q.current.want.Replicas, q.current.available)
	over = min(over, sum(q.old, wanted)+working-q.d.Replicas)
	for _, b := range q.old {
		if cut := min(over, b.want.Replicas); cut > 0 {
			over -= cut
			q.scale(b, b.want.Replicas-cut, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
		}
	}
	n, old := q.current, sum(q.old, outdated)
	if left := max(0, q.d.Replicas-old); left < n.want.Replicas || q.stopped == "" {
		q.scale(n, left, fmt.Sprintf("%d wanted, %d left of old sets", q.d.Replicas, old))
	}
	if old > 0 {
		q.patient = n.available >= n.want.Replicas
		q.waiting = fmt.Sprintf("%s of an old template until somebody deletes them", machines(old))
	}
}

// follow keeps an old set from making machines, and takes from it what it has
// lost: that comes back in the current set. Only a set that was held before is
// believed: one that makes machines may have some that are not seen yet.
func (q *input) follow(b *setState) {
	b.want.NoGrowth = true
	if b.NoGrowth && b.living < b.want.Replicas {
		q.scale(b, b.living, "what it lost comes back in the new set")
	}
}

// giveUpAsked takes machines that somebody asked to give up from the sets that
// have them, over at most. It returns how many remain to be taken.
func (q *input) giveUpAsked(sets []*setState, over int) int {
	q.marked = q.marked || over > 0
	for _, b := range sets {
		n := min(b.asked-max(0, b.living-b.want.Replicas), b.want.Replicas, over)
		if n > 0 {
			over -= n
			q.scale(b, b.want.Replicas-n, fmt.Sprintf("%s wanted, and it has one that is asked to go", machines(q.d.Replicas)))
		}
	}
	return over
}

// relent lets old sets keep machines that they have yet to give up, where too few
// others work without those that go because somebody asked: they were counted on when
// the sets were told. It comes too late for what a set gives up at this moment.
func (q *input) relent() bool {
	asked := func(b *setState) bool { return b.asked > 0 && b.living > b.want.Replicas }
	if q.d.Strategy != Rolling && q.d.Strategy != InPlace || q.d.Frozen != "" || !slices.ContainsFunc(q.all, asked) {
		return false
	}
	kept := sum(q.old, func(b *setState) int { return min(b.chosen(), max(0, b.want.Replicas-b.expected)) })
	missing := min(q.floor()-sum(q.all, surely)-kept, q.d.Replicas+q.surge-sum(q.all, wanted))
	for _, b := range q.old {
		n := min(missing, b.living-b.want.Replicas, b.chosen(), b.lasting)
		if n > 0 && b.asked == 0 {
			missing -= n
			q.scale(b, b.want.Replicas+n, "it keeps what works, since others were asked to go")
		}
	}
	return false
}
