package lifecycle

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Identity is the provider ID that n, which was found to be m's node, is to be given; empty:
// none. Nobody can take it back. So n reports, shows no other, and has what the
// infrastructure says of the machine's own instance: what was recorded, or a mark, may be
// of an instance that is no more.
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

// resides reports whether n has the name that is foretold for i, or one of i's addresses and
// no foretold name. Names among the addresses may be those that many hosts were inspected under.
func resides(n *corev1.Node, i provider.Instance) bool {
	if i.NodeName != "" {
		return strings.EqualFold(n.Name, i.NodeName)
	}
	return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool {
		return a.Type == corev1.NodeInternalIP && slices.Contains(i.Addresses, a)
	})
}

// identifyAgain is when to look again whether the node is to be given its provider ID; zero:
// that is known.
func identifyAgain(q input) time.Duration {
	if !q.w.Node.Unsure {
		return 0
	}
	return max(q.p.Delays.Transient, FirstDelay)
}
