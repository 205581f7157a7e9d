package nodemeta

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Owned names what a machine has put on its node. It is kept where nodes cannot
// write: a kubelet may annotate its own node, so that what the node says of it
// would take from the node whatever the kubelet may not take off itself.
type Owned struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	// Taints are "key:effect".
	Taints   []string `json:"taints,omitempty"`
	Capacity []string `json:"capacity,omitempty"`
}

// Puts is what a machine that wants w puts on its node. Capacity that w leaves
// alone is as it was applied before.
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

// Remembering is w of a machine whose annotations say what it put on its node ([ReadOwned]).
func (w Want) Remembering(annotations map[string]string) Want {
	w.Owned = ReadOwned(annotations)
	return w
}

// ReadOwned reads what the annotations of a machine have of String; nil where there is nothing that can be read.
func ReadOwned(annotations map[string]string) *Owned {
	var o Owned
	if there, err := millwright.Read(annotations).JSON(millwright.OnNode, &o); !there || err != nil {
		return nil
	}
	return &o
}

// mostOwned bounds the record, in bytes. What has no room in it stays on the node
// when it is wanted no more.
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
		panic(err) // lists of strings can be written
	}
	return string(raw)
}

// Guarded reports whether there is anything that a kubelet may not take off its
// node itself.
func (o Owned) Guarded() bool { return len(o.Taints) > 0 || slices.ContainsFunc(o.Labels, guarded) }

// Empty reports whether there is nothing.
func (o Owned) Empty() bool {
	return len(o.Labels)+len(o.Annotations)+len(o.Taints)+len(o.Capacity) == 0
}

// guarded reports whether a label is one that a kubelet may not take off its node.
func guarded(label string) bool {
	domain, _, prefixed := strings.Cut(label, "/")
	return prefixed && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// owned is what may be taken off the node. Where the machine does not say, what the
// node says of it is believed as far as the kubelet could do the same itself.
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
