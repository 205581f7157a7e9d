package decorate

import (
	"context"
	"iter"

	"github.com/millwright-dev/millwright/provider"
)

// interception intercepts the optional capabilities of inner that reach the infrastructure; see
// [provider.As].
type interception struct {
	inner  any
	around Around
	call   Call
}

func (n *interception) run(ctx context.Context, verb string, ref provider.Ref, do func(context.Context) error) error {
	c := n.call
	c.Verb, c.Ref = verb, ref
	return n.around(ctx, c, do)
}

// As answers [provider.As] for the capabilities that are intercepted.
func (n *interception) As(target any) bool {
	switch t := target.(type) {
	case *provider.Initializer:
		return stand(n, t, func(i provider.Initializer) provider.Initializer { return initializer{n, i} })
	case *provider.Maintainer:
		return stand(n, t, func(m provider.Maintainer) provider.Maintainer { return maintainer{n, m} })
	case *provider.Sizer:
		return stand(n, t, func(s provider.Sizer) provider.Sizer { return sizer{n, s} })
	case *provider.Powerer:
		return stand(n, t, func(p provider.Powerer) provider.Powerer { return powerer{n, p} })
	case *provider.ConsoleReader:
		return stand(n, t, func(c provider.ConsoleReader) provider.ConsoleReader { return consoleReader{n, c} })
	case *provider.ScopeFinder:
		return stand(n, t, func(f provider.ScopeFinder) provider.ScopeFinder { return scopeFinder{n, f} })
	case *provider.LeftoverLister:
		return stand(n, t, func(l provider.LeftoverLister) provider.LeftoverLister { return leftoverLister{n, l} })
	}
	return false
}

// stand sets target to a decorator of inner's capability T, if inner has it.
func stand[T any](n *interception, target *T, front func(T) T) bool {
	t, ok := provider.As[T](n.inner)
	if ok {
		*target = front(t)
	}
	return ok
}

type initializer struct {
	n     *interception
	inner provider.Initializer
}

func (c initializer) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return c.n.run(ctx, Initialize, ref, func(ctx context.Context) error { return c.inner.Initialize(ctx, ref, i) })
}

type maintainer struct {
	n     *interception
	inner provider.Maintainer
}

func (c maintainer) Unkept(ref provider.Ref, i provider.Instance) bool { return c.inner.Unkept(ref, i) }

func (c maintainer) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return c.n.run(ctx, Maintain, ref, func(ctx context.Context) error { return c.inner.Maintain(ctx, ref, i) })
}

type sizer struct {
	n     *interception
	inner provider.Sizer
}

func (c sizer) Size(ctx context.Context) (provider.Size, error) {
	return asked(ctx, c.n, Size, provider.Ref{}, c.inner.Size)
}

type powerer struct {
	n     *interception
	inner provider.Powerer
}

func (c powerer) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	return c.n.run(ctx, Power, ref, func(ctx context.Context) error { return c.inner.Power(ctx, ref, i, op, request) })
}

type consoleReader struct {
	n     *interception
	inner provider.ConsoleReader
}

func (c consoleReader) Console(ctx context.Context, ref provider.Ref, i provider.Instance, limit int) (string, error) {
	return asked(ctx, c.n, Console, ref, func(ctx context.Context) (string, error) { return c.inner.Console(ctx, ref, i, limit) })
}

type scopeFinder struct {
	n     *interception
	inner provider.ScopeFinder
}

// FindScope counts as a Find of one machine for decorators that count or guard calls.
func (c scopeFinder) FindScope(ctx context.Context, ref provider.Ref) (string, error) {
	return asked(ctx, c.n, Find, ref, func(ctx context.Context) (string, error) { return c.inner.FindScope(ctx, ref) })
}

type leftoverLister struct {
	n     *interception
	inner provider.LeftoverLister
}

func (c leftoverLister) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return paged(ctx, c.n, Leftovers, c.inner.Leftovers)
}
