package health

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Cluster has the facts about the cluster that answers for the nodes, and about the nodes there of all
// machines of the API, selected by the check or not.
type Cluster struct {
	// UID is its identity; empty if reading it is denied; then it is not compared.
	UID string
	// Unknown says why the identity could not be read now; empty if it could.
	Unknown string
	// Elsewhere says why a machine without a recorded cluster does not belong to this cluster: other machines
	// have recorded clusters, and none of them this one. Empty if it may belong here.
	Elsewhere string
	// Recorded is how many machines that are neither deleted nor failed have a recorded node, There is how
	// many of these nodes the cluster has.
	Recorded, There int
	// Deleted are the machines, by UID, whose node was deleted as seen by a watch.
	Deleted map[types.UID]bool
}

// Distrust is why an unhealthy machine is not remediated: the cluster's facts about its node are not trusted.
// The zero Distrust is no objection.
type Distrust struct {
	// Reason is the reason of machines that wait for the same cause.
	Reason lifecycle.Reason
	Text   string
}

// ReasonClusterUnknown is the reason while the identity of the cluster is unknown.
const ReasonClusterUnknown lifecycle.Reason = "TargetClusterUnknown"

// foreign returns why the objects of the cluster prove nothing about the machine.
func (c Cluster) foreign(t *Target) Distrust {
	joined := t.Joined
	why := lifecycle.ForeignTarget(joined.Cluster, c.UID, joined.Accepted)
	switch {
	case c.Unknown != "":
		return Distrust{ReasonClusterUnknown, c.Unknown}
	case joined.Cluster == "" && (joined.Accepted == "" || joined.Accepted != c.UID):
		why = cmp.Or(why, c.Elsewhere)
	}
	if why == "" {
		return Distrust{}
	}
	return Distrust{lifecycle.ReasonTargetReplaced, why}
}

// distrusts returns why the verdict about the machine is not acted upon. Many missing nodes matter only if
// the verdict is that the machine has no node.
func (c Cluster) distrusts(t *Target) Distrust {
	if d := c.foreign(t); d.Text != "" || t.Node != nil || c.Deleted[t.UID] {
		return d
	}
	others := c.Recorded
	if t.recorded() {
		others--
	}
	if t.Failed && t.NodeName == "" {
		return Distrust{} // it failed before it joined, independently of other nodes
	}
	if text := lifecycle.Absent(others, c.There); text != "" {
		return Distrust{lifecycle.ReasonNodeDoubted, text}
	}
	return Distrust{}
}

// recorded reports whether the machine should have a node, by its object.
func (t *Target) recorded() bool { return t.NodeName != "" && !t.Deleting && !t.Failed }

// count counts the node of a machine of the API, which nodes lists by name.
func (c *Cluster) count(t *Target, nodes map[string]bool) {
	if !t.recorded() {
		return
	}
	c.Recorded++
	if nodes[t.NodeName] {
		c.There++
	}
}

// Gather collects the facts about the cluster from the records of all machines of the API: whether any
// machine joined it, and which of their nodes exist.
func (c *Cluster) Gather(all []Target, nodes map[string]bool) {
	here, elsewhere := false, ""
	for i := range all {
		t := &all[i]
		c.count(t, nodes)
		here = here || c.UID != "" && (t.Joined.Cluster == c.UID || t.Joined.Accepted == c.UID)
		elsewhere = cmp.Or(elsewhere, lifecycle.ForeignTarget(t.Joined.Cluster, c.UID, ""))
	}
	if !here {
		c.Elsewhere = elsewhere
	}
}
