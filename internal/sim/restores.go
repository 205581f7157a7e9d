package sim

import (
	"slices"

	"github.com/millwright-dev/millwright/internal/sim/store"
)

// archive is what is restored in a world.
type archive struct {
	// restores: the API server of the machines is restored to an older state. No seed
	// has that: one world in a hundred of those does not come to rest, and nobody has
	// found out yet whose fault that is. Settings of mutants do.
	restores bool
}

// mostRestores is how often a world is restored at most.
const mostRestores = 2

// backups are those that there are of the machines' API server.
type backups struct {
	last     *store.Backup
	restored int
}

// backUp makes a backup, or restores the last one.
func (w *World) backUp() {
	b := &w.backups
	if b.last == nil || w.chance(30) {
		b.last = w.store.Backup()
		w.does("makes a BACKUP at version %d", w.store.Version())
		return
	}
	if b.restored < mostRestores && w.chance(40) {
		w.restore()
	}
}

// restore puts the last backup back. Processes go on, or are started anew; what they
// have on the wire arrives before.
func (w *World) restore() {
	for len(w.late) > 0 {
		w.stepLate()
	}
	w.backups.restored++
	w.does("RESTORES version %d, which was %d", w.store.Version(), w.backups.restored)
	clear(w.owners.chosen) // what was wished for since is forgotten
	w.judge.Restored()
	w.store.Restore(w.backups.last)
	for _, i := range w.cloud.Machines() {
		if i.UID != "" && w.machineOf(i.UID) == nil && w.losses.since[i.UID].IsZero() {
			w.losses.since[i.UID] = w.now
		} else if w.machineOf(i.UID) != nil {
			delete(w.losses.since, i.UID)
		}
	}
	for _, p := range slices.Clone(w.procs) {
		clear(p.wrote)
		if p.deposed == nil && w.chance(30) {
			w.tracef(p.name(), "IS STARTED ANEW with %d passes under way", len(p.tasks))
			p.kill()
			w.start(p.role, 0)
		}
	}
}
