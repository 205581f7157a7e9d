package remote

import (
	"context"
	"iter"
	"slices"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// As returns the optional interfaces that the opened session has: [provider.As].
func (s *session) As(target any) bool {
	switch t := target.(type) {
	case *provider.LeftoverLister:
		return grant[provider.LeftoverLister](t, asker{s}, s.has(wire.Capability_CAPABILITY_LEFTOVER_LISTER))
	case *provider.Sizer:
		return grant[provider.Sizer](t, asker{s}, s.has(wire.Capability_CAPABILITY_SIZER))
	case *provider.ConsoleReader:
		return grant[provider.ConsoleReader](t, asker{s}, s.has(wire.Capability_CAPABILITY_CONSOLE_READER))
	case *provider.Initializer:
		return grant[provider.Initializer](t, changer{s}, s.has(wire.Capability_CAPABILITY_INITIALIZER))
	case *provider.Maintainer:
		return grant[provider.Maintainer](t, changer{s}, s.has(wire.Capability_CAPABILITY_MAINTAINER))
	case *provider.Powerer:
		return grant[provider.Powerer](t, changer{s}, s.has(wire.Capability_CAPABILITY_POWERER) || s.has(wire.Capability_CAPABILITY_REBOOTER))
	}
	return false
}

func grant[T any](target *T, power T, has bool) bool {
	if has {
		*target = power
	}
	return has
}

// Traits implements [provider.Session]. They came with the session's opening.
func (s *session) Traits() provider.Traits {
	t := provider.Traits{
		Scope: s.scope, Source: s.source, ReadLag: s.lag, Choices: slices.Clone(s.choices),
		RebootsOnce: s.has(wire.Capability_CAPABILITY_REBOOTER), IdentifiesNodes: s.has(wire.Capability_CAPABILITY_NODE_IDENTIFIER),
	}
	switch {
	case !s.has(wire.Capability_CAPABILITY_SCOPER):
		t.Scope = ""
	case s.scope == "":
		t.Scope = provider.WholeAccount
	}
	if len(s.identities) > 0 {
		t.Identify = func(providerID string) string { return read(s.identities, providerID) }
	}
	return t
}

// Differences are empty if the provider does not answer: they are reported at the next reconciliation.
func (s *session) Differences(ref provider.Ref, i provider.Instance) []string {
	if !s.has(wire.Capability_CAPABILITY_COMPARER) {
		return nil
	}
	q := &wire.DifferencesRequest{Version: s.version, Class: s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	a, err := askKnown(context.Background(), s.client, s.version, s.client.config.Timeouts.Plain, s.client.stub.Differences, q)
	if err != nil {
		s.client.config.Log.Error(err, "the provider does not say what differs from the spec", "instance", i.ID)
		return nil
	}
	all := a.GetDifferences()
	all = all[:min(len(all), mostParts)]
	return each(all, func(line string) string { return provider.Clip(line, mostName) })
}

// Status implements [provider.Session].
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if !s.has(wire.Capability_CAPABILITY_STATUS_REPORTER) {
		return nil, nil
	}
	q := &wire.StatusRequest{Version: s.version, Class: s.class, Instance: instanceOf(i)}
	a, err := askKnown(context.Background(), s.client, s.version, s.client.config.Timeouts.Plain, s.client.stub.Status, q)
	if err != nil {
		return nil, err
	}
	return checkStatus(s.class.GetApi(), a.GetStatus())
}

// Account implements [provider.Session].
func (s *session) Account(ctx context.Context) (string, error) {
	if !s.has(wire.Capability_CAPABILITY_ACCOUNTER) {
		return "", provider.ErrNoAccount
	}
	q := &wire.AccountRequest{Version: s.version, Class: s.class}
	reply, err := askKnown(ctx, s.client, s.version, s.client.config.Timeouts.Read, s.client.stub.Account, q)
	if err != nil {
		return "", err
	}
	if reply.GetAccount() == "" || !short(reply.GetAccount()) {
		return "", lie("an account with no name, or one of more than %d bytes", mostName)
	}
	return reply.GetAccount(), nil
}

// asker makes the optional calls that only read.
type asker struct{ s *session }

func (a asker) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return pages(ctx, a.s, func(ctx context.Context) (receiver[*wire.LeftoversReply], error) {
		return a.s.client.stub.Leftovers(ctx, &wire.LeftoversRequest{Version: a.s.version, Class: a.s.class})
	}, (*wire.LeftoversReply).GetLeftovers, func() func(*wire.Leftover) (provider.Leftover, bool, error) { return takeLeftover })
}

func (a asker) Size(ctx context.Context) (provider.Size, error) {
	q := &wire.SizeRequest{Version: a.s.version, Class: a.s.class}
	reply, err := askKnown(ctx, a.s.client, a.s.version, a.s.client.config.Timeouts.Read, a.s.client.stub.Size, q)
	if err != nil {
		return provider.Size{}, err
	}
	return checkSize(reply)
}

// Console enforces the limit even if the provider does not.
func (a asker) Console(ctx context.Context, ref provider.Ref, i provider.Instance, limit int) (string, error) {
	q := &wire.ConsoleRequest{Version: a.s.version, Class: a.s.class, Ref: refOf(ref), Instance: instanceOf(i), Limit: int32(min(limit, mostMessage/2))}
	reply, err := askKnown(ctx, a.s.client, a.s.version, a.s.client.config.Timeouts.Read, a.s.client.stub.Console, q)
	if err != nil {
		return "", err
	}
	text := reply.GetText()
	return clean(text[max(0, len(text)-limit):]), nil
}

// changer makes the optional calls that change something.
type changer struct{ s *session }

func (c changer) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	q := &wire.InitializeRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Initialize, q)
	return err
}

// Unkept is false if the provider does not answer: it is called again at the next reconciliation.
func (c changer) Unkept(ref provider.Ref, i provider.Instance) bool {
	q := &wire.UnkeptRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	a, err := askKnown(context.Background(), c.s.client, c.s.version, c.s.client.config.Timeouts.Plain, c.s.client.stub.Unkept, q)
	if err != nil {
		c.s.client.config.Log.Error(err, "the provider failed to report whether the instance needs maintenance", "instance", i.ID)
	}
	return a.GetUnkept()
}

func (c changer) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	q := &wire.MaintainRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Maintain, q)
	return err
}

// Power is two calls: one that recognizes a request, and one for the other operations.
func (c changer) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	if op == provider.Reboot && request != "" && c.s.has(wire.Capability_CAPABILITY_REBOOTER) {
		q := &wire.RebootRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i), Request: request}
		_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Reboot, q)
		return err
	}
	q := &wire.PowerRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i), Operation: string(op)}
	_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Power, q)
	return err
}
