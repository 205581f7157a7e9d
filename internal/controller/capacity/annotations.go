package capacity

import (
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
	// LabelsAnnotation is a list of labels, "key=value" separated by commas.
	// It belongs to the user too, whose values win.
	LabelsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/labels"
	// OwnLabelsAnnotation repeats what of the list is ours, so that it can be
	// told from the user's when the instance type changes.
	OwnLabelsAnnotation = millwright.CapacityLabels
)

// annotate returns the annotations of a set whose machines are of this size,
// given those it has. Equal input gives equal output, to the letter.
func annotate(have map[string]string, size provider.Size) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	out[VCPUAnnotation] = strconv.FormatInt(size.VCPU, 10)
	out[MemoryAnnotation] = strconv.FormatInt(size.MemoryMiB, 10)
	out[GPUAnnotation] = strconv.FormatInt(size.GPU, 10)
	mergeLabels(out, size.Architecture)
	return out
}

// mergeLabels puts the architecture into the list of labels, unless the user
// says something else about it.
func mergeLabels(annotations map[string]string, architecture string) {
	if architecture == "" {
		return
	}
	ours := corev1.LabelArchStable + "=" + architecture
	list := split(annotations[LabelsAnnotation])
	list = slices.DeleteFunc(list, func(l string) bool { return l == annotations[OwnLabelsAnnotation] })
	if slices.ContainsFunc(list, func(l string) bool { return key(l) == corev1.LabelArchStable }) {
		delete(annotations, OwnLabelsAnnotation)
		return
	}
	list = append(list, ours)
	slices.Sort(list)
	annotations[LabelsAnnotation] = strings.Join(list, ",")
	annotations[OwnLabelsAnnotation] = ours
}

func split(list string) (out []string) {
	for l := range strings.SplitSeq(list, ",") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func key(label string) string {
	k, _, _ := strings.Cut(label, "=")
	return k
}
