package rollout

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// grantWishes marks the machines that an autoscaler wants gone, and drops the
// wishes that have come true or never can: the machine is not there, is on its
// way out, or has failed, which is a reason of its own to go.
func (q *question) grantWishes() bool {
	if len(q.d.Wishes) == 0 {
		return false
	}
	byName := map[string]Machine{}
	for _, b := range q.all {
		for _, m := range b.Machines {
			byName[m.Name] = m
		}
	}
	for _, w := range q.d.Wishes {
		m, ok := byName[w.Machine]
		if !ok || w.At.IsZero() || m.Leaving || m.Failed {
			q.plan.Rewish = true
			continue
		}
		q.plan.Rewish = q.plan.Rewish || w.Undated
		w.Undated = false
		q.plan.Wishes = append(q.plan.Wishes, w)
		if !m.Asked || m.Marked.IsZero() {
			q.plan.Victims = append(q.plan.Victims, Victim{MachineRef: MachineRef{UID: m.UID, Name: m.Name}, At: w.At})
			q.ask(m.UID)
		}
	}
	slices.SortFunc(q.plan.Victims, func(a, b Victim) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return false
}

// ask counts a machine as one that somebody asked to give up: the mark is
// written before any set is scaled.
func (q *question) ask(uid types.UID) {
	for _, b := range q.all {
		for _, m := range b.Machines {
			if m.UID != uid || m.Asked || m.Leaving {
				continue
			}
			if !m.Usable && !m.Kept {
				b.useless--
			}
			m.Asked = true
			b.rank(q.now, m, q.p, 1)
		}
	}
}
