package machineset

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/controller/written"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// observe lists the set's machines and those that nobody controls, and settles
// which of them are the set's. What is listed is shared with the cache and
// must not be changed.
func (p *pass[S]) observe(ctx context.Context) error {
	owned, err := p.listCached(ctx, string(p.set.UID))
	if err != nil {
		return err
	}
	free, err := p.listCached(ctx, index.NoOwner)
	if err != nil {
		return err
	}
	p.owned = owned
	p.awaited.Observe(owned)
	p.ledger.Observe(owned)
	if p.machines, err = p.claim(ctx, slices.Concat(owned, free)); err != nil {
		return err
	}
	return p.view(ctx)
}

func (p *pass[S]) listCached(ctx context.Context, owner string) ([]client.Object, error) {
	list := p.lens.Traits().Machines()
	err := p.Client.List(ctx, list, client.InNamespace(p.set.Namespace),
		client.MatchingFields{index.Owner: owner}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list machines by owner: %w", err)
	}
	return items(list)
}

// observeLive replaces what was observed by what the API server says now.
func (p *pass[S]) observeLive(ctx context.Context) error {
	list := p.lens.Traits().Machines()
	opts := []client.ListOption{client.InNamespace(p.set.Namespace)}
	if !p.set.Deleting {
		opts = append(opts, client.MatchingLabelsSelector{Selector: p.selector})
	}
	if err := p.Live.List(ctx, list, opts...); err != nil {
		return fmt.Errorf("list machines live: %w", err)
	}
	all, err := items(list)
	if err != nil {
		return err
	}
	p.machines, p.live = p.only(all), true
	p.awaited.Live(p.now, p.machines, p.only(p.owned))
	p.ledger.Live(p.machines)
	if p.set.Deleting && slices.ContainsFunc(p.machines, p.unshown) {
		p.again(written.Patience)
	}
	return p.view(ctx)
}

// unshown reports whether the cache does not show the machine: nothing tells then when it
// goes.
func (p *pass[S]) unshown(m client.Object) bool {
	return !slices.ContainsFunc(p.owned, func(o client.Object) bool { return o.GetUID() == m.GetUID() })
}

// only leaves out what is not the set's.
func (p *pass[S]) only(all []client.Object) (out []client.Object) {
	for _, m := range all {
		if replicas.Claim(p.tie(m)) == replicas.IsMember {
			out = append(out, m)
		}
	}
	return out
}

// view projects the machines.
func (p *pass[S]) view(ctx context.Context) error {
	nodes, err := p.nodes(ctx)
	if err != nil {
		return err
	}
	p.members = make([]replicas.Member, 0, len(p.machines))
	for _, m := range p.machines {
		member := p.lens.Member(p.object, m, nodes)
		left := p.ledger.DeletionPending(p.now, member.UID)
		member.PendingDeletion = left > 0
		p.again(left)
		p.spare(&member)
		p.members = append(p.members, member)
	}
	return nil
}

// spare keeps a member on whose preservation ended unseen: it may have recovered,
// and sight has to be back for a while before that would show.
func (p *pass[S]) spare(m *replicas.Member) {
	if until := m.Preservation.Until; !until.IsZero() && !p.now.Before(until) && !p.seen.Past(until, p.now) {
		m.Preservation.Until = p.now.Add(connectivity.Settle)
		p.again(connectivity.Settle)
	}
}

// nodes reads all nodes at once: from a cache that costs a pointer per node.
func (p *pass[S]) nodes(ctx context.Context) (dialect.Nodes, error) {
	none := func(string) *corev1.Node { return nil }
	if p.Nodes == nil || p.nodeReader == nil || len(p.machines) == 0 {
		return none, nil
	}
	var list corev1.NodeList
	if err := p.Nodes.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	byName := make(map[string]*corev1.Node, len(list.Items))
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return func(name string) *corev1.Node { return byName[name] }, nil
}

func items(list client.ObjectList) ([]client.Object, error) {
	var out []client.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, o.(client.Object))
		return nil
	})
	return out, err
}
