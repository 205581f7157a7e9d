package sim

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// choosy makes worlds with choices of which the first is always sold out in the given way.
func choosy(how soldOutMode) func(*profile) {
	return func(c *profile) {
		settings["choices"](c)
		c.choices, c.soldOut = 4, how
	}
}

// mishearing is a defect in the reading of the answer to a creation.
func mishearing(name string, find []string, set func(*profile), hears func(error) error) Mutation {
	m := cloudMutant(name, find, func(s *brokenSession, _ client.Client) {
		s.create = func(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
			i, err := s.Session.Create(ctx, ref, want)
			return i, hears(err)
		}
	})
	m.Setting = set
	return m
}

// rescoped changes the scope of what is sold out.
func rescoped(scope provider.Scope) func(error) error {
	return func(err error) error {
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Exhausted {
			return err
		}
		out := *e
		out.Scope = scope
		return &out
	}
}

// choosingMutants ignore a shortage, or its scope.
func choosingMutants() []Mutation {
	return []Mutation{
		mishearing("a zone that is sold out is one type", []string{judge.NotInVain}, choosy(""), rescoped(provider.ScopeType)),
		mishearing("a type that is sold out is all that there is", []string{judge.NextChoice, judge.Converges}, choosy(refuses), rescoped(provider.ScopeAccount)),
		mishearing("a lost reply is a refusal", []string{judge.OneAsked}, choosy(""), func(err error) error {
			if err != nil && provider.KindOf(err) == provider.Transient {
				return provider.Errorf(provider.Exhausted, "%w", err)
			}
			return err
		}),
		{
			Name: "what is sold out is forgotten with the pass", Finds: []string{judge.NotInVain}, Setting: choosy(refuses), Forgetful: true,
		},
	}
}
