package machine

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// hostNames are the names of the machine's own instance, now and as recorded.
func (w *nodeOwnership[M]) hostNames() []string {
	all := w.view.Recorded.Addresses
	if i := w.instance(); i != nil {
		all = slices.Concat(all, i.Addresses)
	}
	return namesIn(all)
}

// namesIn are the names of a host among its addresses.
func namesIn(all []corev1.NodeAddress) (out []string) {
	for _, a := range all {
		if a.Type == corev1.NodeInternalDNS || a.Type == corev1.NodeHostName {
			out = append(out, a.Address)
		}
	}
	return out
}

// drains reports whether the machine's deletion may still have to find pods, or to wait for its node's
// report: the instance exists, or did, and its removal was not requested yet.
func (w *nodeOwnership[M]) drains() bool {
	if w.view.Deleted.IsZero() || w.world.Instances.SeenToGo {
		return false
	}
	i := w.instance()
	return i == nil && w.world.Instances.Looked && w.view.Recorded.Provisioned || i != nil && i.State != provider.Stopping
}

func (w *nodeOwnership[M]) query(ctx context.Context) node.Query {
	q := node.Query{
		Name: w.view.Recorded.NodeName, ProviderID: w.view.Recorded.ProviderID, MachineKey: w.view.Namespace + "/" + w.view.Name,
		Mark: node.MarkOf(w.want()), Created: w.view.Created,
		// If a cache does not show the node yet, that must not skip the drain, nor end the node's requests.
		Sure:        !w.view.Deleted.IsZero() || w.view.Preservation != (lifecycle.Preservation{}),
		Instance:    w.instance() != nil,
		Search:      w.drains(),
		InternalIPs: internalIPs(w.view.Recorded.Addresses),
		Same:        w.infra.same,
		Another:     func(n *corev1.Node) (bool, error) { return w.belongsToAnother(ctx, n) },
	}
	if i := w.instance(); i != nil {
		q = completed(q, *i)
		if i.ProviderID != "" && !w.world.Instances.Substitute {
			q.ProviderID = i.ProviderID // the API's own spelling, whatever was recorded
		}
	}
	return q
}

func completed(q node.Query, i provider.Instance) node.Query {
	if q.Name == "" {
		q.Name = i.NodeName
	}
	if q.ProviderID == "" {
		q.ProviderID = i.ProviderID
	}
	if len(q.InternalIPs) == 0 {
		q.InternalIPs = internalIPs(i.Addresses)
	}
	return q
}

func internalIPs(addresses []corev1.NodeAddress) (out []string) {
	for _, a := range addresses {
		if a.Type == corev1.NodeInternalIP {
			out = append(out, a.Address)
		}
	}
	return out
}
