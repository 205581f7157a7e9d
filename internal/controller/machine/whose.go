package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// errUntold says that the infrastructure cannot tell whose a node is. The cluster that
// the node is in has answered.
var errUntold = errors.New("listing instances")

// ofAnother reports whether a node that says it is the machine's is another's by its name.
func (p *pass[M]) ofAnother(ctx context.Context, n *corev1.Node) (bool, error) {
	switch {
	case p.misnamed(n):
		return true, nil
	case slices.Contains(p.hostNames(), n.Name):
		return false, nil
	case p.foretoldOtherwise(n):
		return true, nil
	}
	if another, err := p.others().have(ctx, n.Name); another || err != nil {
		return another, err
	}
	return p.isAnothers(ctx, n)
}

// contested says that an older machine has the same instance on record, while the
// infrastructure has not said whose it is: this machine may be made from a copy of that
// one's manifest, and what it has recorded leads to the other's node.
func (p *pass[M]) contested(ctx context.Context) error {
	if p.world.Instances.Looked || p.view.Recorded.ProviderID == "" {
		return nil
	}
	older, err := p.others().older(ctx)
	if err != nil || older == nil {
		return err
	}
	return fmt.Errorf("%w: machine %s/%s, which is older, has the same instance on record", errUntold, older.Namespace, older.Name)
}

// isAnothers reports whether the infrastructure lists an instance besides the machine's
// whose node has the name of n. Machines that have not recorded that name yet, and those
// of the other API, are known by nothing else. A listing that fails for the moment leaves
// it open, and so does, for a machine that has had no node yet, that nobody can ask for
// one, and that listings do not show yet all that the node may be of: that is an error and
// not an answer. Where it is denied for good nobody can ever tell, and no machine waits for
// that; but a name that is none of those that it told before is another's.
func (p *pass[M]) isAnothers(ctx context.Context, n *corev1.Node) (bool, error) {
	if p.infra.session == nil || !p.world.Instances.Looked {
		if p.view.HadNode() || p.view.Deletion.Abandon {
			return false, nil
		}
		names := p.hostNames()
		known := slices.ContainsFunc(names, func(name string) bool { return sameHost(name, n.Name) })
		return len(names) > 0 && !known, untold(cmp.Or(p.world.Session.Err, p.world.Instances.Err))
	}
	// The node may be of an instance that is newer than what listings show.
	shown := n.CreationTimestamp.Add(p.world.Unlisted.ReadLag)
	l := p.others().listed(ctx, shown)
	if err := untold(l.err); err != nil {
		return false, err
	}
	another := slices.ContainsFunc(l.instances, func(i provider.Instance) bool {
		own := i.UID == p.view.UID || slices.ContainsFunc(p.world.Instances.Owned(), func(o provider.Instance) bool { return o.ID == i.ID })
		return !own && i.Exists() && named(i, n.Name)
	})
	if !another && p.world.Unlisted.ReadLag > 0 && l.at.Before(shown) {
		return false, fmt.Errorf("%w: they run up to %v behind, and node %s is newer", errUntold, p.world.Unlisted.ReadLag, n.Name)
	}
	return another, nil
}

// shared reports whether the node, which shows no provider ID, may as well be of an
// instance besides the machine's that the infrastructure lists with its name.
func (p *pass[M]) shared(ctx context.Context, n *corev1.Node) (bool, error) {
	if n.Spec.ProviderID != "" {
		return false, nil
	}
	return p.isAnothers(ctx, n)
}

// untold is an error where err ends some time, after which it can be told whose a node
// is.
func untold(err error) error {
	if provider.KindOf(err) != provider.Transient {
		return nil
	}
	return fmt.Errorf("%w: %w", errUntold, err)
}

// misnamed reports whether the node has another name than the infrastructure foretells,
// and no provider ID that says more than its name. It is what is left of an instance
// that had the machine's address before.
func (p *pass[M]) misnamed(n *corev1.Node) bool {
	i := p.instance()
	return n.Spec.ProviderID == "" && i != nil && i.NodeName != "" && i.NodeName != n.Name
}

// foretoldOtherwise reports whether the node, which shows the provider ID of the machine's
// instance, has a name that does not come of the one foretold for that instance. The name
// may be of an instance that no listing shows any more: a node outlives its instance.
func (p *pass[M]) foretoldOtherwise(n *corev1.Node) bool {
	i := p.instance()
	return i != nil && i.NodeName != "" && p.infra.same(i.ProviderID, n.Spec.ProviderID) && !sameHost(i.NodeName, n.Name)
}

// sameHost reports whether both names are of one host, the domain and case aside.
func sameHost(a, b string) bool {
	a, aDomain, aQualified := strings.Cut(strings.ToLower(a), ".")
	b, bDomain, bQualified := strings.Cut(strings.ToLower(b), ".")
	return a == b && (aDomain == bDomain || !aQualified || !bQualified)
}

// named reports whether the node of the instance has the name.
func named(i provider.Instance, name string) bool {
	return i.NodeName == name || slices.Contains(namesIn(i.Addresses), name)
}
