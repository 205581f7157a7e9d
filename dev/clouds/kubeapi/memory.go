package kubeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Memory is what an API server keeps. It is used by one at a time.
type Memory struct {
	Clock     *double.Clock
	Objects   *double.Table[Object]
	Resources []Resource
	// Made and Buried get each created and each deleted object; nil: they are not called.
	Made, Buried func(Object)

	seq int // orders what was made and changed
}

// NewMemory returns an empty one of objects of the resources.
func NewMemory(clock *double.Clock, resources ...Resource) *Memory {
	return &Memory{Clock: clock, Objects: double.NewTable[Object](clock), Resources: resources}
}

// Named is the resource with the name.
func (m *Memory) Named(name string) Resource {
	for _, r := range m.Resources {
		if r.Name == name {
			return r
		}
	}
	return Resource{}
}

// Key is where the table has an object.
func Key(resource, namespace, name string) string { return resource + "/" + namespace + "/" + name }

// Of are all objects of a kind.
func (m *Memory) Of(kind string) (all []Object) {
	for _, o := range m.Objects.All() {
		if o.Kind() == kind {
			all = append(all, o)
		}
	}
	return all
}

// Next counts what is made and changed.
func (m *Memory) Next() string {
	m.seq++
	return strconv.Itoa(m.seq)
}

// NewUID makes an identifier that there was not before.
func (m *Memory) NewUID(kind string) string { return uuid(kind + " " + m.Next()) }

func uuid(of string) string {
	sum := sha256.Sum256([]byte(of))
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

// Stamp is a time as API servers write it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Put makes an object.
func (m *Memory) Put(r Resource, namespace string, o Object) Object {
	o = o.Clone()
	o.Set(r.apiVersion(), "apiVersion")
	o.Set(r.Kind, "kind")
	o.Set(namespace, "metadata", "namespace")
	o.Set(m.NewUID(r.Kind), "metadata", "uid")
	if o.Text("metadata", "creationTimestamp") == "" {
		o.Set(Stamp(m.Clock.Now()), "metadata", "creationTimestamp")
	}
	if m.Made != nil {
		m.Made(o)
	}
	return m.Keep(r, o)
}

// Keep keeps another version of an object.
func (m *Memory) Keep(r Resource, o Object) Object {
	o.Set(m.Next(), "metadata", "resourceVersion")
	m.Objects.Put(Key(r.Name, o.Namespace(), o.Name()), o)
	return o
}

// Status writes a status where it is another one than before.
func (m *Memory) Status(r Resource, o Object, status map[string]any) {
	if reflect.DeepEqual(o["status"], any(status)) {
		return
	}
	o = o.Clone()
	o["status"] = status
	m.Keep(r, o)
}

// Bury takes an object away, and what goes with it.
func (m *Memory) Bury(o Object) {
	for _, r := range m.Resources {
		if r.Kind == o.Kind() {
			m.Objects.Delete(Key(r.Name, o.Namespace(), o.Name()))
		}
	}
	if m.Buried != nil {
		m.Buried(o)
	}
	for _, other := range m.Objects.All() {
		if slices.Contains(other.Owners(), o.UID()) {
			m.Bury(other)
		}
	}
}
