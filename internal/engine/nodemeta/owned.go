package nodemeta

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Owned names the metadata that a machine has put on its node. It is stored where nodes cannot write: a
// kubelet may annotate its own node. A record on the node would let a kubelet remove, through us, metadata
// that it may not remove itself.
type Owned struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	// Taints are "key:effect".
	Taints   []string `json:"taints,omitempty"`
	Capacity []string `json:"capacity,omitempty"`
}

// Puts returns the metadata that a machine with the wish w puts on its node. Capacity that w leaves alone
// stays recorded as before.
func (w Want) Puts() Owned {
	o := Owned{Labels: names(w.Labels), Annotations: names(w.Annotations), Capacity: names(w.Capacity)}
	for _, t := range w.Taints {
		o.Taints = append(o.Taints, taintName(t))
	}
	slices.Sort(o.Taints)
	if w.CapacityKey == "" && w.Owned != nil {
		o.Capacity = w.Owned.Capacity
	}
	return o
}

// Remembering returns w with the record in the machine's annotations ([ReadOwned]).
func (w Want) Remembering(annotations map[string]string) Want {
	w.Owned = ReadOwned(annotations)
	return w
}

// ReadOwned reads the record from the annotations of a machine; nil if there is no valid one.
func ReadOwned(annotations map[string]string) *Owned {
	var o Owned
	if there, err := millwright.Read(annotations).JSON(millwright.OnNode, &o); !there || err != nil {
		return nil
	}
	return &o
}

// mostOwned is the limit of the record in bytes. Entries beyond it stay on the node when they are no longer
// wanted.
const mostOwned = 16 << 10

func (o Owned) String() string {
	raw, err := json.Marshal(o)
	for _, list := range []*[]string{&o.Annotations, &o.Labels, &o.Capacity, &o.Taints} {
		for err == nil && len(raw) > mostOwned && len(*list) > 0 {
			*list = (*list)[:len(*list)/2]
			raw, err = json.Marshal(o)
		}
	}
	if err != nil {
		panic(err) // lists of strings can always be encoded
	}
	return string(raw)
}

// Guarded reports whether the record has an entry that a kubelet may not remove from its node itself.
func (o Owned) Guarded() bool { return len(o.Taints) > 0 || slices.ContainsFunc(o.Labels, guarded) }

// Empty reports whether the record is empty.
func (o Owned) Empty() bool {
	return len(o.Labels)+len(o.Annotations)+len(o.Taints)+len(o.Capacity) == 0
}

// guarded reports whether a label is one that a kubelet may not remove from its node.
func guarded(label string) bool {
	domain, _, prefixed := strings.Cut(label, "/")
	return prefixed && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// owned returns the metadata that may be removed from the node. Without a record on the machine, the record
// on the node counts as far as the kubelet could remove the same itself.
func (w Want) owned(last applied) Owned {
	if w.Owned != nil {
		return *w.Owned
	}
	labels := slices.DeleteFunc(names(last.Metadata.Labels), guarded)
	return Owned{Labels: labels, Annotations: names(last.Metadata.Annotations)}
}

func taintName(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

func names[K ~string, V any](m map[K]V) (out []string) {
	for k := range m {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}
