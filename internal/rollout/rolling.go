package rollout

import "fmt"

// growCurrent makes machines of the present template as far as there is room
// below replicas and surge.
func (q *question) growCurrent() {
	n := q.current
	if n.want.Replicas > q.d.Replicas {
		q.scale(n, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
		return
	}
	missing := min(q.limit, q.d.Replicas) - n.want.Replicas
	if missing <= 0 || q.stopped != "" {
		return
	}
	most := q.d.Replicas + q.surge
	room := most - q.total()
	if grow := min(room, missing); grow > 0 {
		q.scale(n, n.want.Replicas+grow, fmt.Sprintf("room for %d below %d wanted and %d surge", grow, q.d.Replicas, q.surge))
		return
	}
	if leaving := q.leaving(); leaving > 0 && q.p.LeavingTakesRoom {
		q.waiting = fmt.Sprintf("waiting for %s to leave", machines(leaving))
	}
}

// shrinkOld gives up old machines as far as enough stay available: first those
// that do not work, then the oldest sets'.
func (q *question) shrinkOld() {
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
		idle := max(0, b.want.Replicas-b.surely())
		n := min(idle, budget)
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
func (q *question) recreate() {
	if q.stopped != "" {
		return
	}
	for _, b := range q.old {
		q.scale(b, 0, "all old machines go before new ones come")
	}
	n := q.current
	switch {
	case q.cleared():
		q.scale(n, q.d.Replicas, fmt.Sprintf("no old machine is left, %d wanted", q.d.Replicas))
	case n.want.Replicas > q.d.Replicas:
		q.scale(n, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
	default:
		left := sum(q.old, func(b *book) int { return b.living + b.leaving }) + sum(q.dying, func(b *book) int { return b.living + b.leaving })
		q.waiting = fmt.Sprintf("waiting for %s of old sets to go", machines(left))
	}
}

// onDelete lets old machines be until somebody deletes them, and makes good
// for those with new ones.
func (q *question) onDelete() {
	over := sum(q.old, func(b *book) int { return min(b.want.Replicas, b.living) }) - q.d.Replicas
	for _, b := range q.old {
		b.want.Held = true
		left := min(b.want.Replicas, b.living)
		note := "some of its machines were deleted and come back in the new set"
		if cut := min(max(0, over), left); cut > 0 {
			left, over = left-cut, over-cut
			note = fmt.Sprintf("%s wanted", machines(q.d.Replicas))
		}
		q.scale(b, left, note)
	}
	n := max(0, q.d.Replicas-sum(q.old, wanted))
	if q.stopped != "" {
		n = min(n, q.current.want.Replicas)
	}
	q.scale(q.current, n, fmt.Sprintf("%d wanted, %d left of old sets", q.d.Replicas, sum(q.old, wanted)))
	if old := sum(q.old, wanted); old > 0 {
		q.waiting = fmt.Sprintf("%s of an old template until somebody deletes them", machines(old))
	}
}
