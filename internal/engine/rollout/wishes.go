package rollout

import (
	"cmp"
	"slices"
)

// grantWishes marks the machines that an autoscaler wants deleted, and drops wishes that are fulfilled or
// cannot be: the machine does not exist, is under deletion, or has failed, which is a reason of its own for
// its deletion.
func (q *input) grantWishes() bool {
	if len(q.d.Wishes) == 0 {
		return false
	}
	type place struct {
		b *setState
		m Machine
	}
	byName := map[string]place{}
	for _, b := range q.all {
		for _, m := range b.Machines {
			byName[m.Name] = place{b, m}
		}
	}
	for _, w := range q.d.Wishes {
		at, ok := byName[w.Machine]
		m := at.m
		if !ok || w.At.IsZero() || !m.Counts() || m.Failed {
			q.draft.Rewish = true
			continue
		}
		q.draft.Rewish = q.draft.Rewish || w.Undated
		w.Undated = false
		q.draft.Wishes = append(q.draft.Wishes, w)
		if m.Asked && !m.Marked.IsZero() {
			continue
		}
		q.draft.victims = append(q.draft.victims, Victim{MachineRef: MachineRef{UID: m.UID, Name: m.Name}, At: w.At})
		// The mark is written before any set is scaled, so that it counts.
		at.b.count(q.now, m, q.p, -1)
		m.Asked, m.Marked = true, w.At
		at.b.count(q.now, m, q.p, 1)
		byName[w.Machine] = place{at.b, m}
	}
	slices.SortFunc(q.draft.victims, func(a, b Victim) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return false
}
