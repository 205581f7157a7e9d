// Package nodemeta decides which metadata a node gets from its machine: labels, annotations, taints, virtual
// capacity, finalizers. It is pure; the effects are in internal/runtime/node.
package nodemeta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Want has the metadata that a node gets from its machine. Zero fields want nothing.
type Want struct {
	// Labels, Annotations and Taints are those that the machine declares for its node.
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
	// MarkLabels and MarkAnnotations tie the node to its machine. They are set under both rules, are not
	// recorded under AppliedKey and never removed.
	MarkLabels, MarkAnnotations map[string]string
	// Capacity is virtual: it is written to status.capacity, where the kubelet does not touch unknown names.
	Capacity corev1.ResourceList
	// ProviderID is set on a node that has none.
	ProviderID string
	// Finalizer is added to the node, DropFinalizer is removed.
	Finalizer, DropFinalizer string
	// Unschedulable cordons (true) or uncordons (false) the node; nil changes nothing.
	Unschedulable *bool

	// Additive: labels and annotations are set, taints are added if the node has none of the same key and
	// effect, and nothing is ever removed. AppliedKey and CapacityKey are not used.
	Additive bool
	// AppliedKey selects the three-way rule: metadata that was applied before and is no longer declared is
	// removed, declared metadata is set (of taints also the value), and the metadata of other programs is
	// left alone. AppliedKey is the node annotation that records, as JSON of a node template, what was
	// applied.
	//
	// With neither Additive nor AppliedKey the declared metadata is left alone, as for a node that is only
	// cordoned.
	AppliedKey string
	// CapacityKey is the node annotation that records, as JSON of a resource list, the applied capacity;
	// empty leaves capacity alone.
	CapacityKey string
	// Owned has the applied metadata, as the machine records it: nothing else is removed. If it is nil, the
	// node's annotations count, except for taints and for labels that a kubelet may not remove.
	Owned *Owned
}

// Leave returns the changes for a node that is cordoned for the last time: without the finalizer, the
// deletion of the node has no further effect.
func (w Want) Leave() Want { return Want{DropFinalizer: w.Finalizer} }

// applied is the record under [Want.AppliedKey]: the part of a node template that is applied to nodes.
type applied struct {
	Metadata appliedMeta `json:"metadata"`
	Spec     appliedSpec `json:"spec"`
}

type appliedMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type appliedSpec struct {
	Taints []corev1.Taint `json:"taints,omitempty"`
}

// Plan returns a copy of the node with the wanted metadata, and whether it differs from the node. If a needed
// record is invalid, the error names the annotation.
func (w Want) Plan(n *corev1.Node) (edited *corev1.Node, changed bool, err error) {
	edited = n.DeepCopy()
	switch {
	case w.Additive:
		add(edited, w)
	case w.AppliedKey != "":
		if err := merge(edited, w); err != nil {
			return nil, false, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	if !w.Additive && w.CapacityKey != "" {
		if err := capacity(edited, w); err != nil {
			return nil, false, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	edited.Labels = set(edited.Labels, w.MarkLabels)
	edited.Annotations = set(edited.Annotations, w.MarkAnnotations)
	finalizers(edited, w)
	if edited.Spec.ProviderID == "" {
		edited.Spec.ProviderID = w.ProviderID
	}
	if w.Unschedulable != nil {
		edited.Spec.Unschedulable = *w.Unschedulable
	}
	return edited, !equality.Semantic.DeepEqual(n, edited), nil
}

// add is the additive rule. It does not change a taint of the same key and effect, for any value.
func add(n *corev1.Node, w Want) {
	n.Labels = set(n.Labels, w.Labels)
	n.Annotations = set(n.Annotations, w.Annotations)
	for _, t := range w.Taints {
		if taint(n.Spec.Taints, t) < 0 {
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	}
}

// merge is the three-way rule.
func merge(n *corev1.Node, w Want) error {
	var last applied
	err := recorded(n, w.AppliedKey, &last)
	if err != nil && w.Owned == nil {
		return err
	}
	put := w.owned(last)
	n.Labels = set(unset(n.Labels, put.Labels, w.Labels), w.Labels)
	n.Annotations = set(unset(n.Annotations, put.Annotations, w.Annotations), w.Annotations)
	mergeTaints(n, put.Taints, w.Taints)

	now := applied{appliedMeta{w.Labels, w.Annotations}, appliedSpec{w.Taints}}
	if err == nil && equality.Semantic.DeepEqual(last, now) {
		return nil // also if another program wrote a larger record
	}
	return record(n, w.AppliedKey, now)
}

func mergeTaints(n *corev1.Node, put []string, want []corev1.Taint) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(put, taintName(t)) && taint(want, t) < 0
	})
	for _, t := range want {
		i := taint(n.Spec.Taints, t)
		switch {
		case i < 0:
			n.Spec.Taints = append(n.Spec.Taints, t)
		case n.Spec.Taints[i].Value != t.Value, t.TimeAdded != nil && !t.TimeAdded.Equal(n.Spec.Taints[i].TimeAdded):
			n.Spec.Taints[i] = t
		}
	}
}

func taint(list []corev1.Taint, t corev1.Taint) int {
	return slices.IndexFunc(list, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}

// capacity is the three-way rule for virtual capacity. If no capacity is wanted, its record is removed.
func capacity(n *corev1.Node, w Want) error {
	// Only the names count. A kubelet could have written the amounts here, and some amounts take very long to
	// compute.
	var last map[corev1.ResourceName]json.RawMessage
	if err := recorded(n, w.CapacityKey, &last); err != nil && w.Owned == nil {
		return err
	}
	for name, q := range w.Capacity {
		if !computable(q) {
			return fmt.Errorf("capacity %s: %s is not a quantity that can be computed", name, q.String())
		}
	}
	put := names(last)
	if w.Owned != nil {
		put = w.Owned.Capacity
	}
	for _, name := range put {
		if _, ok := w.Capacity[corev1.ResourceName(name)]; !ok {
			delete(n.Status.Capacity, corev1.ResourceName(name))
		}
	}
	for name, q := range w.Capacity {
		if have, ok := n.Status.Capacity[name]; ok && computable(have) && have.Equal(q) {
			continue
		}
		if n.Status.Capacity == nil {
			n.Status.Capacity = corev1.ResourceList{}
		}
		n.Status.Capacity[name] = q
	}
	if len(w.Capacity) == 0 {
		delete(n.Annotations, w.CapacityKey)
		return nil
	}
	return record(n, w.CapacityKey, w.Capacity)
}

// computable reports whether a quantity may be compared: 1e999999999 is a number of a billion digits. Its
// notation shows that at no cost.
func computable(q resource.Quantity) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(q.String()), "e")
	exponent = strings.TrimLeft(exponent, "+-0")
	return len(exponent)-len(strings.TrimLeft(exponent, "0123456789")) <= 3
}

func recorded(n *corev1.Node, key string, into any) error {
	raw := n.Annotations[key]
	if raw == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		return fmt.Errorf("annotation %s: not a record of applied metadata: %w", key, err)
	}
	return nil
}

func record(n *corev1.Node, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("annotation %s: %w", key, err)
	}
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, string(raw))
	return nil
}

func set(have, want map[string]string) map[string]string {
	if have == nil && len(want) > 0 {
		have = map[string]string{}
	}
	maps.Copy(have, want)
	return have
}

// unset removes applied entries that are no longer wanted.
func unset(have map[string]string, put []string, want map[string]string) map[string]string {
	for _, k := range put {
		if _, ok := want[k]; !ok {
			delete(have, k)
		}
	}
	return have
}

// finalizers edits only our own entry. A node under deletion gets none.
func finalizers(n *corev1.Node, w Want) {
	// A node under deletion would disappear with its finalizer before its pods were evicted.
	cordons := w.Unschedulable != nil && *w.Unschedulable
	if w.DropFinalizer != "" && (!cordons || n.DeletionTimestamp == nil) {
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == w.DropFinalizer })
	}
	if w.Finalizer != "" && n.DeletionTimestamp == nil && !slices.Contains(n.Finalizers, w.Finalizer) {
		n.Finalizers = append(n.Finalizers, w.Finalizer)
	}
}
