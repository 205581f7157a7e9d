package pages

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Node is the node of a machine with its pods.
type Node struct {
	Name          string    `json:"name"`
	Created       time.Time `json:"created"`
	Unschedulable bool      `json:"unschedulable,omitempty"`
	Kubelet       string    `json:"kubelet,omitempty"`
	// Conditions are those whose status is not the one of a healthy node, and Ready.
	Conditions []NodeCondition `json:"conditions"`
	Pods       []Pod           `json:"pods"`
}

// NodeCondition is a condition of a node.
type NodeCondition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Pod is a pod on a node.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"`
	// Owner is the kind of its controller; empty if it has none.
	Owner string `json:"owner,omitempty"`
	// Budget is the disruption budget that covers it, and Blocked says that it allows no eviction now.
	Budget  string `json:"budget,omitempty"`
	Blocked bool   `json:"blocked,omitempty"`
}

// NodeOf is the node of a machine; nil if it has none.
func NodeOf(d collect.Detail) *Node {
	n := d.Node
	if n == nil {
		return nil
	}
	p := &Node{Name: n.Name, Created: n.CreationTimestamp.Time, Unschedulable: n.Spec.Unschedulable, Kubelet: n.Status.NodeInfo.KubeletVersion}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady || c.Status != corev1.ConditionFalse {
			p.Conditions = append(p.Conditions, NodeCondition{string(c.Type), string(c.Status), c.Message, c.LastTransitionTime.Time})
		}
	}
	for i := range d.Pods {
		p.Pods = append(p.Pods, podOf(&d.Pods[i], d.Budgets))
	}
	return p
}

func podOf(o *corev1.Pod, budgets []policyv1.PodDisruptionBudget) Pod {
	p := Pod{Namespace: o.Namespace, Name: o.Name, Phase: string(o.Status.Phase)}
	for _, ref := range o.OwnerReferences {
		if ref.Controller != nil && *ref.Controller {
			p.Owner = ref.Kind
		}
	}
	for _, b := range drain.Covering(*o, budgets) {
		p.Budget, p.Blocked = b.Namespace+"/"+b.Name, p.Blocked || drain.Room(b) <= 0
	}
	return p
}
