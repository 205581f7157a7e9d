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

// The marks by which nodes name their machine: an annotation that holds the
// machine's "namespace/name", a label that holds its name.
const (
	MachineAnnotation = "machine.openshift.io/machine"
	MachineNameLabel  = "node.gardener.cloud/machine-name"
)

// Query is what is known about the node of a machine.
type Query struct {
	// Name is the node name recorded for the machine or foretold by the
	// infrastructure; ProviderID the machine's. Empty when unknown.
	Name, ProviderID string
	InternalIPs      []string
	// MachineKey is the machine's "namespace/name".
	MachineKey string
	// Mark is the key under which nodes name machines of its API, [MachineAnnotation]
	// or [MachineNameLabel]; empty: either. Machines of two APIs may share a name.
	Mark string
	// Instance says that the machine has one. A machine that has none, and has
	// never recorded one, has no node that shows a provider ID.
	Instance bool
	// Created is when the machine was; zero when unknown.
	Created time.Time
	// Same reports whether two provider IDs name one instance; nil: when they
	// are equal but for case.
	Same func(a, b string) bool
	// Another reports whether the node is another machine's by its name; nil: none is.
	// An error says that it cannot be told, which is an error of the search.
	Another func(*corev1.Node) (bool, error)
	// Sure asks the API server for the node of the given name before it
	// believes a cache that there is none; where no name is given, Search reads all
	// nodes from it, 500 at a time, for the provider ID or an internal IP.
	Sure, Search bool
}

// Find returns the machine's node; nil without an error when there is none.
//
// It looks by the name recorded, then by provider ID, then by internal IP, then
// for a node that was marked as the machine's before anything of it could be
// recorded there. A
// node that is marked as another machine's is never returned, nor one that shows no
// provider ID and is marked as a machine's of another API, nor one that has the
// name of another's and is found by what it says of itself: a kubelet writes its
// provider ID, addresses and marks, but its name is in its certificate. One found by
// name or address is not returned either when it shows another instance's
// provider ID: it is what is left of an instance that had the name or the
// address before. Of several nodes with the same provider ID, addresses or mark,
// those that are older than the machine are passed over: kubelets write all of
// that about themselves, but not since when their node has been there. Where that
// leaves several, or none, they are an error.
//
// Only the API server's (or cache's) positive "not found" counts as none.
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

// AnotherMachine is what [Query.Taken] says of a node that another machine has.
const AnotherMachine = "another machine"

// Taken says whose the node of the recorded name is where that is not the
// machine's: [AnotherMachine] or "instance <provider ID>". Empty when it is, or
// when there is none. It returns that node, too, as r has it: [Cluster].Client or
// [Cluster].Live.
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

// Surely finds the machine's node as the API server has it now: by the name given,
// else among all nodes, by provider ID or internal IP.
func (c *Cluster) Surely(ctx context.Context, q Query) (*corev1.Node, error) {
	if c == nil {
		return nil, nil
	}
	if n, err := c.Named(ctx, q); n != nil || err != nil {
		return n, err
	}
	return c.search(ctx, q)
}

// search looks through all nodes that the API server has: one may have joined
// since the cache has stopped.
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

// ShownElsewhere reports whether a node besides n shows the provider ID, as r has it.
func (q Query) ShownElsewhere(ctx context.Context, r client.Reader, n *corev1.Node, id string) (bool, error) {
	var list corev1.NodeList
	if err := r.List(ctx, &list, client.MatchingFields{ProviderIDIndex: provider.Tail(id)}); err != nil {
		return false, fmt.Errorf("listing nodes with provider ID %s: %w", id, err)
	}
	return slices.ContainsFunc(list.Items, func(o corev1.Node) bool { return o.Name != n.Name && q.same(id, o.Spec.ProviderID) }), nil
}

// fits reports whether the node shows the machine's provider ID, or, showing none,
// one of its addresses.
func (q Query) fits(n *corev1.Node) bool {
	if n.Spec.ProviderID != "" {
		return q.ProviderID != "" && q.same(q.ProviderID, n.Spec.ProviderID)
	}
	return slices.ContainsFunc(internalIPs(n), func(ip string) bool { return slices.Contains(q.InternalIPs, ip) })
}

// Named returns the node of the name q.Name, as the API server has it now, if it
// is the machine's; nil without an error when it is not, or is not there.
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

// Read returns the node of the name; nil without an error when there is none, or no name.
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

// only returns the one node that the index holds under any of the values, of those that
// have what says.
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

// one returns the only node that was found.
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

// clockSkew is by how far the clocks of two API servers may differ.
const clockSkew = time.Minute

// joinedSince are, of several nodes, those that were not there before the machine
// was; all where none is: a machine may be declared for an instance that runs.
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

// Only is the one of several nodes that all show the same of the machine: where there are
// several, the one that is not older than the machine. It is nil without nodes, and an error
// that names them where that leaves several. What says what they show.
func (q Query) Only(nodes []corev1.Node, what string) (*corev1.Node, error) {
	return one(q.joinedSince(nodes), what)
}

// Anothers reports whether the node, as it was read since it was found, is not the
// machine's.
func (q Query) Anothers(n *corev1.Node) bool { return n != nil && q.anothers(n) != "" }

// anothers says whose the node is where it is not the machine's, as
// [Query.Taken] does.
func (q Query) anothers(n *corev1.Node) string {
	switch {
	case q.otherInstance(n):
		return "instance " + n.Spec.ProviderID
	case q.others(n), q.otherAPIs(n):
		return AnotherMachine
	}
	return ""
}

// add adds to those found a node that says it is the machine's, if it can be.
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

// otherAPIs reports whether the node is marked as that of a machine of another API, and
// as none of this one's. A provider ID says more than that: where it is the machine's,
// the machine was declared in the other API before.
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

// otherInstance reports whether the node shows another instance's provider ID,
// which any is to a machine that never had one, whatever mark or name they share:
// a namesake was there before.
// Infrastructures, clouds and API groups do not agree on how to write one: on
// case (Azure), on region or zone (AWS), on slashes (GCP).
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
