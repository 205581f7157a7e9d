package cloud

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// session implements [provider.Session] and optional interfaces of sessions.
type session struct {
	provider.Base
	provider *Provider
	scope
}

// errand is one call of a session, with what it is made through.
type errand struct {
	*session
	c *kubeapi.Client
}

var _ provider.Session = &session{}

// Account implements [provider.Session]: the UID of the namespace that a kubeconfig leads to, or of kube-system in the cluster of the
// machines. No other namespace of any cluster has it. A list of a namespace that is not there is empty, so that nothing found there says
// nothing.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	account, err := c.UIDOf(ctx, cmp.Or(c.Namespace, "kube-system"))
	return account, s.observe(err)
}

// Traits implements [provider.Session]. A spec chooses among free hosts alone, so that it does not narrow what is listed. No cloud
// controller manager knows hosts: the original writes on nodes itself which they are.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: provider.WholeAccount, Choices: s.choices(), RebootsOnce: true, IdentifiesNodes: true}
}

// choices returns the spec's only choice: capacity is counted by its hosts.
func (s *session) choices() []provider.Choice {
	if s.spec == nil {
		return nil
	}
	return []provider.Choice{{Name: s.choice(), Type: s.choice()}}
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	found, err := errand{s, c}.find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("look for hosts of %s: %w", ref.Name, s.observe(err))
	}
	out := make([]provider.Instance, 0, len(found))
	for _, h := range found {
		out = append(out, instance(h))
	}
	return out, nil
}

// find is what may be ref's: by UID, by provider ID, and by the name that the original has written.
func (e errand) find(ctx context.Context, ref provider.Ref) (found []*host, err error) {
	if ref.UID != "" {
		if found, err = e.ofUID(ctx, ref); err != nil {
			return nil, err
		}
	}
	known := func(h *host) bool {
		return slices.ContainsFunc(found, func(o *host) bool { return o.UID == h.UID })
	}
	if p, ok := identified(ref.ProviderID); ok && p.namespace == e.of(ref) && !slices.ContainsFunc(found, p.is) {
		h, err := hosts.Get(ctx, e.c, p.namespace, p.name)
		if err != nil {
			return nil, err
		}
		if h != nil && p.is(h) && e.owns(h) {
			found = append(found, h)
		}
	}
	if !e.here {
		return found, nil // the original has hosts in its own cluster only
	}
	for h, err := range hosts.List(ctx, e.c, e.of(ref), "!"+kubeapi.LabelCluster) {
		if err != nil {
			return nil, err
		}
		if e.took(h, ref) && !known(h) {
			found = append(found, h)
		}
	}
	return found, nil
}

// took reports whether the original has taken a host for ref.
func (s scope) took(h *host, ref provider.Ref) bool {
	_, marked := h.Labels[kubeapi.LabelCluster]
	return !marked && s.owns(h) && h.Spec.ConsumerRef.Name == ref.Name && h.Spec.ConsumerRef.Namespace == ref.Namespace
}

// ofUID are the hosts of the cluster that carry ref's UID.
func (e errand) ofUID(ctx context.Context, ref provider.Ref) (found []*host, err error) {
	for h, err := range hosts.List(ctx, e.c, e.of(ref), kubeapi.LabelUID+"="+kubeapi.LabelValue(ref.UID)) {
		if err != nil {
			return nil, err
		}
		if e.owns(h) {
			found = append(found, h)
		}
	}
	return found, nil
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		e := errand{s, c}
		for h, err := range hosts.List(ctx, c, e.listed(), "") {
			if err != nil {
				yield(provider.Instance{}, fmt.Errorf("list hosts: %w", s.observe(err)))
				return
			}
			if e.owns(h) && !yield(instance(h), nil) {
				return
			}
		}
	}
}
