package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// errOwnerUnknown says that the infrastructure cannot say whose a node is. The cluster of the node has answered.
var errOwnerUnknown = errors.New("listing instances")

// nodeOwnership decides by which fields the machine's node is known, and whether a node is the machine's.
type nodeOwnership[M client.Object] struct{ passFacts[M] }

// belongsToAnother reports whether a node that names the machine belongs to another one by its name.
func (w *nodeOwnership[M]) belongsToAnother(ctx context.Context, n *corev1.Node) (bool, error) {
	switch {
	case w.misnamed(n):
		return true, nil
	case slices.Contains(w.hostNames(), n.Name):
		return false, nil
	case w.expectedElsewhere(n):
		return true, nil
	}
	if another, err := w.otherMachines().have(ctx, n.Name); another || err != nil {
		return another, err
	}
	return w.listedForAnother(ctx, n)
}

// contested says that an older machine has recorded the same instance, while the infrastructure has not
// said whose it is: this machine may be created from a copy of the older one's manifest, and its record
// leads to the other's node.
func (w *nodeOwnership[M]) contested(ctx context.Context) error {
	if w.world.Instances.Looked || w.view.Recorded.ProviderID == "" {
		return nil
	}
	older, err := w.otherMachines().older(ctx)
	if err != nil || older == nil {
		return err
	}
	return fmt.Errorf("%w: machine %s/%s, which is older, has the same instance on record", errOwnerUnknown, older.Namespace, older.Name)
}

// listedForAnother reports whether the infrastructure lists, besides the machine's instance, one whose node has
// the name of n. Machines that have not recorded that name yet, and those of the other API, are known by
// nothing else. If a listing fails for the moment, or, for a machine that has had no node yet, the
// infrastructure cannot be asked, or listings do not show all instances of the node yet, the answer is
// open: that is an error and not an answer. If access is denied for good, the question can never be
// answered, and no machine waits for it; but a name that the infrastructure did not report before belongs
// to another machine.
func (w *nodeOwnership[M]) listedForAnother(ctx context.Context, n *corev1.Node) (bool, error) {
	if w.infra.session == nil || !w.world.Instances.Looked {
		if w.view.HadNode() || w.view.Deletion.Abandon {
			return false, nil
		}
		names := w.hostNames()
		if foretold := w.view.Recorded.NodeName; foretold != "" {
			names = append(names, foretold) // by this it is judged again as soon as the infrastructure answers
		}
		known := slices.ContainsFunc(names, func(name string) bool { return sameHost(name, n.Name) })
		return len(names) > 0 && !known, temporary(cmp.Or(w.world.Session.Err, w.world.Instances.Err))
	}
	// The node may be of an instance that is newer than what listings show.
	lag := w.infra.traits().ReadLag
	shown := n.CreationTimestamp.Add(lag)
	l := w.otherMachines().listed(ctx, shown)
	if err := temporary(l.err); err != nil {
		return false, err
	}
	another := slices.ContainsFunc(l.instances, func(i provider.Instance) bool {
		own := i.UID == w.view.UID || slices.ContainsFunc(w.world.Instances.Owned(), func(o provider.Instance) bool { return o.ID == i.ID })
		return !own && i.Exists() && named(i, n.Name)
	})
	if !another && lag > 0 && l.at.Before(shown) {
		err := provider.Errorf(provider.Transient, "%w: they run up to %v behind, and node %s is newer", errOwnerUnknown, lag, n.Name)
		err.After = shown.Sub(w.Clock.Now())
		return false, err
	}
	return another, nil
}

// shared reports whether the node, which shows no provider ID, may equally belong to another listed
// instance with its name.
func (w *nodeOwnership[M]) shared(ctx context.Context, n *corev1.Node) (bool, error) {
	if n.Spec.ProviderID != "" {
		return false, nil
	}
	return w.listedForAnother(ctx, n)
}

// temporary returns err, as an [errOwnerUnknown], if it is temporary: after it, the infrastructure can say whose
// a node is.
func temporary(err error) error {
	if provider.KindOf(err) != provider.Transient {
		return nil
	}
	return fmt.Errorf("%w: %w", errOwnerUnknown, err)
}

// misnamed reports whether the node has another name than the infrastructure foretells, and no provider ID
// that says more than its name. It is the remainder of an instance that had the machine's address before.
func (w *nodeOwnership[M]) misnamed(n *corev1.Node) bool {
	i := w.instance()
	return n.Spec.ProviderID == "" && i != nil && i.NodeName != "" && i.NodeName != n.Name
}

// expectedElsewhere reports whether the node, which shows the provider ID of the machine's instance, has a
// name that does not match the one foretold for that instance. The name may belong to an instance that no
// listing shows any more: a node outlives its instance.
func (w *nodeOwnership[M]) expectedElsewhere(n *corev1.Node) bool {
	i := w.instance()
	return i != nil && i.NodeName != "" && w.infra.same(i.ProviderID, n.Spec.ProviderID) && !sameHost(i.NodeName, n.Name)
}

// sameHost reports whether both names belong to one host, ignoring the domain and case.
func sameHost(a, b string) bool {
	a, aDomain, aQualified := strings.Cut(strings.ToLower(a), ".")
	b, bDomain, bQualified := strings.Cut(strings.ToLower(b), ".")
	return a == b && (aDomain == bDomain || !aQualified || !bQualified)
}

// named reports whether the node of the instance has the name.
func named(i provider.Instance, name string) bool {
	return i.NodeName == name || slices.Contains(namesIn(i.Addresses), name)
}
