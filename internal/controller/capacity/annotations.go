package capacity

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/provider"
)

// Annotations on machine sets that the autoscaler reads to scale from zero.
const (
	// VCPUAnnotation is a whole number of virtual CPUs.
	VCPUAnnotation = "machine.openshift.io/vCPU"
	// MemoryAnnotation is a whole number of MiB.
	MemoryAnnotation = "machine.openshift.io/memoryMb"
	// GPUAnnotation is a whole number of accelerators, "0" for none.
	GPUAnnotation = "machine.openshift.io/GPU"
)

// Annotations that the user may write as well. The user's values win.
const (
	// LabelsAnnotation is a list of labels, "key=value" separated by commas.
	LabelsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/labels"
	// TaintsAnnotation is a list of taints, "key=value:effect" or "key:effect".
	TaintsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/taints"
	// DiskAnnotation is the ephemeral storage as a quantity.
	DiskAnnotation = "capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk"
	// GPUTypeAnnotation is the resource by which pods request accelerators, and GPUCountAnnotation is their
	// number.
	GPUTypeAnnotation  = "capacity.cluster-autoscaler.kubernetes.io/gpu-type"
	GPUCountAnnotation = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
)

// Millwright's own annotations.
const (
	// OwnAnnotation repeats the controller's part of the annotations that the user may write as well: an
	// object with the value of each, or with the controller's part of its list. When the template changes,
	// it tells the controller's part from the user's.
	OwnAnnotation = millwright.Capacity
	// formerAnnotation repeated the controller's part of the list of labels: one label. It is read once,
	// and removed.
	formerAnnotation = millwright.Capacity + "-labels"
)

// annotate returns the annotations of a set whose machines have this size, given the annotations that it
// has. Equal input gives equal output, byte for byte.
func annotate(have map[string]string, size provider.Size) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	out[VCPUAnnotation] = strconv.FormatInt(size.VCPU, 10)
	out[MemoryAnnotation] = strconv.FormatInt(size.MemoryMiB, 10)
	out[GPUAnnotation] = strconv.FormatInt(size.GPU, 10)
	m := merge{out: out, was: ownOf(have), own: map[string]string{}}
	m.value(DiskAnnotation, quantity(size.EphemeralStorageMiB))
	gpuType, gpuCount := "", ""
	if size.GPU > 0 && size.GPUResource != "" {
		gpuType, gpuCount = string(size.GPUResource), strconv.FormatInt(size.GPU, 10)
	}
	m.value(GPUTypeAnnotation, gpuType)
	m.value(GPUCountAnnotation, gpuCount)
	m.list(LabelsAnnotation, labels(size), labelKey)
	m.list(TaintsAnnotation, taints(size), taintKey)
	m.write()
	return out
}

func quantity(mib int64) string {
	if mib <= 0 {
		return ""
	}
	return strconv.FormatInt(mib, 10) + "Mi"
}

func labels(size provider.Size) (out []string) {
	for key, value := range size.Labels {
		if key != corev1.LabelArchStable || size.Architecture == "" {
			out = append(out, key+"="+value)
		}
	}
	if size.Architecture != "" {
		out = append(out, corev1.LabelArchStable+"="+size.Architecture)
	}
	return out
}

func taints(size provider.Size) (out []string) {
	for _, t := range size.Taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		out = append(out, text+":"+string(t.Effect))
	}
	return out
}

// labelKey identifies a label: its key.
func labelKey(label string) string {
	k, _, _ := strings.Cut(label, "=")
	return k
}

// taintKey identifies a taint: the key and the effect.
func taintKey(taint string) string {
	rest, effect, _ := strings.Cut(taint, ":")
	return labelKey(rest) + ":" + effect
}

// ownOf reads the controller's part of the annotations. If it is unreadable, no part is the controller's.
func ownOf(have map[string]string) (own map[string]string) {
	if there, _ := millwright.Read(have).JSON(OwnAnnotation, &own); there { // a user may have edited it
		return own
	}
	if label, ok := have[formerAnnotation]; ok {
		return map[string]string{LabelsAnnotation: label}
	}
	return nil
}

// merge puts the controller's entries among the user's.
type merge struct {
	out map[string]string
	// was holds the controller's entries of the last pass, own those of this one.
	was, own map[string]string
}

// value sets an annotation unless the user has set it. An empty value removes the controller's.
func (m merge) value(key, want string) {
	if has, ok := m.out[key]; ok && has != m.was[key] {
		return
	}
	if want == "" {
		delete(m.out, key)
		return
	}
	m.out[key], m.own[key] = want, want
}

// list puts the wanted entries into a list, in place of the controller's former ones, unless the user's
// have the same key.
func (m merge) list(key string, want []string, keyOf func(string) string) {
	before, ours := split(m.out[key]), split(m.was[key])
	now := slices.DeleteFunc(slices.Clone(before), func(e string) bool { return slices.Contains(ours, e) })
	taken := map[string]bool{}
	for _, e := range now {
		taken[keyOf(e)] = true
	}
	var added []string
	for _, e := range want {
		if !taken[keyOf(e)] {
			added = append(added, e)
			taken[keyOf(e)] = true
		}
	}
	if len(added) == 0 && len(now) == len(before) {
		return // as the user wrote it
	}
	now = append(now, added...)
	slices.Sort(now)
	slices.Sort(added)
	if m.out[key] = strings.Join(now, ","); len(now) == 0 {
		delete(m.out, key)
	}
	if len(added) > 0 {
		m.own[key] = strings.Join(added, ",")
	}
}

// write stores the controller's part in OwnAnnotation.
func (m merge) write() {
	delete(m.out, formerAnnotation)
	delete(m.out, OwnAnnotation)
	if len(m.own) > 0 {
		text, _ := json.Marshal(m.own) // marshaling strings cannot fail
		m.out[OwnAnnotation] = string(text)
	}
}

func split(list string) (out []string) {
	for l := range strings.SplitSeq(list, ",") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}
