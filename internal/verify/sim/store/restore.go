package store

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Backup is all objects as they were at some version.
type Backup struct {
	version int64
	objects map[*Kind]map[client.ObjectKey]client.Object
}

// Backup returns all that is stored.
func (s *Store) Backup() *Backup {
	b := &Backup{version: s.version, objects: map[*Kind]map[client.ObjectKey]client.Object{}}
	for k, all := range s.objects {
		b.objects[k] = all.copied()
	}
	return b
}

// Saved are the objects of the kind of example in the backup, by name. They must not
// be changed.
func (s *Store) Saved(b *Backup, example client.Object) []client.Object {
	return ordered(b.objects[s.kinds.of(example)])
}

// stride is by how much versions grow. So that no version means two states of an object,
// each restore goes on with numbers that no earlier time had: nobody can tell such apart.
const stride = 3

// Restore puts back what was there, and takes away what came since. Resource versions
// go back as well: later writes get numbers below those that others had. Whoever watches
// is told of the differences, as by a new listing.
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

// put stores an object as it is.
func (s *Store) put(k *Kind, was, o client.Object) {
	s.objects[k].put(o)
	s.logs[k] = append(s.logs[k], Event{Kind: k, Old: was, New: o, At: s.now()})
	s.tell(was, o)
}
