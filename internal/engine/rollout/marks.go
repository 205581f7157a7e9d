package rollout

import (
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// mark plans the marks of nodes: during a rollout new pods avoid the nodes of old machines, and the
// autoscaler leaves them alone; after the rollout all marks are removed. Each node is compared with its
// wanted marks, so a node that joined late, or could not be written, is corrected in a later pass.
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
		// Many components write a joining node, and no autoscaler removes it.
		q.markNode(m, NodeWant{Stay: stay && (m.Usable || m.Marks.Stay), Update: m.Update.Ended(m.Usable)})
	}
	if !slices.ContainsFunc(q.current.Machines, func(m Machine) bool { return m.Marks.Avoid }) {
		q.current.want.Avoided = false
	}
	return false
}

// wish returns the wanted update of the old machine m, given the offer.
func (m Machine) wish(offer inplace.Wish) inplace.Wish {
	if m.Moved && m.Update.Answer == inplace.AnswerDone {
		// The update before this rollout: its node has not been released yet.
		return inplace.WishRelease
	}
	return m.Update.Offered(offer, m.Usable)
}

// release releases nodes whose update is done and whose machine was handed over, and changes nothing else
// about them.
func (q *input) release() {
	for _, b := range q.all {
		for _, m := range b.Machines {
			if m.Update.Answer == inplace.AnswerDone && (m.Moved || b == q.current) {
				q.markNode(m, NodeWant{Avoid: m.Marks.Avoid, Stay: m.Marks.Stay, Update: inplace.WishRelease})
			}
		}
	}
}

// markNode plans a change if the node of m differs from w. Nodes of machines that are under deletion, or
// about to change sets, are not touched.
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
		w.Note = "its update is done, and it is released"
	case w.Update == inplace.WishSelected && !m.Update.Request.Selected():
		w.Note = "chosen to be updated in place"
	}
	q.draft.nodes = append(q.draft.nodes, w)
}
