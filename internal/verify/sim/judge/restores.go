package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Restored forgets what was concluded from writes that a restore of the machines' API
// server undid, before which there were so many changes: who gave sets their sizes,
// which machines were given up for that, and what checks noted that they began. Where
// a pass looked and what it wrote stays in the history.
func (j *Judge) Restored(changes int64) {
	clear(j.sized)
	clear(j.rebooted)
	for uid := range j.surplus {
		if m, there := find(j.machines(), uid); there && !m.going {
			delete(j.surplus, uid)
		}
	}
	for _, c := range j.checks() {
		j.dropUndoneRemedies(c, changes)
	}
}

// dropUndoneRemedies forgets the remedies of which a restore undid the note: c had it stored, and
// is without it now, so that nobody can know of them. What it had forgotten by itself
// goes on to count.
func (j *Judge) dropUndoneRemedies(c *check, changes int64) {
	undone := map[types.UID]int64{}
	for _, was := range j.log[c.UID] {
		if was.n <= changes && was.now != nil {
			clear(undone)
			for _, b := range remembered(j.asCheck(was.now)).Begun {
				undone[b.Machine] = changes
			}
		}
	}
	for _, b := range remembered(c).Begun {
		delete(undone, b.Machine)
	}
	j.undone[c.UID] = undone
	j.remedies[c.UID] = slices.DeleteFunc(j.remedies[c.UID], func(r remedy) bool {
		_, is := undone[r.machine]
		return is
	})
}

// noteUndone reports whether the pass began before a restore that undid the note that
// the remedy of the machine begins.
func (j *Judge) noteUndone(p *Pass, c *check, machine types.UID) bool {
	changes, is := j.undone[c.UID][machine]
	return is && p.began <= changes
}
