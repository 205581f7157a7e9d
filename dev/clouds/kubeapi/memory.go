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

// Memory has the objects of an API server. It is not safe for concurrent use.
type Memory struct {
	Clock     *double.Clock
	Objects   *double.Table[Object]
	Resources []Resource
	// Made and Buried get each created and each deleted object; nil: they are not called.
	Made, Buried func(Object)

	seq int // orders creations and changes
}

// NewMemory returns a memory for objects of the resources.
func NewMemory(clock *double.Clock, resources ...Resource) *Memory {
	return &Memory{Clock: clock, Objects: double.NewTable[Object](clock), Resources: resources}
}

// Named returns the resource with the name.
func (m *Memory) Named(name string) Resource {
	for _, r := range m.Resources {
		if r.Name == name {
			return r
		}
	}
	return Resource{}
}

// Key is the key of an object in the table.
func Key(resource, namespace, name string) string { return resource + "/" + namespace + "/" + name }

// Of returns all objects of a kind.
func (m *Memory) Of(kind string) (all []Object) {
	for _, o := range m.Objects.All() {
		if o.Kind() == kind {
			all = append(all, o)
		}
	}
	return all
}

// Next is the next resourceVersion.
func (m *Memory) Next() string {
	m.seq++
	return strconv.Itoa(m.seq)
}

// NewUID returns a new UID.
func (m *Memory) NewUID(kind string) string { return uuid(kind + " " + m.Next()) }

func uuid(of string) string {
	sum := sha256.Sum256([]byte(of))
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

// Stamp formats a time like an API server.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Put creates an object.
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

// Keep stores another version of an object.
func (m *Memory) Keep(r Resource, o Object) Object {
	o.Set(m.Next(), "metadata", "resourceVersion")
	m.Objects.Put(Key(r.Name, o.Namespace(), o.Name()), o)
	return o
}

// Status writes a status if it differs from the current one.
func (m *Memory) Status(r Resource, o Object, status map[string]any) {
	if reflect.DeepEqual(o["status"], any(status)) {
		return
	}
	o = o.Clone()
	o["status"] = status
	m.Keep(r, o)
}

// Bury deletes an object, and the objects that it owns.
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
