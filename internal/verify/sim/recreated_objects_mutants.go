package sim

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// recreationSetting makes worlds in which machines are recreated often.
func recreationSetting(c *profile) {
	troubled(func(t *troubles) { t.recreates = true })(c)
	c.percent, c.cloud.Lag, c.trouble = [allFaults]int{}, 0, 20
}

// recreationMutants are defects that show only if the instances of machines carry another UID. The guards against empty
// answers of a cloud prevent that this defect loses an instance.
func recreationMutants() []Mutation {
	return []Mutation{{
		Name: "an instance is known by its UID alone", Setting: recreationSetting,
		Finds: []string{judge.Converges, judge.LeavesNothing},
		Provider: func(p provider.Provider, _ client.Client) provider.Provider {
			return brokenProvider{p, func(s *brokenSession) {
				s.find = func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					all, err := s.Session.Find(ctx, ref)
					return slices.DeleteFunc(all, func(i provider.Instance) bool { return i.UID != ref.UID }), err
				}
			}}
		},
	}}
}
