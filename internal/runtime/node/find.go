package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// The marks by which nodes name their machine: an annotation with the machine's "namespace/name", a label
// with its name.
const (
	MachineAnnotation = "machine.openshift.io/machine"
	MachineNameLabel  = "node.gardener.cloud/machine-name"
)

// Query has the known facts about the node of a machine.
type Query struct {
	// Name is the node name that is recorded for the machine or predicted by the infrastructure; ProviderID
	// is the machine's. Empty if unknown.
	Name, ProviderID string
	InternalIPs      []string
	// MachineKey is the machine's "namespace/name".
	MachineKey string
	// Mark is the key under which nodes name machines of its API, [MachineAnnotation] or [MachineNameLabel];
	// empty: either. Machines of two APIs may have the same name.
	Mark string
	// Instance says that the machine has an instance. A machine that has none, and has never recorded one,
	// has no node with a provider ID.
	Instance bool
	// Created is when the machine was created; zero if unknown.
	Created time.Time
	// Same reports whether two provider IDs name one instance; nil: if they are equal ignoring case.
	Same func(a, b string) bool
	// Another reports whether the node belongs to another machine by its name; nil: none does. If it fails,
	// the search fails.
	Another func(*corev1.Node) (bool, error)
	// Sure reads the node of the given name from the API server before a missing node counts; without a name,
	// Search reads all nodes from it, 500 at a time, for the provider ID or an internal IP.
	Sure, Search bool
}

// Find returns the machine's node; nil without an error if there is no such node.
//
// It looks by the recorded name, then by provider ID, then by internal IP, then for a node that was marked as
// the machine's before any of this could be recorded on the machine. It never returns a node that is marked
// as another machine's, nor one without a provider ID that is marked as a machine's of another API, nor one
// that has the name of another machine's node and is found by its own data: a kubelet writes its provider ID,
// addresses and marks, but its name is in its certificate. A node found by name or address is not returned
// either if it has another instance's provider ID: it is left over from an instance that had the name or the
// address before. Of several nodes with the same provider ID, addresses or mark, those that are older than
// the machine are skipped: kubelets write all of that about themselves, but not the creation time of their
// node. If that leaves several nodes, or none, Find fails.
//
// Only a positive "not found" of the API server (or cache) counts as no node.
func (c *Cluster) Find(ctx context.Context, q Query) (*corev1.Node, error) {
	if c == nil {
		return nil, nil
	}
	for _, look := range []func(context.Context, Query) (*corev1.Node, error){c.byName, c.byProviderID, c.byInternalIP, c.byMark, c.surely} {
		if n, err := look(ctx, q); n != nil || err != nil {
			return n, err
		}
	}
	return nil, nil
}

// AnotherMachine is the result of [Query.Taken] for another machine's node.
const AnotherMachine = "another machine"

// Taken returns the owner of the node with the recorded name if that is not the machine: [AnotherMachine] or
// "instance <provider ID>". Empty if it is the machine, or if the node does not exist. It also returns that
// node, as read from r: [Cluster].Client or [Cluster].Live.
func (q Query) Taken(ctx context.Context, r client.Reader) (*corev1.Node, string, error) {
	n, err := Read(ctx, r, q.Name)
	if n == nil || err != nil {
		return nil, "", err
	}
	if whose := q.anothers(n); whose != "" {
		return n, whose, nil
	}
	return nil, "", nil
}

func (c *Cluster) byName(ctx context.Context, q Query) (*corev1.Node, error) {
	return named(ctx, c.Client, q)
}

func (c *Cluster) surely(ctx context.Context, q Query) (*corev1.Node, error) {
	switch {
	case q.Sure && q.Name != "":
		return c.Named(ctx, q)
	case q.Sure && q.Search:
		return c.search(ctx, q)
	}
	return nil, nil
}

// pageSize is how many nodes are read from the API server at once.
const pageSize = 500

// FindLive finds the machine's node in the current state of the API server: by the given name, otherwise among
// all nodes, by provider ID or internal IP.
func (c *Cluster) FindLive(ctx context.Context, q Query) (*corev1.Node, error) {
	if c == nil {
		return nil, nil
	}
	if n, err := c.Named(ctx, q); n != nil || err != nil {
		return n, err
	}
	return c.search(ctx, q)
}

// search looks through all nodes of the API server: one may have joined that the cache does not have yet.
func (c *Cluster) search(ctx context.Context, q Query) (*corev1.Node, error) {
	var found []corev1.Node
	var unsure error
	err := pages(ctx, c.Live, func(all []corev1.Node) {
		for _, n := range all {
			if unsure == nil && q.fits(&n) {
				found, unsure = q.add(found, n)
			}
		}
	})
	if err := cmp.Or(err, unsure); err != nil {
		return nil, err
	}
	return q.Only(found, "provider ID or internal IP "+strings.Join(append([]string{q.ProviderID}, q.InternalIPs...), " or "))
}

// ShownElsewhere reports whether a node of r other than n has the provider ID.
func (q Query) ShownElsewhere(ctx context.Context, r client.Reader, n *corev1.Node, id string) (bool, error) {
	var list corev1.NodeList
	if err := r.List(ctx, &list, client.MatchingFields{ProviderIDIndex: provider.Tail(id)}); err != nil {
		return false, fmt.Errorf("listing nodes with provider ID %s: %w", id, err)
	}
	return slices.ContainsFunc(list.Items, func(o corev1.Node) bool { return o.Name != n.Name && q.same(id, o.Spec.ProviderID) }), nil
}

// fits reports whether the node has the machine's provider ID, or, without a provider ID, one of its
// addresses.
func (q Query) fits(n *corev1.Node) bool {
	if n.Spec.ProviderID != "" {
		return q.ProviderID != "" && q.same(q.ProviderID, n.Spec.ProviderID)
	}
	return slices.ContainsFunc(internalIPs(n), func(ip string) bool { return slices.Contains(q.InternalIPs, ip) })
}

// Named returns the node with the name q.Name from the API server, if it is the machine's; nil without an
// error if it is not, or does not exist.
func (c *Cluster) Named(ctx context.Context, q Query) (*corev1.Node, error) {
	if c == nil {
		return nil, nil
	}
	return named(ctx, c.Live, q)
}

func named(ctx context.Context, r client.Reader, q Query) (*corev1.Node, error) {
	n, err := Read(ctx, r, q.Name)
	if n == nil || err != nil || q.anothers(n) != "" {
		return nil, err
	}
	return n, nil
}

// Read returns the node of the name; nil without an error if it does not exist, or without a name.
func Read(ctx context.Context, r client.Reader, name string) (*corev1.Node, error) {
	if name == "" {
		return nil, nil
	}
	var n corev1.Node
	err := r.Get(ctx, client.ObjectKey{Name: name}, &n)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting node %s: %w", name, err)
	}
	return &n, nil
}

func (c *Cluster) byProviderID(ctx context.Context, q Query) (*corev1.Node, error) {
	if q.ProviderID == "" {
		return nil, nil
	}
	return c.only(ctx, q, "provider ID "+q.ProviderID, ProviderIDIndex, []string{provider.Tail(q.ProviderID)})
}

func (c *Cluster) byInternalIP(ctx context.Context, q Query) (*corev1.Node, error) {
	return c.only(ctx, q, "internal IP "+strings.Join(q.InternalIPs, " or "), InternalIPIndex, q.InternalIPs)
}

func (c *Cluster) byMark(ctx context.Context, q Query) (*corev1.Node, error) {
	if q.MachineKey == "" {
		return nil, nil
	}
	_, name, _ := strings.Cut(q.MachineKey, "/")
	values := []string{q.MachineKey, name}
	switch q.Mark {
	case MachineAnnotation:
		values = values[:1]
	case MachineNameLabel:
		values = values[1:]
	}
	return c.only(ctx, q, "mark "+strings.Join(values, " or "), MarkIndex, values)
}

// only returns the one node that the index has under any of the values; what describes the values.
func (c *Cluster) only(ctx context.Context, q Query, what, index string, values []string) (*corev1.Node, error) {
	var found []corev1.Node
	for _, v := range values {
		var list corev1.NodeList
		if err := c.Client.List(ctx, &list, client.MatchingFields{index: v}); err != nil {
			return nil, fmt.Errorf("listing nodes with %s: %w", what, err)
		}
		for _, n := range list.Items {
			if slices.ContainsFunc(found, func(o corev1.Node) bool { return o.Name == n.Name }) {
				continue
			}
			var err error
			if found, err = q.add(found, n); err != nil {
				return nil, err
			}
		}
	}
	return q.Only(found, what)
}

// one returns the only found node.
func one(found []corev1.Node, what string) (*corev1.Node, error) {
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].Name
	}
	return nil, fmt.Errorf("expected 1 node with %s, found %d: %s", what, len(found), strings.Join(names, ", "))
}

// clockSkew is how much the clocks of two API servers may differ.
const clockSkew = time.Minute

// joinedSince returns, of several nodes, those that are not older than the machine; all if each is older: a
// machine may be declared for a running instance.
func (q Query) joinedSince(nodes []corev1.Node) []corev1.Node {
	if len(nodes) < 2 || q.Created.IsZero() {
		return nodes
	}
	since := slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool {
		return n.CreationTimestamp.Time.Before(q.Created.Add(-clockSkew))
	})
	if len(since) == 0 {
		return nodes
	}
	return since
}

// Only returns the machine's node among nodes with the same property of the machine: of several, the one that
// is not older than the machine. It is nil without nodes, and an error with their names if several are left.
// What describes the property.
func (q Query) Only(nodes []corev1.Node, what string) (*corev1.Node, error) {
	return one(q.joinedSince(nodes), what)
}

// Anothers reports whether the node, which was read again since it was found, belongs to another machine.
func (q Query) Anothers(n *corev1.Node) bool { return n != nil && q.anothers(n) != "" }

// anothers returns the owner of the node if that is not the machine, as [Query.Taken] does.
func (q Query) anothers(n *corev1.Node) string {
	switch {
	case q.otherInstance(n):
		return "instance " + n.Spec.ProviderID
	case q.others(n), q.otherAPIs(n):
		return AnotherMachine
	}
	return ""
}

// add adds a node with the machine's properties to the found ones, if it can be the machine's.
func (q Query) add(found []corev1.Node, n corev1.Node) ([]corev1.Node, error) {
	if q.anothers(&n) != "" {
		return found, nil
	}
	if q.Another != nil {
		another, err := q.Another(&n)
		if err != nil {
			return nil, fmt.Errorf("telling whose node %s is: %w", n.Name, err)
		}
		if another {
			return found, nil
		}
	}
	return append(found, n), nil
}

// others reports whether the node is marked as another machine's.
func (q Query) others(n *corev1.Node) bool {
	if q.MachineKey == "" {
		return false
	}
	if key := n.Annotations[MachineAnnotation]; key != "" && key != q.MachineKey {
		return true
	}
	_, name, _ := strings.Cut(q.MachineKey, "/")
	label := n.Labels[MachineNameLabel]
	return label != "" && label != name
}

// otherAPIs reports whether the node is marked as that of a machine of another API only. A provider ID counts
// more: if it is the machine's, the machine was declared in the other API before.
func (q Query) otherAPIs(n *corev1.Node) bool {
	annotation, label := n.Annotations[MachineAnnotation] != "", n.Labels[MachineNameLabel] != ""
	switch {
	case n.Spec.ProviderID != "":
		return false
	case q.Mark == MachineAnnotation:
		return label && !annotation
	case q.Mark == MachineNameLabel:
		return annotation && !label
	}
	return false
}

// otherInstance reports whether the node has another instance's provider ID, regardless of marks and names.
// For a machine that never had an instance any provider ID is another's: the node belonged to an earlier
// machine of the same name. Infrastructures, clouds and API groups write provider IDs in different forms:
// they differ in case (Azure), in region or zone (AWS), in slashes (GCP).
func (q Query) otherInstance(n *corev1.Node) bool {
	switch {
	case n.Spec.ProviderID == "":
		return false
	case q.ProviderID == "":
		return !q.Instance
	}
	return !q.same(q.ProviderID, n.Spec.ProviderID)
}

func (q Query) same(a, b string) bool {
	if q.Same == nil {
		return strings.EqualFold(a, b)
	}
	return q.Same(a, b)
}
