package health

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Node has the relevant fields of a node.
type Node struct {
	Name         string
	ControlPlane bool
	// Zone and Rack are its location; empty if unknown.
	Zone, Rack string
	// Reboots says that another program was asked to restart it.
	Reboots    bool
	Conditions []NodeCondition
}

// NodeCondition is one condition of a node.
type NodeCondition struct {
	Type, Status string
	// Since is when the status last changed.
	Since time.Time
}

// RebootAnnotation on a node asks another program to restart it.
const RebootAnnotation = "healthchecking.openshift.io/machine-remediation-reboot"

// controlPlane are the labels of control-plane nodes.
var controlPlane = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

// NodeOf returns the relevant fields of n as a copy. The rack is read from the label rackLabel.
func NodeOf(n *corev1.Node, rackLabel string) *Node {
	if n == nil {
		return nil
	}
	out := &Node{
		Name: n.Name, Zone: n.Labels[corev1.LabelTopologyZone], Rack: n.Labels[rackLabel],
		ControlPlane: slices.ContainsFunc(controlPlane, func(l string) bool { _, ok := n.Labels[l]; return ok }),
		Conditions:   make([]NodeCondition, len(n.Status.Conditions)),
	}
	_, out.Reboots = n.Annotations[RebootAnnotation]
	for i, c := range n.Status.Conditions {
		out.Conditions[i] = NodeCondition{Type: string(c.Type), Status: string(c.Status), Since: c.LastTransitionTime.Time}
	}
	return out
}

// Stirs reports whether the change of a node can change a verdict. A heartbeat cannot: of conditions, only
// types, statuses and transition times count; of the rest, the node's identity and location. It allocates no
// memory.
func Stirs(before, after *corev1.Node) bool {
	if before == nil || after == nil {
		return before != after
	}
	if before.UID != after.UID || len(before.Status.Conditions) != len(after.Status.Conditions) {
		return true
	}
	for i := range after.Status.Conditions {
		a, b := &before.Status.Conditions[i], &after.Status.Conditions[i]
		if a.Type != b.Type || a.Status != b.Status || !a.LastTransitionTime.Equal(&b.LastTransitionTime) {
			return true
		}
	}
	_, was := before.Annotations[RebootAnnotation]
	_, is := after.Annotations[RebootAnnotation]
	return was != is || !maps.Equal(before.Labels, after.Labels)
}

func (n *Node) equal(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	return n.Name == o.Name && n.ControlPlane == o.ControlPlane && n.Zone == o.Zone && n.Rack == o.Rack && n.Reboots == o.Reboots &&
		slices.EqualFunc(n.Conditions, o.Conditions, func(a, b NodeCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Since.Equal(b.Since)
		})
}

// equal reports whether two views of a machine are equal.
func (t *Target) equal(o *Target) bool {
	return t.UID == o.UID && t.Namespace == o.Namespace && t.Name == o.Name &&
		t.Created.Equal(o.Created) && t.Updated.Equal(o.Updated) && t.Owner == o.Owner &&
		t.Failed == o.Failed && t.Deleting == o.Deleting && t.Marked == o.Marked && t.Skip == o.Skip &&
		t.Template == o.Template && t.Zone == o.Zone && t.NodeName == o.NodeName && t.Joined == o.Joined && t.Node.equal(o.Node) && t.Own.equal(o.Own) && t.Reboot.Equal(o.Reboot)
}

func (o Own) equal(p Own) bool {
	same := func(a, b *time.Duration) bool { return a == b || a != nil && b != nil && *a == *b }
	return same(o.Startup, p.Startup) && same(o.Health, p.Health) && slices.Equal(o.Conditions, p.Conditions)
}
