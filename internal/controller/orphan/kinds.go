package orphan

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// Kind is the machines of one API group.
type Kind interface {
	// API is the group.
	API() string
	// Classes are those from which machines of this kind are created, or were created, from a cache.
	Classes(ctx context.Context) ([]Class, error)
	// Machines are all machines of this kind, from the API server.
	Machines(ctx context.Context) ([]Seen, error)
	// Having are the cached machines of this kind that may have the node.
	Having(ctx context.Context, n *corev1.Node) ([]client.Object, error)
	// Object is an empty machine, NodesOf the nodes that a machine may have.
	Object() client.Object
	NodesOf(o client.Object) []string
}

// Class is the class from which machines are created.
type Class struct {
	provider.Class
	// Anchor is the object from which it was read; events are recorded there.
	Anchor client.Object
	// Machine is the UID of the machine for which it was read; empty if it was read from a template.
	Machine string
	// Untagged is [Machines].Untagged.
	Untagged bool
	// Err says why it cannot be used.
	Err error
}

// Seen is a machine of the API server.
type Seen struct {
	orphan.Machine
	// NodeName is the recorded node, Ref names the object in events.
	NodeName string
	Ref      corev1.ObjectReference
	// API is its group. Cached says that a cache has machines of its kind.
	API    string
	Cached bool
}

// Machines implements [Kind] for the machines of a lens.
type Machines[M client.Object] struct {
	Lens dialect.Machines[M]
	// Resolver reads classes and templates from the cache; may be nil.
	Resolver dialect.Resolver[M]
	// GVK is the kind's name in the API server.
	GVK schema.GroupVersionKind
	// Cache reads machines, with the index of the machine controller; nil if the process does not serve the
	// API. Then it is no error if the API does not exist.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Untagged says that, in the clusters of this API, an instance without a machine's UID was created by
	// another implementation for a machine, and not by a user.
	Untagged bool
	// Namespace of the machines; empty is all.
	Namespace string
}

var _ Kind = Machines[client.Object]{}

// API implements [Kind].
func (k Machines[M]) API() string { return k.Lens.API() }

// Object implements [Kind].
func (k Machines[M]) Object() client.Object { return k.Lens.New() }

// Classes implements [Kind]: those of templates come first, so that events are recorded on templates.
func (k Machines[M]) Classes(ctx context.Context) ([]Class, error) {
	if k.Cache == nil {
		return nil, nil
	}
	templates, err := k.Resolver.Templates(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the templates of %s: %w", k.Lens.API(), err)
	}
	once := k.Resolver.Once()
	var out []Class
	for _, t := range templates {
		c, err := once.Class(ctx, t.Machine)
		out = append(out, Class{Class: c.Class, Anchor: t.Anchor, Untagged: k.Untagged, Err: err})
	}
	list := k.Lens.NewList()
	if err := k.Cache.List(ctx, list, client.InNamespace(k.Namespace)); err != nil {
		return nil, fmt.Errorf("list the machines of %s: %w", k.Lens.API(), err)
	}
	for m := range dialect.Items[M](list) {
		c, err := once.Class(ctx, m)
		out = append(out, Class{Class: c.Class, Anchor: m, Machine: string(m.GetUID()), Untagged: k.Untagged, Err: err})
	}
	return out, nil
}

// pageSize is how many machines one request reads from the API server.
const pageSize = 500

// Machines implements [Kind]. A listing that ends early is an error: a machine
// that is not among those returned does not exist.
func (k Machines[M]) Machines(ctx context.Context) (out []Seen, err error) {
	for next := ""; ; {
		list := k.Lens.NewList()
		err := k.Live.List(ctx, list, client.InNamespace(k.Namespace), client.Limit(pageSize), client.Continue(next))
		if k.Cache == nil && meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the machines of %s past the cache: %w", k.Lens.API(), err)
		}
		for m := range dialect.Items[M](list) {
			out = append(out, k.seen(m))
		}
		if next = list.GetContinue(); next == "" {
			return out, nil
		}
	}
}

func (k Machines[M]) seen(m M) Seen {
	v := k.Lens.View(m)
	s := Seen{NodeName: v.Recorded.NodeName, API: k.API(), Cached: k.Cache != nil, Machine: orphan.Machine{
		UID: v.UID, Namespace: v.Namespace, Name: v.Name, ProviderID: v.Recorded.ProviderID,
		Early: early(v), Deleting: !v.Deleted.IsZero(),
	}}
	s.Ref = corev1.ObjectReference{Namespace: v.Namespace, Name: v.Name, UID: types.UID(v.UID)}
	s.Ref.APIVersion, s.Ref.Kind = k.GVK.ToAPIVersionAndKind()
	return s
}

// early reports whether an instance may be created for the machine at any moment.
func early(v lifecycle.Machine) bool {
	switch v.Stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing:
		return true
	}
	return false
}

// Having implements [Kind].
func (k Machines[M]) Having(ctx context.Context, n *corev1.Node) (out []client.Object, err error) {
	if k.Cache == nil {
		return nil, nil
	}
	keys := []string{index.NodeNameKey(n.Name)}
	if key := index.ProviderIDKey(n.Spec.ProviderID); key != "" {
		keys = append(keys, key)
	}
	for _, key := range keys {
		list := k.Lens.NewList()
		if err := k.Cache.List(ctx, list, client.MatchingFields{index.Node: key}); err != nil {
			return nil, fmt.Errorf("look for the machine of node %s: %w", n.Name, err)
		}
		for m := range dialect.Items[M](list) {
			if !differ(k.Lens.View(m).Recorded.ProviderID, n.Spec.ProviderID) {
				out = append(out, m)
			}
		}
		if len(out) > 0 {
			break // changes of the machines with its name wake the node
		}
	}
	return out, nil
}

// NodesOf implements [Kind].
func (k Machines[M]) NodesOf(o client.Object) []string {
	m, ok := o.(M)
	if !ok {
		return nil
	}
	if name := k.Lens.View(m).Recorded.NodeName; name != "" {
		return []string{name}
	}
	return nil
}

// has reports whether the machine may have the node: one of them names the other, and they do not name
// different instances. The node of a lost machine may have the name of a newer machine: that machine names
// the node too, and has its own node.
func (s Seen) has(n *corev1.Node) bool {
	switch {
	case differ(s.ProviderID, n.Spec.ProviderID):
		return false
	case s.ProviderID != "" && n.Spec.ProviderID != "": // one instance, maybe in two spellings
		return true
	case s.NodeName != "":
		return s.NodeName == n.Name
	}
	return n.Annotations[node.MachineAnnotation] == s.Namespace+"/"+s.Name || n.Labels[node.MachineNameLabel] == s.Name
}

// differ reports whether two provider IDs name different instances, in any spelling: all spellings end in
// the infrastructure's own identifier.
func differ(a, b string) bool {
	return a != "" && b != "" && provider.Tail(a) != provider.Tail(b)
}
