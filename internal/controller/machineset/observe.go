package machineset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// observation has the machines of a set, as they were read and then written.
type observation[S client.Object] struct {
	*scope[S]
	// owned are the machines that the cache lists as the set's, machines those of them that count as its
	// own, members the same as facts.
	owned    []client.Object
	machines []client.Object
	members  []replicas.Member
	// live says that the API server itself listed the machines.
	live bool
}

// observe lists the set's machines and those without a controller, and settles which of them are the set's.
// The listed objects are shared with the cache and must not be changed.
func (r *observation[S]) observe(ctx context.Context) error {
	owned, err := r.listCached(ctx, string(r.set.UID))
	if err != nil {
		return err
	}
	free, err := r.listCached(ctx, index.NoOwner)
	if err != nil {
		return err
	}
	r.owned = owned
	r.awaited.Observe(owned)
	r.expectations.Observe(owned)
	if r.machines, err = r.claim(ctx, slices.Concat(owned, free)); err != nil {
		return err
	}
	return r.view(ctx)
}

// observeLive replaces the observed machines by those of the API server.
func (r *observation[S]) observeLive(ctx context.Context) error {
	list := r.lens.Traits().Machines()
	opts := []client.ListOption{client.InNamespace(r.set.Namespace)}
	if !r.set.Deleting {
		opts = append(opts, client.MatchingLabelsSelector{Selector: r.selector})
	}
	if err := r.Live.List(ctx, list, opts...); err != nil {
		return fmt.Errorf("list machines live: %w", err)
	}
	all, err := items(list)
	if err != nil {
		return err
	}
	r.machines, r.live = r.only(all), true
	r.awaited.Live(r.now, r.machines, r.only(r.owned))
	r.expectations.Live(r.machines)
	if r.unsettled() > 0 {
		r.expectations.Distrust()
	}
	if r.set.Deleting && slices.ContainsFunc(r.machines, r.unshown) {
		r.again(readyourwrites.Patience)
	}
	return r.view(ctx)
}

// unsettled returns how long machines may still appear whose creation an earlier process has requested. Their
// names are unknown, so a machine that this process created instead would be one too many.
func (s *scope[S]) unsettled() time.Duration {
	settled := s.Settled(s.now)
	if !s.object.GetCreationTimestamp().Time.Before(settled) {
		return 0 // no earlier process has seen the set
	}
	return settled.Sub(s.now)
}

// sure reports whether the number of machines is known well enough to create more: nothing is awaited, or
// the API server has listed them. A freeze does not wait for that, because it does no harm.
func (r *observation[S]) sure(ctx context.Context) (bool, error) {
	switch overdue, left := r.awaited.Overdue(r.now); {
	case r.live, r.expectations.Trusted() && r.awaited.Satisfied():
		return true, nil
	case r.expectations.Trusted() && !overdue:
		r.again(left)
		return false, nil
	}
	return true, r.observeLive(ctx)
}

// unshown reports whether the cache does not show the machine: then no event reports its deletion.
func (r *observation[S]) unshown(m client.Object) bool {
	return !slices.ContainsFunc(r.owned, func(o client.Object) bool { return o.GetUID() == m.GetUID() })
}

// only keeps the set's machines.
func (r *observation[S]) only(all []client.Object) (out []client.Object) {
	for _, m := range all {
		if replicas.Claim(r.tie(m)) == replicas.IsMember {
			out = append(out, m)
		}
	}
	return out
}

// view returns the machines as facts.
func (r *observation[S]) view(ctx context.Context) error {
	var failed error
	nodes := func(name string) *corev1.Node {
		n, err := r.node(ctx, name)
		failed = errors.Join(failed, err)
		return n
	}
	r.members = make([]replicas.Member, 0, len(r.machines))
	for _, m := range r.machines {
		member := r.lens.Member(r.object, m, nodes)
		if failed != nil {
			return failed
		}
		left := r.expectations.DeletionPending(r.now, member.UID)
		member.PendingDeletion = left > 0
		r.again(left)
		r.spare(&member)
		r.members = append(r.members, member)
	}
	return nil
}

// spare keeps a member whose preservation ended while nodes could not be seen: it may have recovered, and
// that shows only some time after sight is back.
func (r *observation[S]) spare(m *replicas.Member) {
	if until := m.Preservation.Until; !until.IsZero() && !r.now.Before(until) && !r.seen.Past(until, r.now) {
		m.Preservation.Until = r.now.Add(connectivity.Settle)
		r.again(connectivity.Settle)
	}
}

// node reads one node; nil if it does not exist, or if machines report their readiness themselves.
func (r *observation[S]) node(ctx context.Context, name string) (*corev1.Node, error) {
	if r.Nodes == nil || r.nodeReader == nil || name == "" {
		return nil, nil
	}
	n := &corev1.Node{}
	err := r.Nodes.Get(ctx, client.ObjectKey{Name: name}, n, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	return n, nil
}

func items(list client.ObjectList) ([]client.Object, error) {
	var out []client.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, o.(client.Object))
		return nil
	})
	return out, err
}
