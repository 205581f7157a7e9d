package larch

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// scheme is the prefix of provider IDs, such as larch:///north/m-000001, in both APIs.
const scheme = "larch://"

var states = map[string]provider.State{
	"creating": provider.Pending, "running": provider.Running, "stopped": provider.Stopped, "deleting": provider.Stopping,
	"error": provider.Stopped, // Instance.Fault has the reason
}

// instance converts a machine of Larch. The reason of a failure is in the operation that created the machine.
func (s *session) instance(ctx context.Context, m machine) (provider.Instance, error) {
	i := provider.Instance{
		ID: m.ID, Name: m.Name, UID: m.Tags[TagUID], Owner: m.Tags[TagOwner], Namespace: m.Tags[TagNamespace],
		ProviderID: scheme + "/" + m.Zone + "/" + m.ID, NodeName: m.Name, State: states[m.State], RawState: m.State,
		Type: m.Type, Zone: m.Zone, Created: m.Created, Tags: m.Tags,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.Name}},
	}
	if m.Address != "" {
		i.Addresses = append(i.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: m.Address})
	}
	if i.State == "" {
		i.State = provider.Pending // a state that Larch added later
	}
	if m.State != "error" {
		return i, nil
	}
	var o operation
	if err := s.client.call(ctx, http.MethodGet, "operations/"+url.PathEscape(m.Operation), nil, &o); err != nil {
		return i, err
	}
	if o.Error == nil {
		o.Error = &problem{Message: "Larch gives no reason for the failure of the machine"}
	}
	i.Fault = o.Error.classify(0)
	return i, nil
}

// Traits implements [provider.Session]. The scope is the whole account, because List does not depend on the spec.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: provider.WholeAccount, ReadLag: readLag, Choices: s.choices()}
}

func (s *session) choices() (all []provider.Choice) {
	if s.spec == nil {
		return nil
	}
	for _, zone := range s.spec.Zones {
		all = append(all, provider.Choice{Name: zone, Zone: zone, Type: s.spec.Type})
	}
	return all
}

// Account implements [provider.Session].
func (s *session) Account(ctx context.Context) (string, error) { return s.client.account(ctx) }

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) []string {
	if s.spec == nil || i.Type == s.spec.Type {
		return nil
	}
	return []string{fmt.Sprintf("type: the instance has %q, the spec says %q", i.Type, s.spec.Type)}
}

// An optional interface. A provider needs none of the optional interfaces.
var _ provider.LeftoverLister = &session{}

// Leftovers implements [provider.LeftoverLister]. It yields the disks without a machine.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		for d, err := range s.disks(ctx, url.Values{}) {
			if err != nil {
				yield(provider.Leftover{}, err)
				return
			}
			t := d.Tags
			l := provider.Leftover{Kind: "disk", ID: d.ID, UID: t[TagUID], Name: t[TagName], Owner: t[TagOwner], Namespace: t[TagNamespace]}
			if d.Machine == "" && !yield(l, nil) {
				return
			}
		}
	}
}
