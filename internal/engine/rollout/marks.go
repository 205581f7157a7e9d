package rollout

import (
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// mark brings the nodes in step: those of old machines are avoided by new pods
// and left alone by the autoscaler as long as a rollout goes on, and nothing
// of that is left behind when it is done. It is decided for each node by what
// the node carries, so that one that joined late, or could not be written, is
// made good.
func (q *input) mark() bool {
	ongoing := q.rolling() && (q.current != nil || q.draft.create != nil)
	avoid := ongoing && q.p.AvoidOld && (q.d.Strategy == Rolling || q.d.Strategy == InPlace)
	stay := ongoing && q.p.StayDuringRollout && q.d.Strategy != OnDelete
	offer := inplace.WishNothing
	if ongoing && q.d.Strategy == InPlace && !q.p.Nodeless {
		offer = inplace.WishCandidate
	}
	for _, b := range q.old {
		for _, m := range b.Machines {
			w := NodeWant{Avoid: avoid, Stay: stay, Update: m.wish(offer)}
			if q.chosen[m.UID] {
				w.Update = m.wish(inplace.WishSelected)
			}
			q.markNode(m, w)
		}
		if avoid {
			b.want.Avoided = true
		}
	}
	if q.current == nil {
		return false
	}
	for _, m := range q.current.Machines {
		// A node that is still joining is written by many, and nobody takes it
		// away.
		q.markNode(m, NodeWant{Stay: stay && (m.Usable || m.Marks.Stay), Update: m.Update.Ended(m.Usable)})
	}
	if !slices.ContainsFunc(q.current.Machines, func(m Machine) bool { return m.Marks.Avoid }) {
		q.current.want.Avoided = false
	}
	return false
}

// wish is what is wanted of the update of m, which is an old machine to which that is offered.
func (m Machine) wish(offer inplace.Wish) inplace.Wish {
	if m.Moved && m.Update.Answer == inplace.AnswerDone {
		// The update before this rollout: its node was not given back yet.
		return inplace.WishRelease
	}
	return m.Update.Offered(offer, m.Usable)
}

// release gives back nodes whose update is done and whose machine was handed
// over, and changes nothing else about them.
func (q *input) release() {
	for _, b := range q.all {
		for _, m := range b.Machines {
			if m.Update.Answer == inplace.AnswerDone && (m.Moved || b == q.current) {
				q.markNode(m, NodeWant{Avoid: m.Marks.Avoid, Stay: m.Marks.Stay, Update: inplace.WishRelease})
			}
		}
	}
}

// markNode plans the node of m where it is not as wanted. Nodes of machines
// that leave, or that are about to change sets, are not touched.
func (q *input) markNode(m Machine, w NodeWant) {
	if !m.Counts() || !m.Seen || q.moving[m.UID] {
		return
	}
	same := w.Avoid == m.Marks.Avoid && (w.Stay == m.Marks.Stay || m.Marks.StayForeign) &&
		w.Update != inplace.WishRelease && w.Update.Request() == m.Update.Request
	if same {
		return
	}
	w.Node, w.Machine = m.Node, m.Name
	switch {
	case w.Update == inplace.WishRelease:
		w.Note = "its update is done, and it is given back"
	case w.Update == inplace.WishSelected && !m.Update.Request.Selected():
		w.Note = "chosen to be updated in place"
	}
	q.draft.nodes = append(q.draft.nodes, w)
}
