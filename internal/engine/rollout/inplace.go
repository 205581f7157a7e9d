package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// admit makes room in every set for machines that were handed over to it, and takes it from sets that were
// held for that. So it completes an interrupted pass, also if the template has changed meanwhile.
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

// takeFrom scales down sets that lack machines, and were kept from creating others, by n in all.
func (q *input) takeFrom(n int) {
	for _, b := range q.all {
		if cut := min(n, b.want.Replicas-b.living); cut > 0 && b.NoGrowth {
			n -= cut
			q.scale(b, b.want.Replicas-cut, fmt.Sprintf("%s handed over from it", machines(cut)))
		}
	}
}

// unshield ends the protection of handed-over machines after their set's own controller has seen its new size
// and their nodes are released: as long as a node says that its update is done, the protection shows that
// this was the last update, and not the next.
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

// inPlace hands over updated machines, corrects the sizes after any other change of machines, and selects the
// next nodes.
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

// handOver moves updated machines to the current set. Their old set must not create replacements, so it is
// held beforehand.
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
			// A set with more machines than wanted loses one of the surplus by this.
			if b.want.Replicas > b.living {
				q.scale(b, b.want.Replicas-1, "its updated machines were handed over to the new set")
			}
			q.receive(n, 1, "it receives updated machines")
		}
	}
}

// fill creates new machines for missing ones. With surge it creates more at the beginning, so that others can
// be updated; in the end the last old ones are deleted.
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

// trim deletes surplus old machines: those beyond replicas and surge at once, and all when the current set
// has the wanted number, as far as enough stay available.
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
		spare := max(0, sum(q.all, minAvailable)-q.floor())
		if cut := min(over, b.want.Replicas, b.idle()+spare); cut > 0 {
			over -= cut
			q.scale(b, b.want.Replicas-cut, fmt.Sprintf("%d too many for %d wanted", cut, q.d.Replicas))
		}
	}
}

// selectNext selects machines to update: as many as may be unavailable, those of the oldest set first.
func (q *input) selectNext() {
	if sum(q.old, wanted) == 0 {
		return
	}
	underway := q.underway()
	need := min(q.limit, q.d.Replicas) - q.current.want.Replicas - underway
	sure := sum(q.all, minAvailable)
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

// underway returns how many machines of old sets will move to the current one when their update is done.
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

// busy reports whether an update of m was requested and has not ended.
func (m Machine) busy() bool { return m.Counts() && m.Update.State().Underway() }

// pick selects n machines that can be updated. A machine that is marked to be deleted first is selected only
// if there is no other.
func (q *input) pick(n int) {
	for _, asked := range []bool{false, true} {
		for _, b := range q.old {
			n -= q.pickOf(b, asked, n)
		}
	}
}

// pickOf selects up to n machines of b that can be updated, and returns their number.
func (q *input) pickOf(b *setState, asked bool, n int) (picked int) {
	if !b.NoGrowth || asked && b.living > b.want.Replicas {
		return 0
	}
	// Machines that the set is about to delete are not updated first.
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

// byAge sorts the oldest machines first.
func byAge(all []Machine) []Machine {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b Machine) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return out
}
