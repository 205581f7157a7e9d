package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// admit makes room in every set for machines that were handed over to it, so
// that a pass cut short between the two writes is made good. Once the set is
// seen to have the room, its machines need no shield any more.
func (q *question) admit() bool {
	for _, b := range q.all {
		moved := 0
		for _, m := range b.Machines {
			if m.Moved && !m.Leaving {
				moved++
			}
		}
		if room := min(moved, b.living-b.want.Replicas); room > 0 {
			q.scale(b, b.want.Replicas+room, fmt.Sprintf("%s handed over to it", machines(room)))
		}
		if moved == 0 || b.Replicas < b.living {
			continue
		}
		for _, m := range b.Machines {
			if m.Moved && !m.Leaving {
				q.plan.Unshield = append(q.plan.Unshield, MachineRef{UID: m.UID, Name: m.Name})
			}
		}
	}
	return false
}

// inPlace hands over what was updated, keeps the numbers right whatever
// happens to machines meanwhile, and selects who is next.
func (q *question) inPlace() {
	if q.p.Nodeless {
		q.waiting = "machines that join no cluster cannot be updated in place"
		return
	}
	q.handOver()
	q.followLosses()
	q.fill()
	q.trim()
	q.selectNext()
}

// handOver moves updated machines to the current set.
func (q *question) handOver() {
	n := q.current
	for _, b := range q.old {
		b.want.Held = true
		for _, m := range byAge(b.Machines) {
			if m.Leaving || m.Update != UpdateDone {
				continue
			}
			q.plan.Moves = append(q.plan.Moves, Move{
				MachineRef: MachineRef{UID: m.UID, Name: m.Name}, From: b.UID, To: n.UID,
				Note: "its update in place is done",
			})
			b.living--
			n.living++
			if b.want.Replicas > 0 {
				q.scale(b, b.want.Replicas-1, "its updated machines went to the new set")
			}
			q.scale(n, n.want.Replicas+1, "updated machines come to it")
		}
	}
}

// followLosses takes from old sets what they have lost: it comes back in the
// current set.
func (q *question) followLosses() {
	for _, b := range q.old {
		if b.living < b.want.Replicas {
			q.scale(b, b.living, "it makes no machines of the old template any more")
		}
	}
}

// fill makes new machines for those that are missing.
func (q *question) fill() {
	n, old := q.current, sum(q.old, wanted)
	if n.want.Replicas > q.d.Replicas {
		q.scale(n, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
	}
	missing := q.d.Replicas - n.want.Replicas - old
	if old > 0 {
		missing = min(missing, q.limit-n.want.Replicas)
	}
	if missing > 0 && q.stopped == "" {
		q.scale(n, n.want.Replicas+missing, fmt.Sprintf("%d of %d wanted are missing", missing, q.d.Replicas))
	}
}

// trim gives up old machines that are too many: beyond replicas and surge at
// once, all of them when the current set has what is wanted, as far as enough
// stay available.
func (q *question) trim() {
	if q.stopped != "" {
		return
	}
	keep := q.d.Replicas + q.surge
	if q.current.want.Replicas >= q.d.Replicas {
		keep = q.d.Replicas
	}
	over := sum(q.all, wanted) - keep
	for _, b := range q.old {
		idle := max(0, b.want.Replicas-b.surely())
		spare := max(0, sum(q.all, surely)-q.floor())
		if cut := min(over, b.want.Replicas, idle+spare); cut > 0 {
			over -= cut
			q.scale(b, b.want.Replicas-cut, fmt.Sprintf("%d too many for %d wanted", cut, q.d.Replicas))
		}
	}
}

// selectNext chooses machines to update: as many as may be unavailable, those
// of the oldest set first.
func (q *question) selectNext() {
	underway := 0
	for _, b := range q.old {
		for _, m := range b.Machines {
			if m.busy() {
				underway++
			}
		}
	}
	if sum(q.old, wanted) == 0 {
		return
	}
	need := min(q.limit, q.d.Replicas) - q.current.want.Replicas - underway
	budget := q.freely() - q.floor()
	switch {
	case q.stopped != "" || need <= 0:
	case q.d.ByHand:
		q.waiting = fmt.Sprintf("%s have yet to be selected by hand", machines(need))
		return
	case budget > 0:
		q.pick(min(need, budget))
		return
	}
	if underway > 0 && q.waiting == "" {
		q.waiting = fmt.Sprintf("waiting for the update of %s in place", machines(underway))
	}
	if q.waiting == "" && need > 0 && q.stopped == "" {
		q.waiting = fmt.Sprintf("%d machines are available and %d have to be: no other can be updated now", q.freely(), q.floor())
	}
}

// freely is how many machines will be available that no update has been asked
// for.
func (q *question) freely() int {
	n := sum(q.all, surely)
	for _, b := range q.old {
		for _, m := range b.Machines {
			if m.busy() && m.Available(q.now, q.p) {
				n--
			}
		}
	}
	return n
}

// busy reports whether an update of m was asked for and has not ended.
func (m Machine) busy() bool {
	if m.Leaving || m.Update == UpdateDone || m.Update == UpdateFailed {
		return false
	}
	return m.Update == UpdateUnderway || m.Marks.Selected
}

// pick selects n machines that can be updated.
func (q *question) pick(n int) {
	for _, b := range q.old {
		// Those that the set is about to give up are not to be updated before.
		spare := b.want.Replicas
		for _, m := range byAge(b.Machines) {
			if m.busy() {
				spare--
			}
		}
		for _, m := range byAge(b.Machines) {
			if n == 0 || spare <= 0 {
				break
			}
			if m.Update != UpdateCandidate || m.busy() || m.Asked || !m.Seen || !m.Available(q.now, q.p) {
				continue
			}
			q.selected(m.UID)
			n--
			spare--
		}
	}
}

func (q *question) selected(uid types.UID) {
	if q.chosen == nil {
		q.chosen = map[types.UID]bool{}
	}
	q.chosen[uid] = true
}

// byAge puts the oldest machines first.
func byAge(all []Machine) []Machine {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b Machine) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return out
}
