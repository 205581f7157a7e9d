package rollout

import (
	"fmt"
	"slices"
)

// growCurrent creates machines of the current template as far as there is room below replicas and surge.
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
		return // its surplus has to be deleted first, or it would keep it
	}
	if grow := min(q.room(), missing); grow > 0 {
		q.scale(n, n.want.Replicas+grow, fmt.Sprintf("room for %d below %d wanted and %d surge", grow, q.d.Replicas, q.surge))
		return
	}
	if leaving := q.leaving(); leaving > 0 && q.p.LeavingTakesRoom && q.unseen == "" {
		q.waiting = fmt.Sprintf("waiting for %s to leave", machines(leaving))
	}
}

// shrinkOld deletes old machines as far as enough stay available: first those that do not work, then those of
// the oldest sets.
func (q *input) shrinkOld() {
	if q.stopped != "" {
		return
	}
	// A machine whose replacement was requested before counts as unavailable until its successor works: it
	// must not count twice.
	coming := max(0, q.current.want.Replicas-q.current.minAvailable())
	budget := sum(q.all, wanted) - q.floor() - coming
	// A canary leaves all other machines in place.
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
		spare := sum(q.all, minAvailable) - q.floor()
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

// recreate empties the old sets first. The current one gets its machines when no old machine is left.
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
		q.waiting = "no set may grow, so no old machine is deleted either: " + q.d.Frozen
	default:
		for _, b := range q.old {
			q.scale(b, 0, "all old machines are deleted before new ones are created")
		}
		if left := sum(q.old, going) + sum(q.dying, going); left > 0 {
			q.waiting = fmt.Sprintf("waiting for the deletion of %s of old sets", machines(left))
		}
	}
}

// onDelete keeps old machines until a user deletes them, and replaces deleted ones with new machines. If
// there are too many machines, old ones are deleted first: those that have yet to be created, then others as
// far as new working machines replace them.
func (q *input) onDelete() {
	for _, b := range q.old {
		q.follow(b)
	}
	over := q.giveUpAsked(q.all, sum(q.all, wanted)-q.d.Replicas)
	for _, b := range q.old {
		if cut := min(over, b.want.Replicas-b.living); cut > 0 {
			over -= cut
			q.scale(b, b.want.Replicas-cut, "others exist instead of those that it has yet to create")
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
		q.waiting = fmt.Sprintf("%s of an old template until a user deletes them", machines(old))
	}
}

// follow keeps an old set from creating machines, and lowers its size by the machines that it lost: the
// current set replaces them. This applies only to a set that was held before: a set that may create machines
// may have some that are not in the cache yet.
func (q *input) follow(b *setState) {
	b.want.NoGrowth = true
	if b.NoGrowth && b.living < b.want.Replicas {
		q.scale(b, b.living, "its lost machines are replaced in the new set")
	}
}

// giveUpAsked takes machines marked to be deleted first from the sets that have them, over at most. It
// returns how many remain to be taken.
func (q *input) giveUpAsked(sets []*setState, over int) int {
	q.marked = q.marked || over > 0
	for _, b := range sets {
		n := min(b.asked-max(0, b.living-b.want.Replicas), b.want.Replicas, over)
		if n > 0 {
			over -= n
			q.scale(b, b.want.Replicas-n, fmt.Sprintf("%s wanted, and one of its machines is marked to be deleted first", machines(q.d.Replicas)))
		}
	}
	return over
}

// relent lets old sets keep machines that they have yet to delete if too few others work without those marked
// to be deleted first: the sizes were computed with the marked machines. It comes too late for machines that
// a set deletes at this moment.
func (q *input) relent() bool {
	asked := func(b *setState) bool { return b.asked > 0 && b.living > b.want.Replicas }
	if q.d.Strategy != Rolling && q.d.Strategy != InPlace || q.d.Frozen != "" || !slices.ContainsFunc(q.all, asked) {
		return false
	}
	kept := sum(q.old, func(b *setState) int { return min(b.chosen(), max(0, b.want.Replicas-b.expected)) })
	missing := min(q.floor()-sum(q.all, minAvailable)-kept, q.d.Replicas+q.surge-sum(q.all, wanted))
	for _, b := range q.old {
		n := min(missing, b.living-b.want.Replicas, b.chosen(), b.lasting)
		if n > 0 && b.asked == 0 {
			missing -= n
			q.scale(b, b.want.Replicas+n, "it keeps working machines, because others are marked to be deleted first")
		}
	}
	return false
}
