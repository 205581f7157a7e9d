package cloud

import (
	"cmp"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Chooser = &session{}

// Choices implements [provider.Chooser]: a spec has one. Where it names no zone, Nova takes any, and what it lacks it lacks everywhere.
func (s scope) Choices(provider.Ref) []provider.Choice {
	if s.bare {
		return nil
	}
	return []provider.Choice{s.choice()}
}

func (s scope) choice() provider.Choice {
	return provider.Choice{
		Name: s.plan.flavor + " in " + cmp.Or(s.plan.zone, "any zone"), Region: s.region(), Zone: s.plan.zone, Type: s.plan.flavor,
	}
}
