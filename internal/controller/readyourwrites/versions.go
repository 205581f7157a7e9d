package readyourwrites

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Versions are the resource versions of the last writes of a process. [Writes] forget an object once the
// cache shows it; these stay until [Versions.Forget]. The zero value is ready. It is safe for concurrent
// use.
type Versions struct {
	mu     sync.Mutex
	latest map[types.UID]lastWrite
}

type lastWrite struct {
	// version is empty before the first answer; underway counts the writes that have no answer yet.
	version  string
	underway int
}

// Note enters an object as the API server has it now.
func (v *Versions) Note(o client.Object) {
	v.change(o, func(one *lastWrite) { one.version = o.GetResourceVersion() })
}

// Known reports whether a version of the object was entered.
func (v *Versions) Known(o client.Object) bool { return v.of(o).version != "" }

// Ours reports whether o is the version that the process wrote last, or may be one that it is writing: if
// another client wrote first, the write reports the conflict.
func (v *Versions) Ours(o client.Object) bool {
	one := v.of(o)
	return one.underway > 0 || one.version == o.GetResourceVersion()
}

// Older reports whether o is older than the last write of the process. If [Client] shows such an object,
// the API server was restored, or the cache was listed again from a server that is behind.
func (v *Versions) Older(o client.Object) bool {
	last := v.of(o).version
	if last == "" {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last)
	return err == nil && c < 0
}

// Forget removes the entry of an object.
func (v *Versions) Forget(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.latest, uid)
}

func (v *Versions) of(o client.Object) lastWrite {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.latest[o.GetUID()]
}

func (v *Versions) change(o client.Object, change func(*lastWrite)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.latest == nil {
		v.latest = map[types.UID]lastWrite{}
	}
	one := v.latest[o.GetUID()]
	change(&one)
	v.latest[o.GetUID()] = one
}

// begin enters that o is being written. The returned function enters the end of the write.
func (v *Versions) begin(o client.Object) (end func(answer client.Object, err error)) {
	if v == nil {
		return func(client.Object, error) {}
	}
	v.change(o, func(one *lastWrite) { one.underway++ })
	return func(answer client.Object, err error) {
		v.change(o, func(one *lastWrite) {
			one.underway--
			if err == nil {
				one.version = answer.GetResourceVersion()
			}
		})
	}
}
