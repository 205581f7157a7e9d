package sim

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lostObjectsProfile is a world without user actions until all objects are deleted by force and do not return: then only the
// collector of orphans knows where their instances are. Only settings have it, not seeds.
type lostObjectsProfile struct{ losesAllObjects bool }

// loseAllObjects deletes all machines, sets and deployments by force after a machine has recorded its instance.
func (w *World) loseAllObjects() {
	if i, _ := w.recordedInstance(); i == nil || w.losses.allLost {
		return
	}
	w.losses.allLost = true
	for _, p := range w.leading() { // the collector must know the place
		if p.role == orphanRole {
			w.catchUp(p)
			for _, key := range p.startable() {
				p.begin(key)
			}
		}
	}
	for _, m := range w.store.All(w.adapter.machine) {
		w.losses.since[string(m.GetUID())] = w.now
	}
	all := slices.Concat(w.deployments(), w.store.All(w.adapter.set), w.store.All(w.adapter.machine))
	w.forceDelete(slices.DeleteFunc(all, func(o client.Object) bool { return w.store.Lookup(o, client.ObjectKeyFromObject(o)) == nil })...)
	w.does("LOSES ALL OBJECTS for good")
}
