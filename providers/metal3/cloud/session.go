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

// call is one call of a session, with its client.
type call struct {
	*session
	client *kubeapi.Client
}

var _ provider.Session = &session{}

// Account implements [provider.Session]: the UID of the kubeconfig's namespace, or of kube-system in the
// cluster of the machines. It is unique among all clusters. A list in a namespace that does not exist is
// empty: without the UID, an empty list would prove nothing.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	account, err := c.UIDOf(ctx, cmp.Or(c.Namespace, "kube-system"))
	return account, s.observe(err)
}

// Traits implements [provider.Session]. The scope is the whole account, because the spec only selects among
// free hosts. No cloud controller manager knows hosts: the original provider itself sets the nodes' provider
// IDs.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: provider.WholeAccount, Choices: s.choices(), RebootsOnce: true, IdentifiesNodes: true}
}

// choices returns the spec's only choice: its capacity is the number of its hosts.
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
	found, err := call{s, c}.find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("look for hosts of %s: %w", ref.Name, s.observe(err))
	}
	out := make([]provider.Instance, 0, len(found))
	for _, h := range found {
		out = append(out, toInstance(h))
	}
	return out, nil
}

// find returns the hosts that may be ref's: by UID, by provider ID, or by the consumerRef of the original.
func (c call) find(ctx context.Context, ref provider.Ref) (found []*host, err error) {
	if ref.UID != "" {
		if found, err = c.withUID(ctx, ref); err != nil {
			return nil, err
		}
	}
	known := func(h *host) bool {
		return slices.ContainsFunc(found, func(o *host) bool { return o.UID == h.UID })
	}
	if p, ok := identified(ref.ProviderID); ok && p.namespace == c.of(ref) && !slices.ContainsFunc(found, p.is) {
		h, err := hosts.Get(ctx, c.client, p.namespace, p.name)
		if err != nil {
			return nil, err
		}
		if h != nil && p.is(h) && c.owns(h) {
			found = append(found, h)
		}
	}
	if !c.here {
		return found, nil // the original uses hosts of its own cluster only
	}
	for h, err := range hosts.List(ctx, c.client, c.of(ref), "!"+kubeapi.LabelCluster) {
		if err != nil {
			return nil, err
		}
		if c.claimedByOriginal(h, ref) && !known(h) {
			found = append(found, h)
		}
	}
	return found, nil
}

// claimedByOriginal reports whether the original provider has claimed a host for ref.
func (s scope) claimedByOriginal(h *host, ref provider.Ref) bool {
	_, marked := h.Labels[kubeapi.LabelCluster]
	return !marked && s.owns(h) && h.Spec.ConsumerRef.Name == ref.Name && h.Spec.ConsumerRef.Namespace == ref.Namespace
}

// withUID returns the cluster's hosts that have ref's UID.
func (c call) withUID(ctx context.Context, ref provider.Ref) (found []*host, err error) {
	for h, err := range hosts.List(ctx, c.client, c.of(ref), kubeapi.LabelUID+"="+kubeapi.LabelValue(ref.UID)) {
		if err != nil {
			return nil, err
		}
		if c.owns(h) {
			found = append(found, h)
		}
	}
	return found, nil
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		client, err := s.connect(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		c := call{s, client}
		for h, err := range hosts.List(ctx, client, c.listed(), "") {
			if err != nil {
				yield(provider.Instance{}, fmt.Errorf("list hosts: %w", s.observe(err)))
				return
			}
			if c.owns(h) && !yield(toInstance(h), nil) {
				return
			}
		}
	}
}
