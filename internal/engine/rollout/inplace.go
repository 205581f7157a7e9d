package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// admit makes room in every set for machines that were handed over to it, and
// takes it from sets that were held for that, so that a pass cut short between
// the writes is made good, even if the template changed meanwhile.
func (q *input) admit() bool {
	for _, b := range q.all {
		moved := 0
		for _, m := range b.Machines {
			if m.Moved && m.Counts() {
				moved++
			}
		}
		if room := min(moved, b.living-b.want.Replicas); room > 0 {
			q.receive(b, room, fmt.Sprintf("%s handed over to it", machines(room)))
			q.takeFrom(room)
		}
	}
	return false
}

// takeFrom scales sets that lack machines, and were kept from making others,
// down by n in all.
func (q *input) takeFrom(n int) {
	for _, b := range q.all {
		if cut := min(n, b.want.Replicas-b.living); cut > 0 && b.NoGrowth {
			n -= cut
			q.scale(b, b.want.Replicas-cut, fmt.Sprintf("%s handed over from it", machines(cut)))
		}
	}
}

// unshield ends the protection of machines that were handed over, once their
// set's own controller has seen how many it is to have, and their nodes are
// given back: as long as a node says that its update is done, the shield tells
// that this was the last update, and not the next.
func (q *input) unshield() {
	for _, b := range q.all {
		if b.want.Scales() || !b.Observed {
			continue
		}
		for _, m := range b.Machines {
			if m.Moved && m.Counts() && m.Update.Answer != inplace.AnswerDone {
				q.draft.unprotect = append(q.draft.unprotect, MachineRef{UID: m.UID, Name: m.Name})
			}
		}
	}
}

// inPlace hands over what was updated, keeps the numbers right whatever
// happens to machines meanwhile, and selects who is next.
func (q *input) inPlace() {
	if q.p.Nodeless {
		q.fill()
		q.trim()
		if q.rolling() {
			q.waiting = "machines that join no cluster cannot be updated in place"
		}
		return
	}
	q.handOver()
	for _, b := range q.old {
		q.follow(b)
	}
	q.trim()
	q.fill()
	q.selectNext()
}

// handOver moves updated machines to the current set. The set that they leave
// must not make others for them, and is held for that beforehand.
func (q *input) handOver() {
	n := q.current
	for _, b := range q.old {
		if !b.NoGrowth {
			continue
		}
		for _, m := range byAge(b.Machines) {
			if !m.Counts() || m.Moved || m.Update.State() != inplace.Done {
				continue
			}
			q.draft.moves = append(q.draft.moves, Move{
				MachineRef: MachineRef{UID: m.UID, Name: m.Name}, From: b.UID, To: n.UID,
				Note: "its update in place is done",
			})
			q.moving[m.UID] = true
			b.count(q.now, m, q.p, -1)
			n.count(q.now, m, q.p, 1)
			// A set that is to have fewer than it has loses one of those by this.
			if b.want.Replicas > b.living {
				q.scale(b, b.want.Replicas-1, "its updated machines went to the new set")
			}
			q.receive(n, 1, "updated machines come to it")
		}
	}
}

// fill makes new machines for those that are missing. With surge there are more
// to begin with, so that others can be updated; the last old ones are given up
// in the end.
func (q *input) fill() {
	n, old := q.current, sum(q.old, wanted)
	if n.want.Replicas > q.d.Replicas {
		q.scale(n, q.d.Replicas, fmt.Sprintf("%s wanted", machines(q.d.Replicas)))
	}
	most := q.d.Replicas
	if old > 0 && !q.p.Nodeless {
		most += q.surge
	}
	missing := min(most-old, q.grown()) - n.want.Replicas
	if missing <= 0 || q.stopped != "" {
		return
	}
	if more := min(missing, q.room()); more > 0 {
		q.scale(n, n.want.Replicas+more, fmt.Sprintf("room for %d below %d wanted and %d surge", more, q.d.Replicas, q.surge))
	}
}

// trim gives up old machines that are too many: beyond replicas and surge at
// once, all of them when the current set has what is wanted, as far as enough
// stay available.
func (q *input) trim() {
	if q.stopped != "" {
		return
	}
	keep := q.d.Replicas + q.surge
	if q.current.want.Replicas >= q.d.Replicas {
		keep = q.d.Replicas
	}
	over := q.giveUpAsked(q.all, sum(q.all, wanted)-keep)
	q.relent()
	for _, b := range q.old {
		spare := max(0, sum(q.all, surely)-q.floor())
		if cut := min(over, b.want.Replicas, b.idle()+spare); cut > 0 {
			over -= cut
			q.scale(b, b.want.Replicas-cut, fmt.Sprintf("%d too many for %d wanted", cut, q.d.Replicas))
		}
	}
}

// selectNext chooses machines to update: as many as may be unavailable, those
// of the oldest set first.
func (q *input) selectNext() {
	if sum(q.old, wanted) == 0 {
		return
	}
	underway := q.underway()
	need := min(q.limit, q.d.Replicas) - q.current.want.Replicas - underway
	sure := sum(q.all, surely)
	budget := sure - q.floor()
	switch {
	case q.stopped != "" || need <= 0:
	case q.d.ByHand:
		q.patient = underway == 0
		q.waiting = fmt.Sprintf("waiting for a person to select %s to be updated", machines(need))
		return
	case budget > 0:
		q.pick(min(need, budget))
		return
	}
	if underway > 0 && q.waiting == "" {
		q.waiting = fmt.Sprintf("waiting for the update of %s in place", machines(underway))
	}
	if q.waiting == "" && need > 0 && q.stopped == "" {
		q.waiting = fmt.Sprintf("%d available, %d needed: no other machine can be updated now", sure, q.floor())
	}
}

// underway is how many machines of old sets will come to the current one when
// their update is done.
func (q *input) underway() (n int) {
	for _, b := range q.old {
		for _, m := range b.Machines {
			done := m.Update.State() == inplace.Done && !m.Moved && m.Counts() && !q.moving[m.UID]
			if m.busy() || done {
				n++
			}
		}
	}
	return n
}

// busy reports whether an update of m was asked for and has not ended.
func (m Machine) busy() bool { return m.Counts() && m.Update.State().Underway() }

// pick selects n machines that can be updated. One that somebody asked to give up is
// chosen where there is no other: it may be that nobody has to go.
func (q *input) pick(n int) {
	for _, asked := range []bool{false, true} {
		for _, b := range q.old {
			n -= q.pickOf(b, asked, n)
		}
	}
}

// pickOf selects up to n machines of b that can be updated, and says how many those are.
func (q *input) pickOf(b *setState, asked bool, n int) (picked int) {
	if !b.NoGrowth || asked && b.living > b.want.Replicas {
		return 0
	}
	// Those that the set is about to give up are not to be updated before.
	spare := b.want.Replicas
	for _, m := range b.Machines {
		if m.busy() || q.chosen[m.UID] {
			spare--
		}
	}
	for _, m := range byAge(b.Machines) {
		if picked >= min(n, spare) {
			break
		}
		if m.Update.State() == inplace.Candidate && m.Asked == asked && m.Seen && m.Available(q.now, q.p.MinReady) {
			q.chosen[m.UID] = true
			picked++
		}
	}
	return picked
}

// byAge puts the oldest machines first.
func byAge(all []Machine) []Machine {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b Machine) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return out
}
