package providertest

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// As injects faults into those capabilities of the decorated session that have a [Verb].
func (s *faultySession) As(target any) bool {
	switch t := target.(type) {
	case *provider.Initializer:
		inner, ok := provider.As[provider.Initializer](s.Session)
		*t = faultyInitializer{s.faults, inner}
		return ok
	case *provider.Maintainer:
		inner, ok := provider.As[provider.Maintainer](s.Session)
		*t = faultyMaintainer{s.faults, inner}
		return ok
	case *provider.Powerer:
		inner, ok := provider.As[provider.Powerer](s.Session)
		*t = faultyPowerer{s.faults, inner}
		return ok
	}
	return false
}

// Traits implements [provider.Session]: its reads may lag further.
func (s *faultySession) Traits() provider.Traits {
	t := s.Session.Traits()
	t.ReadLag = max(t.ReadLag, s.faults.readLag())
	return t
}

func (f *Faults) readLag() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lag
}

type faultyInitializer struct {
	faults *Faults
	inner  provider.Initializer
}

func (c faultyInitializer) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return c.faults.visit(ctx, Initialize, func(ctx context.Context) error { return c.inner.Initialize(ctx, ref, i) })
}

type faultyMaintainer struct {
	faults *Faults
	inner  provider.Maintainer
}

func (c faultyMaintainer) Unkept(ref provider.Ref, i provider.Instance) bool {
	return c.inner.Unkept(ref, i)
}

func (c faultyMaintainer) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return c.faults.visit(ctx, Maintain, func(ctx context.Context) error { return c.inner.Maintain(ctx, ref, i) })
}

type faultyPowerer struct {
	faults *Faults
	inner  provider.Powerer
}

func (c faultyPowerer) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	return c.faults.visit(ctx, Power, func(ctx context.Context) error { return c.inner.Power(ctx, ref, i, op, request) })
}
