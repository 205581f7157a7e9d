package cloud

import (
	"cmp"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Chooser = &session{}

// Choices implements [provider.Chooser]: a spec has one. Where it names no zone, Nova takes any, and what it lacks it lacks everywhere.
func (s *session) Choices(provider.Ref) []provider.Choice {
	if s.bare {
		return nil
	}
	return []provider.Choice{{Name: s.plan.choice(), Region: s.region(), Zone: s.plan.zone, Type: s.plan.flavor}}
}

// choice is the name of the only one.
func (p plan) choice() string { return p.flavor + " in " + cmp.Or(p.zone, "any zone") }
