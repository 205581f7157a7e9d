package sim

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/rollout"
)

// counting counts the machines that will be available for sure.
type counting struct {
	w *World
	g glimpse
	// policies are that which the pass saw and that which is: a machine that is
	// available by either is.
	policies [2]rollout.Policy
	// by tells who says whether a machine is available.
	by way
	// resized is a set that is taken for one of this size.
	resized types.UID
	size    int
	// selected is a machine whose node is to be updated from now on.
	selected types.UID
}

func (w *World) counting(g glimpse, d client.Object) counting {
	f := w.tells.fleet
	return counting{w: w, g: g, policies: [2]rollout.Policy{f.policy(g.deployment), f.policy(d)}}
}

func (c counting) available(m rollout.Machine) bool {
	return m.Available(c.w.now, c.policies[0]) || m.Available(c.w.now, c.policies[1])
}

// way is by whom a machine is taken to be available.
type way int

const (
	byEither way = iota // the truth or what the pass could see
	bySight             // what the pass could see when it began
	byTruth             // the truth, now
	anySeen             // nobody: its state does not matter, where the pass could see it
	anyTrue             // nobody, where it is there now
)

// ways are all by which a count has to come out as wrong: machines come and go
// between the look at them and the write.
func (c counting) ways() []way {
	if c.by == anySeen {
		return []way{anySeen, anyTrue}
	}
	return []way{byEither, bySight, byTruth}
}

// updating reports whether the node of m is to be updated, or is being updated.
func updating(m rollout.Machine) bool {
	return m.Marks.Selected && m.Update != rollout.UpdateDone && m.Update != rollout.UpdateFailed
}

// works reports whether a machine is taken to be available.
func (c counting) works(seen, is bool) bool {
	switch c.by {
	case bySight:
		return seen
	case byTruth:
		return is
	case anySeen, anyTrue:
		return true
	}
	return seen || is
}

func (c counting) standing(d client.Object) (n int) {
	for _, s := range c.w.setsOf(d) {
		if s.GetDeletionTimestamp() == nil {
			n += c.ofSet(s)
		}
	}
	return n
}

// ofSet gives the pass the benefit of the doubt: what was available when it
// began counts still, what was lost since it could not know (it may, as it reads
// on while it runs: by the truth, a lost machine does not count), and machines
// that others chose to go are on their account.
func (c counting) ofSet(s client.Object) int {
	size := c.w.tells.size(s)
	if s.GetUID() == c.resized {
		size = c.size
	}
	living, available, chosen, idle, shielded, busyHere := 0, 0, 0, 0, 0, 0
	add := func(working, asked, busy bool) {
		living++
		switch {
		case asked:
			chosen++
		case !working:
			idle++
		}
		switch {
		case working && !busy:
			available++
		case working && !asked:
			busyHere++
		}
	}
	truth := map[types.UID]bool{}
	for _, m := range c.w.controlled(s) {
		v := c.w.fact(m)
		was, shown := c.g.machines[m.GetUID()]
		if v.Leaving || !shown {
			continue
		}
		truth[m.GetUID()] = true
		if v.Moved {
			shielded++
		}
		// What people selected since is on their account.
		busy := c.by < anySeen && updating(v) && (was.updating || c.by == byTruth || m.GetUID() == c.selected)
		add(c.works(was.working, c.available(v)), was.asked || v.Asked, busy)
	}
	for uid, was := range c.g.machines {
		if was.set == s.GetUID() && !was.leaving && !truth[uid] && c.w.owners.lost[uid] && c.by != byTruth && c.by != anyTrue {
			add(c.works(was.working, was.working), was.asked || c.w.owners.chosen[uid], false)
		}
	}
	if size == 0 {
		// All go, and nobody loses one that is being updated. Of a set that keeps
		// some, the one that is being updated may be among those.
		idle += busyHere
	}
	return max(0, available-max(0, living-size-chosen-idle-shielded))
}
