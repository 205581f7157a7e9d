package kwok

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// node is the Node that a kubelet of the instance would register, with its status except the conditions,
// which kwok adds.
func node(r cloud.Record) *corev1.Node {
	labels := r.NodeLabels()
	labels[corev1.LabelHostname] = r.Node
	labels[corev1.LabelOSStable] = "linux"
	labels[corev1.LabelArchStable] = r.Traits.Arch
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(r.Traits.Cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(r.Traits.Memory, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(r.Traits.MaxPods, resource.DecimalSI),
	}
	maps.Copy(capacity, r.Traits.Further())
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   r.Node,
			Labels: labels,
			Annotations: map[string]string{
				fakeAnnotation:     "fake",
				instanceAnnotation: r.ID,
			},
		},
		Spec: corev1.NodeSpec{ProviderID: r.ProviderID(), Taints: r.Traits.Taints},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: allocatable(capacity),
			Addresses:   r.NodeAddresses(),
			NodeInfo:    corev1.NodeSystemInfo{Architecture: r.Traits.Arch, OperatingSystem: "linux"},
		},
	}
}

// allocatable is the part of a capacity for pods: huge pages reduce the memory.
func allocatable(capacity corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(capacity)
	memory := out[corev1.ResourceMemory].DeepCopy()
	for name, pages := range capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			memory.Sub(pages)
		}
	}
	out[corev1.ResourceMemory] = memory
	return out
}
