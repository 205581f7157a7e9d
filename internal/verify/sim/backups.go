package sim

import (
	"math/rand/v2"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// backupProfile says whether API servers are restored from a backup.
type backupProfile struct {
	// restores: the machines' API server is restored to an older state.
	restores bool
}

// backupSource is the source of random numbers of this profile alone.
const backupSource = widerSource + 0xa2c417e

// restore draws the profile. The machines have an API server of their own, because a restore must not remove nodes that
// kubelets have registered.
func (c *profile) restore(r *rand.Rand) {
	if c.restores = r.IntN(4) == 0; c.restores {
		c.trouble, c.apart = max(c.trouble, 5), true
	}
}

// mostRestores bounds the restores of a world.
const mostRestores = 2

// backups are the backups of the machines' API server.
type backups struct {
	last     *store.Backup
	restored int
	// target is the state of the target cluster.
	target targets
}

// backUpOrRestore makes a backup, or restores the last one.
func (w *World) backUpOrRestore() {
	b := &w.backups
	if b.last == nil || w.chance(30) {
		b.last = w.store.Backup()
		w.does("makes a BACKUP at version %d", w.store.Version())
		return
	}
	if b.restored < mostRestores && w.chance(40) && w.recordsPlaces(b.last) {
		w.restore()
	}
}

// recordsPlaces reports whether the backup records for each instance where it is or was, in a world in which labels or
// credentials may change the place. If neither the backup nor labels and credentials name the place, no controller can find
// the instance, so users take a later backup.
func (w *World) recordsPlaces(b *store.Backup) bool {
	if !w.profile.scopes && !w.profile.edits && !w.profile.accounts {
		return true
	}
	saved := all(w, func() []client.Object { return w.store.Saved(b, w.adapter.machine) })
	for _, m := range saved {
		o := w.of(m).view(m).Recorded.Origin
		uid := string(m.GetUID())
		made := slices.ContainsFunc(w.cloud.Machines(), func(i *cloud.Machine) bool { return i.UID == uid })
		if (made || len(w.cloud.Parts(uid)) > 0) && (o == nil || o.Cluster == "" || o.Account == "" && w.profile.accounts) {
			return false
		}
	}
	return true
}

// removeUnowned lets users do the collector's work if no collector runs: they remove the instances of machines that are in no
// backup, and the instances that an earlier version created without an owner. A backup may have a machine without the
// instance that it got later. If that instance is terminated, nothing names its node.
func (w *World) removeUnowned() {
	if w.profile.collects && !w.profile.versions || !w.profile.collects && w.backups.restored == 0 && !w.profile.recreates {
		return
	}
	nodeNameBlind := func(uid string) bool { return uid != "" && w.machineOf(uid) == nil }
	ours := func(by, space string) bool {
		return by == "" && w.profile.versions || by == owner && space == namespace && !w.profile.collects
	}
	for _, i := range w.cloud.Existing("") {
		if nodeNameBlind(w.uidOf(i)) && ours(i.Owner, i.Namespace) {
			w.cloud.Kill(i)
			w.losses.since[w.uidOf(i)] = w.now
			w.does("removes instance %s of %s, whose machine is in no backup", i.ID, i.Name)
		}
	}
	for _, i := range w.cloud.Machines() {
		if n := w.nodeOf(w.kubelet(i)); n != nil && (nodeNameBlind(w.uidOf(i)) || w.unrecorded(i)) && ours(i.Owner, i.Namespace) && !i.Exists(w.now) {
			w.must("delete a node", client.IgnoreNotFound(w.target.Delete(n, client.DeleteOptions{})))
			if n := w.node(n.Name); n != nil {
				w.edit(n, "", func(o client.Object) { o.SetFinalizers(nil) })
			}
		}
	}
	for _, p := range w.cloud.Parts("") {
		if nodeNameBlind(w.uidOfPart(p)) && ours(p.Owner, p.Namespace) {
			w.cloud.Remove(p)
		}
	}
}

// unrecorded reports whether the machine of i exists after a restore and has recorded no instance.
func (w *World) unrecorded(i *cloud.Machine) bool {
	m := w.machineOf(w.uidOf(i))
	return w.backups.restored > 0 && m != nil && w.of(m).view(m).Recorded.ProviderID == ""
}

// restore restores the last backup. Processes continue or restart. Their requests on the wire arrive first.
func (w *World) restore() {
	for len(w.late) > 0 {
		w.stepLate()
	}
	w.backups.restored++
	w.does("RESTORES version %d, which was %d", w.store.Version(), w.backups.restored)
	clear(w.owners.chosen) // an autoscaler's later choices are lost
	changes := w.judge.Changes()
	w.store.Restore(w.backups.last)
	w.judge.Restored(changes)
	for _, i := range w.cloud.Machines() {
		if uid := w.uidOf(i); uid != "" && w.machineOf(uid) == nil && w.losses.since[uid].IsZero() {
			w.losses.since[uid] = w.now
		} else if w.machineOf(uid) != nil {
			delete(w.losses.since, uid)
		}
	}
	for _, p := range slices.Clone(w.procs) {
		clear(p.wrote)
		if p.deposed == nil && w.chance(30) {
			w.tracef(p.name(), "IS STARTED ANEW with %d passes under way", len(p.tasks))
			p.kill()
			w.start(p.role, p.adapter, 0)
		}
	}
}
