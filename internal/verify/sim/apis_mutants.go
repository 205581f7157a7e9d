package sim

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// apiMutants are defects that show only with machines of both APIs.
func apiMutants() []Mutation {
	return []Mutation{
		{
			Name: "the collector does not know the machines of the other API", Finds: []string{judge.WantedKept}, Dialects: []string{Both},
			Setting: func(c *profile) { lostMachineSetting(c); c.together = false },
			Policy:  careless, Secluded: true,
		},
		{
			Name: "a node belongs to whatever machine has its name", Finds: []string{judge.NodesApart}, Dialects: []string{Both},
			Setting: func(c *profile) { c.wider, c.deployments, c.sets, c.singles, c.ccm = wider{}, 0, 0, 3, false },
			Client:  nameless,
		},
		{
			Name: "what an earlier version made without saying for whom is collected", Finds: []string{judge.OthersKept}, Dialects: []string{OpenShift},
			Setting:  func(c *profile) { lostMachineSetting(c); c.versions = true },
			Provider: func(p provider.Provider, _ client.Client) provider.Provider { return brokenProvider{p, claimUntagged} },
		},
	}
}

// claimUntagged gives untagged instances this control plane's tag.
func claimUntagged(s *brokenSession) {
	s.list = func(ctx context.Context) iter.Seq2[provider.Instance, error] {
		return func(yield func(provider.Instance, error) bool) {
			for i, err := range s.Session.List(ctx) {
				if i.Owner == "" {
					i.Owner, i.Namespace = owner, namespace
				}
				if !yield(i, err) {
					return
				}
			}
		}
	}
}

// nameless hides the provider IDs of nodes.
func nameless(c client.Client, live client.Reader) (client.Client, client.Reader) {
	hide := func(o client.Object) bool {
		if n, ok := o.(*corev1.Node); ok {
			n.Spec.ProviderID = ""
		}
		return false
	}
	return editing{c, hide}, live
}
