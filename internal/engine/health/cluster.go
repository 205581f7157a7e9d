package health

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Cluster is what is known of the cluster that answers where machines join, and of the nodes
// that all machines of the API have there, whether or not the check selects them.
type Cluster struct {
	// UID is its identity; empty where that may not be read, so that nothing is compared.
	UID string
	// Unknown says why the identity could not be read for the moment; empty where it could.
	Unknown string
	// Elsewhere says why a machine that has recorded no cluster does not belong to this one:
	// others have recorded one, and none of them this one. Empty where it may belong here.
	Elsewhere string
	// Recorded is how many machines that are neither deleted nor failed have a node recorded,
	// There how many of these nodes the cluster has.
	Recorded, There int
	// Deleted are the machines, by UID, whose node a watch saw deleted: these nodes are gone.
	Deleted map[types.UID]bool
}

// Distrust is why an unhealthy machine is not remedied: what the cluster says of its node is
// not believed. The zero Distrust is none.
type Distrust struct {
	// Reason is that of machines which wait for the same.
	Reason lifecycle.Reason
	Text   string
}

// ReasonClusterUnknown is the reason while a cluster does not say which one it is.
const ReasonClusterUnknown lifecycle.Reason = "TargetClusterUnknown"

// foreign is why nothing of the machine is concluded from what the cluster has or lacks.
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

// distrusts is why the verdict about the machine is not acted upon. That nodes are missing
// together matters where the verdict is that the machine has no node.
func (c Cluster) distrusts(t *Target) Distrust {
	if d := c.foreign(t); d.Text != "" || t.Node != nil || c.Deleted[t.UID] {
		return d
	}
	others := c.Recorded
	if t.recorded() {
		others--
	}
	if t.Failed && t.NodeName == "" {
		return Distrust{} // it failed before it joined, whatever became of the nodes of others
	}
	if text := lifecycle.Absent(others, c.There); text != "" {
		return Distrust{lifecycle.ReasonNodeDoubted, text}
	}
	return Distrust{}
}

// recorded reports whether the machine should have a node by what its object says.
func (t *Target) recorded() bool { return t.NodeName != "" && !t.Deleting && !t.Failed }

// count counts the node of a machine of the API, which nodes has or lacks by name.
func (c *Cluster) count(t *Target, nodes map[string]bool) {
	if !t.recorded() {
		return
	}
	c.Recorded++
	if nodes[t.NodeName] {
		c.There++
	}
}

// Gather finds out what the records of all machines of the API say of the cluster: whether
// any joined it, and which of their nodes it has.
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
