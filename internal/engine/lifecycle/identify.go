package lifecycle

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Identity returns the provider ID to set on n, the node found for m; empty: none. A provider ID cannot be
// changed later. So n has to report Ready, must have no other provider ID, and must match the
// infrastructure's facts about the machine's own instance: records, or marks, may be of an instance that does
// not exist any more.
func (w World) Identity(m Machine, n *corev1.Node) string {
	i := w.Instances.Of(m.Recorded.ProviderID)
	switch {
	case !w.Session.IdentifiesNodes || n == nil || n.Spec.ProviderID != "":
		return ""
	case !m.Deleted.IsZero() || n.DeletionTimestamp != nil:
		return ""
	case i == nil || i.State != provider.Running || w.Instances.Substitute:
		return ""
	case Ready(n).Status == corev1.ConditionUnknown || !resides(n, *i):
		return ""
	}
	return i.ProviderID
}

// resides reports whether n has the predicted name of i, or, without a predicted name, one of i's addresses.
// Names among the addresses may be those that many hosts had during inspection.
func resides(n *corev1.Node, i provider.Instance) bool {
	if i.NodeName != "" {
		return strings.EqualFold(n.Name, i.NodeName)
	}
	return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool {
		return a.Type == corev1.NodeInternalIP && slices.Contains(i.Addresses, a)
	})
}

// identifyAgain returns when to check again whether to set the node's provider ID; zero: that is known.
func identifyAgain(q input) time.Duration {
	if !q.w.Node.Unsure {
		return 0
	}
	return max(q.p.Delays.Transient, FirstDelay)
}
