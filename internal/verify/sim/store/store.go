package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is one change: creation (Old is nil), deletion (New is nil) or update.
// The objects must not be changed.
type Event struct {
	Kind     *Kind
	Old, New client.Object
	At       time.Time
}

// Object is the object's present, or last, state.
func (e Event) Object() client.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Store has the true state of the API server.
type Store struct {
	now     func() time.Time
	scheme  *runtime.Scheme
	kinds   kinds
	indexes map[index]*extractor
	objects map[*Kind]*sortedObjects
	logs    map[*Kind][]Event
	version int64
	born    int64
	// Terminating is the namespace that is being deleted; empty: none. No object can be created in it.
	Terminating string
	// OnWrite, if set, is called for every change: the new object is nil after a deletion.
	OnWrite func(was, now client.Object)
}

// index is a field by which objects of a kind are listed.
type index struct {
	kind  *Kind
	field string
}

// extractor is an index function that remembers its results: stored objects do not change.
type extractor struct {
	extract client.IndexerFunc
	known   map[client.Object][]string
}

func (e *extractor) of(o client.Object) []string {
	out, ok := e.known[o]
	if !ok {
		out = e.extract(o)
		e.known[o] = out
	}
	return out
}

// New returns an empty store of the kinds.
func New(now func() time.Time, scheme *runtime.Scheme, all []*Kind) *Store {
	s := &Store{
		now: now, scheme: scheme, kinds: kinds{}, indexes: map[index]*extractor{},
		objects: map[*Kind]*sortedObjects{}, logs: map[*Kind][]Event{},
	}
	for _, k := range all {
		s.kinds[k.typ] = k
		s.objects[k] = newSortedObjects()
	}
	return s
}

// IndexField adds a field by which objects of the same kind as example can be listed.
func (s *Store) IndexField(_ context.Context, example client.Object, field string, extract client.IndexerFunc) error {
	s.indexes[index{s.kinds.of(example), field}] = &extractor{extract, map[client.Object][]string{}}
	return nil
}

// KindOf returns the kind of an object or a list.
func (s *Store) KindOf(o runtime.Object) *Kind { return s.kinds.of(o) }

// Kinds are all kinds, by name and group.
func (s *Store) Kinds() []*Kind {
	var out []*Kind
	for _, k := range s.kinds {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *Kind) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
	})
	return out
}

// Version is the version of the last write.
func (s *Store) Version() int64 { return s.version }

// All returns the objects of the same kind as example, by name. Callers must not
// change them.
func (s *Store) All(example runtime.Object) []client.Object {
	return s.objects[s.kinds.of(example)].all()
}

// Lookup returns the object with the key; nil if it does not exist. Callers must not change it.
func (s *Store) Lookup(example client.Object, key client.ObjectKey) client.Object {
	return s.objects[s.kinds.of(example)].get(key)
}

// Create stores a new object and returns it as stored.
func (s *Store) Create(o client.Object) (client.Object, error) {
	k := s.kinds.of(o)
	stored, err := normalized(k, o)
	if err != nil {
		return nil, err
	}
	if ns := stored.GetNamespace(); ns != "" && ns == s.Terminating {
		return nil, terminating(k, stored)
	}
	s.born++
	if stored.GetName() == "" && stored.GetGenerateName() != "" {
		stored.SetName(fmt.Sprintf("%s%05d", stored.GetGenerateName(), s.born))
	}
	key := client.ObjectKeyFromObject(stored)
	if s.objects[k].get(key) != nil {
		return nil, apierrors.NewAlreadyExists(k.resource(), key.Name)
	}
	stored.SetUID(types.UID(fmt.Sprintf("%s-%d", strings.ToLower(k.Kind), s.born)))
	stored.SetCreationTimestamp(s.second())
	stored.SetDeletionTimestamp(nil)
	stored.SetGeneration(0)
	if k.Counted {
		stored.SetGeneration(1)
	}
	if k.Subresource && !k.StatusAtBirth {
		k.copyStatus(stored, k.New())
	}
	s.commit(k, nil, stored)
	return stored, nil
}

func (s *Store) second() metav1.Time { return metav1.NewTime(s.now().Truncate(time.Second)) }

// normalized is the object as it is after encoding and decoding.
func normalized(k *Kind, o client.Object) (client.Object, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", k.Kind, err)
	}
	return decoded(k, raw)
}

func decoded(k *Kind, raw []byte) (client.Object, error) {
	out := k.New()
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode %s: %v", k.Kind, err))
	}
	return out, nil
}

// Update replaces an object; part is the subresource, empty for the object
// itself. If o has a resource version and the object has changed since, Update fails.
func (s *Store) Update(o client.Object, part string) (client.Object, error) {
	k := s.kinds.of(o)
	key := client.ObjectKeyFromObject(o)
	old := s.objects[k].get(key)
	if old == nil {
		return nil, apierrors.NewNotFound(k.resource(), key.Name)
	}
	if v := o.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.resource(), key.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if u := o.GetUID(); u != "" && u != old.GetUID() {
		return nil, apierrors.NewConflict(k.resource(), key.Name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", u, old.GetUID()))
	}
	edited, err := normalized(k, o)
	if err != nil {
		return nil, err
	}
	return s.replace(k, old, edited, part)
}

func (s *Store) replace(k *Kind, old, edited client.Object, part string) (client.Object, error) {
	if part == "status" {
		whole := old.DeepCopyObject().(client.Object)
		k.copyStatus(whole, edited)
		edited = whole
	} else if k.Subresource {
		k.copyStatus(edited, old)
	}
	s.keepSystemFields(edited, old)
	if old.GetDeletionTimestamp() != nil && part == "" {
		for _, f := range edited.GetFinalizers() {
			if !slices.Contains(old.GetFinalizers(), f) {
				return nil, apierrors.NewInvalid(k.GroupKind(), old.GetName(), nil)
			}
		}
	}
	if equality.Semantic.DeepEqual(old, edited) {
		return old, nil
	}
	if k.Counted && part == "" && !k.sameSpec(old, edited) {
		edited.SetGeneration(old.GetGeneration() + 1)
	}
	if edited.GetDeletionTimestamp() != nil && len(edited.GetFinalizers()) == 0 && ptrZero(edited.GetDeletionGracePeriodSeconds()) {
		s.version += stride
		edited.SetResourceVersion(strconv.FormatInt(s.version, 10))
		s.remove(k, old, edited)
		return edited, nil
	}
	s.commit(k, old, edited)
	return edited, nil
}

// ptrZero reports whether only finalizers hold a terminating object: pods also have a grace period.
func ptrZero(grace *int64) bool { return grace == nil || *grace == 0 }

func (s *Store) keepSystemFields(edited, old client.Object) {
	edited.SetUID(old.GetUID())
	edited.SetResourceVersion(old.GetResourceVersion())
	edited.SetGeneration(old.GetGeneration())
	edited.SetCreationTimestamp(old.GetCreationTimestamp())
	edited.SetDeletionTimestamp(old.GetDeletionTimestamp())
	edited.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	edited.SetGenerateName(old.GetGenerateName())
}

func (k *Kind) sameSpec(a, b client.Object) bool {
	c := b.DeepCopyObject().(client.Object)
	k.copyMeta(c, a)
	k.copyStatus(c, a)
	return equality.Semantic.DeepEqual(a, c)
}

func (s *Store) commit(k *Kind, old, stored client.Object) {
	s.version += stride
	stored.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[k].put(stored)
	s.logs[k] = append(s.logs[k], Event{Kind: k, Old: old, New: stored, At: s.now()})
	s.tell(old, stored)
}

func (s *Store) tell(was, now client.Object) {
	if s.OnWrite != nil {
		s.OnWrite(was, now)
	}
}

func (s *Store) remove(k *Kind, old, last client.Object) {
	s.objects[k].drop(client.ObjectKeyFromObject(old))
	s.logs[k] = append(s.logs[k], Event{Kind: k, Old: last, At: s.now()})
	s.tell(old, nil)
}
