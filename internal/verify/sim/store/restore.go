package store

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Backup is the state of all objects at a version.
type Backup struct {
	version int64
	objects map[*Kind]map[client.ObjectKey]client.Object
}

// Backup returns a backup of all objects.
func (s *Store) Backup() *Backup {
	b := &Backup{version: s.version, objects: map[*Kind]map[client.ObjectKey]client.Object{}}
	for k, all := range s.objects {
		b.objects[k] = all.copied()
	}
	return b
}

// Saved are the objects in the backup of the same kind as example, by name. Callers must
// not change them.
func (s *Store) Saved(b *Backup, example client.Object) []client.Object {
	return ordered(b.objects[s.kinds.of(example)])
}

// stride is the growth of versions. Each restore continues with numbers that were never used before, so that no version
// names two states of an object: no client could tell such states apart.
const stride = 3

// Restore restores the objects of the backup, and deletes newer objects. Resource versions go back as well: later writes get
// lower numbers than writes before the restore. Watchers get the differences, as from a new list.
func (s *Store) Restore(b *Backup) {
	s.version = b.version + 1
	for _, k := range s.Kinds() {
		for _, o := range s.objects[k].all() {
			if old := b.objects[k][client.ObjectKeyFromObject(o)]; old == nil || old.GetUID() != o.GetUID() {
				s.remove(k, o, o)
			}
		}
		for _, o := range ordered(b.objects[k]) {
			if now := s.objects[k].get(client.ObjectKeyFromObject(o)); now != o {
				s.put(k, now, o.DeepCopyObject().(client.Object))
			}
		}
	}
}

// put stores an object without a check.
func (s *Store) put(k *Kind, was, o client.Object) {
	s.objects[k].put(o)
	s.logs[k] = append(s.logs[k], Event{Kind: k, Old: was, New: o, At: s.now()})
	s.tell(was, o)
}
