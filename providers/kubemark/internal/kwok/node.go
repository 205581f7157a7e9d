package kwok

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// gpu is the resource under which accelerators are counted.
const gpu corev1.ResourceName = "nvidia.com/gpu"

// node is the Node that a kubelet of the instance would register, status
// included: kwok adds the conditions.
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
	if r.Traits.GPUs > 0 {
		capacity[gpu] = *resource.NewQuantity(r.Traits.GPUs, resource.DecimalSI)
	}
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
			Allocatable: capacity,
			Addresses:   r.NodeAddresses(),
			NodeInfo:    corev1.NodeSystemInfo{Architecture: r.Traits.Arch, OperatingSystem: "linux"},
		},
	}
}
