package remote

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// As has the optional interfaces that the session was opened with: [provider.As].
func (s *session) As(target any) bool {
	switch t := target.(type) {
	case *provider.Lagger:
		return grant[provider.Lagger](t, plain{s}, s.lag > 0)
	case *provider.Scoper:
		return grant[provider.Scoper](t, plain{s}, s.has(wire.Capability_CAPABILITY_SCOPER))
	case *provider.Sourced:
		return grant[provider.Sourced](t, plain{s}, s.source != "")
	case *provider.Chooser:
		return grant[provider.Chooser](t, plain{s}, len(s.choices) > 0)
	case *provider.Identifier:
		return grant[provider.Identifier](t, identifier{s}, len(s.identities) > 0)
	case *provider.NodeIdentifier:
		return grant[provider.NodeIdentifier](t, plain{s}, s.has(wire.Capability_CAPABILITY_NODE_IDENTIFIER))
	case *provider.Comparer:
		return grant[provider.Comparer](t, comparer{s}, s.has(wire.Capability_CAPABILITY_COMPARER))
	case *provider.StatusReporter:
		return grant[provider.StatusReporter](t, reporter{s}, s.has(wire.Capability_CAPABILITY_STATUS_REPORTER))
	case *provider.Accounter:
		return grant[provider.Accounter](t, asker{s}, s.has(wire.Capability_CAPABILITY_ACCOUNTER))
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
		return grant[provider.Powerer](t, changer{s}, s.has(wire.Capability_CAPABILITY_POWERER))
	case *provider.Rebooter:
		return grant[provider.Rebooter](t, changer{s}, s.has(wire.Capability_CAPABILITY_REBOOTER))
	}
	return false
}

func grant[T any](target *T, power T, has bool) bool {
	if has {
		*target = power
	}
	return has
}

// plain has what came with the session's opening.
type plain struct{ s *session }

func (p plain) ReadLag() time.Duration { return p.s.lag }

func (p plain) Scope() string { return p.s.scope }

func (p plain) Source() provider.ClientKey { return p.s.source }

func (plain) IdentifiesNodes() bool { return true }

// Choices begin, among equal ones, with one that the machine's UID decides: the only machines of many sets are not all in one zone.
func (p plain) Choices(ref provider.Ref) []provider.Choice {
	out := slices.Clone(p.s.choices)
	for begin := 0; begin < len(out); {
		end := begin + 1
		for end < len(out) && out[end].Equal {
			end++
		}
		rotate(out[begin:end], ref.UID)
		begin = end
	}
	return out
}

func rotate(equal []provider.Choice, uid string) {
	if len(equal) < 2 || uid == "" {
		return
	}
	sum := sha256.Sum256([]byte(uid))
	by := int(binary.BigEndian.Uint32(sum[:]) % uint32(len(equal)))
	turned := slices.Concat(equal[by:], equal[:by])
	for n := range turned {
		turned[n].Equal = n > 0
	}
	copy(equal, turned)
}

type identifier struct{ s *session }

func (i identifier) Identify(providerID string) string { return read(i.s.identities, providerID) }

type comparer struct{ s *session }

// Differences are none where the provider does not answer: they are told to people, at the next pass.
func (c comparer) Differences(ref provider.Ref, i provider.Instance) []string {
	q := &wire.DifferencesRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	a, err := askKnown(context.Background(), c.s.client, c.s.version, c.s.client.config.Timeouts.Plain, c.s.client.stub.Differences, q)
	if err != nil {
		c.s.client.config.Log.Error(err, "the provider does not say what differs from the spec", "instance", i.ID)
		return nil
	}
	all := a.GetDifferences()
	all = all[:min(len(all), mostParts)]
	return each(all, func(line string) string { return provider.Clip(line, mostName) })
}

type reporter struct{ s *session }

func (r reporter) Status(i provider.Instance) ([]byte, error) {
	q := &wire.StatusRequest{Version: r.s.version, Class: r.s.class, Instance: instanceOf(i)}
	a, err := askKnown(context.Background(), r.s.client, r.s.version, r.s.client.config.Timeouts.Plain, r.s.client.stub.Status, q)
	if err != nil {
		return nil, err
	}
	return checkStatus(r.s.class.GetApi(), a.GetStatus())
}

// asker makes the optional calls that only ask.
type asker struct{ s *session }

func (a asker) Account(ctx context.Context) (string, error) {
	q := &wire.AccountRequest{Version: a.s.version, Class: a.s.class}
	reply, err := askKnown(ctx, a.s.client, a.s.version, a.s.client.config.Timeouts.Read, a.s.client.stub.Account, q)
	if err != nil {
		return "", err
	}
	if reply.GetAccount() == "" || !short(reply.GetAccount()) {
		return "", lie("an account with no name, or one of more than %d bytes", mostName)
	}
	return reply.GetAccount(), nil
}

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

// Console keeps to the limit also where the provider does not.
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

// Unkept is false where the provider does not answer: it is asked again at the next pass.
func (c changer) Unkept(ref provider.Ref, i provider.Instance) bool {
	q := &wire.UnkeptRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	a, err := askKnown(context.Background(), c.s.client, c.s.version, c.s.client.config.Timeouts.Plain, c.s.client.stub.Unkept, q)
	if err != nil {
		c.s.client.config.Log.Error(err, "the provider does not say whether something has to be mended", "instance", i.ID)
	}
	return a.GetUnkept()
}

func (c changer) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	q := &wire.MaintainRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i)}
	_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Maintain, q)
	return err
}

func (c changer) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp) error {
	q := &wire.PowerRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i), Operation: string(op)}
	_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Power, q)
	return err
}

func (c changer) Reboot(ctx context.Context, ref provider.Ref, i provider.Instance, request string) error {
	q := &wire.RebootRequest{Version: c.s.version, Class: c.s.class, Ref: refOf(ref), Instance: instanceOf(i), Request: request}
	_, err := askKnown(ctx, c.s.client, c.s.version, c.s.client.config.Timeouts.Write, c.s.client.stub.Reboot, q)
	return err
}
