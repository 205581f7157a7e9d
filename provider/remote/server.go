package remote

import (
	"context"
	"errors"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// Identity describes how provider IDs are read: [wire.Identity].
type Identity struct {
	// Pattern has to match the whole provider ID. Name is the instance's identity, in which $1 is the first
	// group of the match.
	Pattern, Name string
	// FoldCase converts the name to lower case.
	FoldCase bool
}

// Served is a provider and how to serve it.
type Served struct {
	Provider provider.Provider
	// Identities express the [provider.Traits].Identify of its sessions as data: a controller has to
	// distinguish instances while its provider does not answer. Required if the sessions have Identify.
	Identities []Identity
	// Clock is the clock of its deadlines.
	Clock clock.Clock
}

// Server serves a provider. Create one with [NewServer].
type Server struct {
	wire.UnimplementedProviderServer
	sessions *sessions
}

// sessions opens classes for requests, and stores none of them.
type sessions struct {
	provider   provider.Provider
	identities []*wire.Identity
	versions   []uint32
	changing   *changing
}

// NewServer returns a server for a provider. While a call continues after its caller has canceled it, no
// other change of the same machine begins.
func NewServer(s Served) *Server {
	return &Server{sessions: &sessions{
		provider: decorate.Deadline(s.Provider, s.Clock, decorate.Deadlines{}), versions: versions, changing: newChanging(s.Clock),
		identities: each(s.Identities, func(i Identity) *wire.Identity {
			return &wire.Identity{Pattern: i.Pattern, Name: i.Name, FoldCase: i.FoldCase}
		}),
	}}
}

// Register registers the service with g.
func (s *Server) Register(g grpc.ServiceRegistrar) { wire.RegisterProviderServer(g, s) }

// Hello implements [wire.ProviderServer].
func (s *Server) Hello(_ context.Context, q *wire.HelloRequest) (*wire.HelloReply, error) {
	a := &wire.HelloReply{Versions: s.sessions.versions, Name: s.sessions.provider.Name()}
	for _, v := range q.GetVersions() {
		if slices.Contains(s.sessions.versions, v) {
			a.Version = max(a.Version, v)
		}
	}
	if _, ok := provider.As[provider.SpecReader](s.sessions.provider); ok {
		a.Capabilities = append(a.Capabilities, wire.Capability_CAPABILITY_REFERRER)
	}
	return a, nil
}

// refusedError ends a call with a status instead of a reply: the error is not the provider's.
type refusedError struct{ *status.Status }

func (e refusedError) Error() string { return e.Message() }

func refused(code codes.Code, format string, args ...any) error {
	return refusedError{status.Newf(code, format, args...)}
}

// told separates errors for the reply from errors that end the call.
func told(err error) (*wire.Failure, error) {
	if r, ok := errors.AsType[refusedError](err); ok {
		return nil, r.Err()
	}
	return failureOf(err), nil
}

// request is the interface of every request about a class.
type request interface {
	GetVersion() uint32
	GetClass() *wire.Class
}

// speaks refuses a request in another version: its sender has greeted another process.
func (s *sessions) speaks(version uint32) error {
	if !slices.Contains(s.versions, version) {
		return refused(codes.FailedPrecondition, "version %d of the contract is not spoken here, but %v: say hello first", version, s.versions)
	}
	return nil
}

// open opens the class of a request. Sessions are not stored: they are cheap, and their callers come and
// go.
func (s *sessions) open(ctx context.Context, q request) (context.Context, provider.Session, error) {
	if err := s.speaks(q.GetVersion()); err != nil {
		return ctx, nil, err
	}
	class, err := toClass(q.GetClass())
	if err != nil {
		return ctx, nil, err
	}
	ctx, b := bring(ctx, q.GetClass().GetObjects())
	session, err := s.provider.Open(ctx, class)
	if missing := b.missing(); len(missing) > 0 {
		return ctx, nil, &neededError{missing}
	}
	return ctx, session, err
}

// on opens the class of a request, and calls do with the session.
func on[T any](ctx context.Context, s *sessions, q request, do func(context.Context, provider.Session) (T, error)) (T, *wire.Failure, error) {
	var none T
	ctx, session, err := s.open(ctx, q)
	if err == nil {
		var t T
		if t, err = do(ctx, session); err == nil {
			return t, nil, nil
		}
	}
	f, err := told(err)
	return none, f, err
}

// with opens the class of a request, and calls do with an optional interface.
func with[P, T any](ctx context.Context, s *sessions, q request, do func(context.Context, P) (T, error)) (T, *wire.Failure, error) {
	return on(ctx, s, q, func(ctx context.Context, session provider.Session) (t T, err error) {
		p, ok := provider.As[P](session)
		if !ok {
			return t, refused(codes.Unimplemented, "a session of this class has no such power")
		}
		return do(ctx, p)
	})
}

// changeRequest is a request that changes something about a machine.
type changeRequest interface {
	request
	GetRef() *wire.Ref
}

// changes changes a machine while no other change of it is in progress.
func changes[P any](ctx context.Context, s *sessions, q changeRequest, do func(context.Context, P) error) (*wire.Failure, error) {
	_, f, err := with(ctx, s, q, func(ctx context.Context, p P) (struct{}, error) {
		leave, err := s.changing.enter(ctx, q)
		if err != nil {
			return struct{}{}, err
		}
		defer leave()
		return struct{}{}, do(ctx, p)
	})
	return f, err
}

// Open implements [wire.ProviderServer].
func (s *Server) Open(ctx context.Context, q *wire.OpenRequest) (*wire.OpenReply, error) {
	a := &wire.OpenReply{}
	_, session, err := s.sessions.open(ctx, q)
	if err == nil {
		a, err = s.sessions.describe(session)
	}
	if n, ok := errors.AsType[*neededError](err); ok {
		return &wire.OpenReply{Needs: each(n.refs, objectRefOf)}, nil
	}
	f, err := told(err)
	if f != nil {
		return &wire.OpenReply{Failure: f}, nil
	}
	return a, err
}

// describe returns the properties of a session.
func (s *sessions) describe(session provider.Session) (*wire.OpenReply, error) {
	t := session.Traits()
	a := &wire.OpenReply{
		Capabilities: capabilities(session, t), Identities: s.identities,
		Source: clean(string(t.Source)), Choices: each(t.Choices, choiceOf),
	}
	if t.Identify != nil && len(s.identities) == 0 {
		return nil, errors.New("this provider reads provider IDs in a way of its own, and is served without the patterns that say so (Served.Identities)")
	}
	if t.Scope != provider.WholeAccount {
		a.Scope = clean(t.Scope)
	}
	if t.ReadLag > 0 {
		a.ReadLag = durationpb.New(t.ReadLag)
	}
	return a, nil
}

// capabilities are the optional interfaces of a session.
func capabilities(session provider.Session, t provider.Traits) (out []wire.Capability) {
	ended, end := context.WithCancel(context.Background())
	end() // no call is needed to know whether there are accounts
	_, accountErr := session.Account(ended)
	for _, c := range []struct {
		has bool
		as  wire.Capability
	}{
		{!errors.Is(accountErr, provider.ErrNoAccount), wire.Capability_CAPABILITY_ACCOUNTER},
		{is[provider.LeftoverLister](session), wire.Capability_CAPABILITY_LEFTOVER_LISTER},
		{is[provider.Sizer](session), wire.Capability_CAPABILITY_SIZER},
		{true, wire.Capability_CAPABILITY_COMPARER},
		{true, wire.Capability_CAPABILITY_STATUS_REPORTER},
		{is[provider.Initializer](session), wire.Capability_CAPABILITY_INITIALIZER},
		{is[provider.Maintainer](session), wire.Capability_CAPABILITY_MAINTAINER},
		{is[provider.Powerer](session), wire.Capability_CAPABILITY_POWERER},
		{t.RebootsOnce, wire.Capability_CAPABILITY_REBOOTER},
		{is[provider.ConsoleReader](session), wire.Capability_CAPABILITY_CONSOLE_READER},
		{t.Scope != "", wire.Capability_CAPABILITY_SCOPER},
		{t.IdentifiesNodes, wire.Capability_CAPABILITY_NODE_IDENTIFIER},
	} {
		if c.has {
			out = append(out, c.as)
		}
	}
	return out
}

func is[T any](session provider.Session) bool {
	_, ok := provider.As[T](session)
	return ok
}

// Find implements [wire.ProviderServer].
func (s *Server) Find(ctx context.Context, q *wire.FindRequest) (*wire.FindReply, error) {
	all, f, err := on(ctx, s.sessions, q, func(ctx context.Context, session provider.Session) ([]provider.Instance, error) {
		return session.Find(ctx, toRef(q.GetRef()))
	})
	return &wire.FindReply{Failure: f, Instances: each(all, instanceOf), Complete: f == nil}, err
}

// Create implements [wire.ProviderServer].
func (s *Server) Create(ctx context.Context, q *wire.CreateRequest) (*wire.CreateReply, error) {
	a := &wire.CreateReply{}
	f, err := changes(ctx, s.sessions, q, func(ctx context.Context, session provider.Session) error {
		i, err := session.Create(ctx, toRef(q.GetRef()), provider.Want{UserData: q.GetUserData(), Role: q.GetRole(), Choice: q.GetChoice(), Attempt: int(q.GetAttempt())})
		a.Instance = instanceOf(i)
		return err
	})
	if f != nil {
		return &wire.CreateReply{Failure: f}, nil
	}
	return a, err
}

// Delete implements [wire.ProviderServer].
func (s *Server) Delete(ctx context.Context, q *wire.DeleteRequest) (*wire.DeleteReply, error) {
	a := &wire.DeleteReply{}
	f, err := changes(ctx, s.sessions, q, func(ctx context.Context, session provider.Session) (err error) {
		a.Done, err = session.Delete(ctx, toRef(q.GetRef()), each(q.GetInstances(), toInstance))
		return err
	})
	if f != nil {
		return &wire.DeleteReply{Failure: f}, nil
	}
	return a, err
}

// List implements [wire.ProviderServer].
func (s *Server) List(q *wire.ListRequest, stream grpc.ServerStreamingServer[wire.ListReply]) error {
	list := func(ctx context.Context, session provider.Session) iter.Seq2[provider.Instance, error] {
		return session.List(ctx)
	}
	return paged(stream.Context(), s.sessions, q, list, instanceOf, func(p part[*wire.Instance]) error {
		return stream.Send(&wire.ListReply{Failure: p.failure, Instances: p.items, Complete: p.complete})
	})
}

// perPage is the number of items of a message.
const perPage = 200

// part is a page of a listing: some items, a failure, or the end.
type part[W any] struct {
	items    []W
	failure  *wire.Failure
	complete bool
}

// paged sends a listing in pages. The last one is marked as the last, or has the failure.
func paged[P, T, W any](
	ctx context.Context, s *sessions, q request, list func(context.Context, P) iter.Seq2[T, error], convert func(T) W, send func(part[W]) error,
) error {
	var held []W
	_, f, err := with(ctx, s, q, func(ctx context.Context, p P) (struct{}, error) {
		for item, err := range list(ctx, p) {
			if err != nil {
				return struct{}{}, err
			}
			if held = append(held, convert(item)); len(held) < perPage {
				continue
			}
			if err := send(part[W]{items: held}); err != nil {
				return struct{}{}, err
			}
			held = nil
		}
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	if f == nil {
		return send(part[W]{items: held, complete: true})
	}
	// The items before the failure are still sent.
	return errors.Join(send(part[W]{items: held}), send(part[W]{failure: f}))
}

var _ wire.ProviderServer = &Server{}
