package sim

import (
	"cmp"
	"context"
	"iter"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// misdirectionMutants are defects that show only with a misdirection.
func misdirectionMutants() []Mutation {
	const often = 20
	return []Mutation{
		{
			Name: "the label decides the scope", Dialects: []string{OpenShift},
			Finds: []string{judge.OneInstance, judge.NoEarlyRelease, judge.ReadyCounts},
			Setting: func(c *profile) {
				c.scopes, c.trouble, c.percent[cloudLost] = true, often, usual[cloudLost]
			},
			Labelled: true,
		},
		{
			Name: "an empty answer of another account is believed", Finds: []string{judge.OneInstance, judge.NoEarlyRelease, judge.ReadyCounts},
			Setting: func(c *profile) { c.accounts, c.blank, c.trouble = true, false, often },
			Provider: func(p provider.Provider, _ client.Client) provider.Provider {
				return brokenProvider{p, func(s *brokenSession) { s.nameless = true }}
			},
		},
		{
			Name: "instances of other control planes are collected", Finds: []string{judge.OthersKept},
			Setting: func(c *profile) { lostMachineSetting(c); c.neighbours = true },
			Policy: func(p *orphan.Policy) {
				careless(p)
				p.Namespace = ""
			},
			Provider: func(p provider.Provider, _ client.Client) provider.Provider { return brokenProvider{p, claimAll} },
		},
	}
}

// claimAll gives all listed instances this control plane's tag.
func claimAll(s *brokenSession) {
	s.list = func(ctx context.Context) iter.Seq2[provider.Instance, error] {
		return func(yield func(provider.Instance, error) bool) {
			for i, err := range s.Session.List(ctx) {
				i.Owner, i.Namespace = owner, namespace
				if !yield(i, err) {
					return
				}
			}
		}
	}
}

// labelled is the place that a machine's labels name.
func labelled(o client.Object) (cluster, region string) {
	return cmp.Or(o.GetLabels()[openshift.ClusterLabel], clusterName), o.GetLabels()[openshift.RegionLabel]
}
