package rollout

import "slices"

// mark brings the nodes in step: those of old machines are avoided by new pods
// and left alone by the autoscaler as long as a rollout goes on, and nothing
// of that is left behind when it is done. It is decided for each node by what
// the node carries, so that one that joined late, or could not be written, is
// made good.
func (q *input) mark() bool {
	ongoing := q.rolling() && (q.current != nil || q.draft.create != nil)
	avoid := ongoing && q.p.AvoidOld && (q.d.Strategy == Rolling || q.d.Strategy == InPlace)
	stay := ongoing && q.p.StayDuringRollout && q.d.Strategy != OnDelete
	for _, b := range q.old {
		for _, m := range b.Machines {
			w := NodeWant{Avoid: avoid, Stay: stay, Candidate: q.d.Strategy == InPlace && ongoing && !q.p.Nodeless, Selected: m.Marks.Selected || q.chosen[m.UID]}
			if m.answeredUnasked() {
				// It is asked anew when that is gone, or it would pass for the answer.
				w.Candidate, w.Release = m.Marks.Candidate, m.Usable
			}
			if m.Moved && m.Marks.Updated {
				// The update before this rollout: its node was not given back yet.
				w = NodeWant{Avoid: avoid, Stay: stay, Release: true}
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
		w := NodeWant{Stay: stay && (m.Usable || m.Marks.Stay), Release: m.Marks.Updated || m.failedUnasked()}
		if m.busy() || m.Marks.UpdateFailed {
			// What was begun before its template became the present one again
			// has to end first.
			w.Candidate, w.Selected = m.Marks.Candidate, m.Marks.Selected
		}
		q.markNode(m, w)
	}
	if !slices.ContainsFunc(q.current.Machines, func(m Machine) bool { return m.Marks.Avoid }) {
		q.current.want.Avoided = false
	}
	return false
}

// answeredUnasked reports whether m's node has an answer to a request that is there
// no more: it came after the node was given back.
func (m Machine) answeredUnasked() bool {
	return m.Update == UpdateNone && (m.Marks.Updated || m.Marks.UpdateFailed)
}

// failedUnasked reports whether m's node says that an update failed which nobody
// asks for any more, and m works all the same. As long as it is asked for, the
// answer stays for people to see.
func (m Machine) failedUnasked() bool {
	return m.Marks.UpdateFailed && !m.Marks.Candidate && !m.Marks.Selected && m.Usable
}

// release gives back nodes whose update is done and whose machine was handed
// over, and changes nothing else about them.
func (q *input) release() {
	for _, b := range q.all {
		for _, m := range b.Machines {
			if m.Marks.Updated && (m.Moved || b == q.current) {
				q.markNode(m, NodeWant{Avoid: m.Marks.Avoid, Stay: m.Marks.Stay, Release: true})
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
	w.Candidate = w.Candidate || w.Selected
	same := w.Avoid == m.Marks.Avoid && w.Candidate == m.Marks.Candidate && w.Selected == m.Marks.Selected &&
		(w.Stay == m.Marks.Stay || m.Marks.StayForeign) && !w.Release
	if same {
		return
	}
	w.Node, w.Machine = m.Node, m.Name
	switch {
	case w.Release:
		w.Note = "its update is done, and it is given back"
	case w.Selected && !m.Marks.Selected:
		w.Note = "chosen to be updated in place"
	}
	q.draft.nodes = append(q.draft.nodes, w)
}
