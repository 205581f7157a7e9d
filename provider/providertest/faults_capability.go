package providertest

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// As makes the session a Lagger while its reads lag, and brings faults upon
// those capabilities of the decorated session that have a [Verb].
func (s *faultySession) As(target any) bool {
	switch t := target.(type) {
	case *provider.Lagger:
		return s.asLagger(t)
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
	case *provider.Rebooter:
		inner, ok := provider.As[provider.Rebooter](s.Session)
		*t = faultyRebooter{s.faults, inner}
		return ok
	}
	return false
}

func (s *faultySession) asLagger(target *provider.Lagger) bool {
	lag := readLag(s.faults.readLag())
	if inner, ok := provider.As[provider.Lagger](s.Session); ok {
		lag = max(lag, readLag(inner.ReadLag()))
	}
	*target = lag
	return lag > 0
}

type readLag time.Duration

func (l readLag) ReadLag() time.Duration { return time.Duration(l) }

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

func (c faultyPowerer) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp) error {
	return c.faults.visit(ctx, Power, func(ctx context.Context) error { return c.inner.Power(ctx, ref, i, op) })
}

type faultyRebooter struct {
	faults *Faults
	inner  provider.Rebooter
}

func (c faultyRebooter) Reboot(ctx context.Context, ref provider.Ref, i provider.Instance, request string) error {
	return c.faults.visit(ctx, Power, func(ctx context.Context) error { return c.inner.Reboot(ctx, ref, i, request) })
}
