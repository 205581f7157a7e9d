package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Restored drops all conclusions from writes that a restore of the machines' API server undid: who set the sizes of sets,
// which machines were deleted for that, and which remedies checks recorded. `changes` is the number of changes before the
// restore. The history keeps everything that passes saw and wrote.
func (j *Judge) Restored(changes int64) {
	j.restored = j.seq
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

// dropUndoneRemedies drops the remedies whose record a restore removed: c had stored the record and has none now, so no
// process can know of them. Remedies whose record c itself had dropped still count.
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

// noteUndone reports whether the pass began before a restore that removed the record of the machine's remedy.
func (j *Judge) noteUndone(p *Pass, c *check, machine types.UID) bool {
	changes, is := j.undone[c.UID][machine]
	return is && p.began <= changes
}
