package remote

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// Refers implements [wire.ProviderServer].
func (s *Server) Refers(_ context.Context, q *wire.RefersRequest) (*wire.RefersReply, error) {
	if err := s.sessions.speaks(q.GetVersion()); err != nil {
		_, err := told(err)
		return nil, err
	}
	r, ok := provider.As[provider.SpecReader](s.sessions.provider)
	if !ok {
		_, err := told(refused(codes.Unimplemented, "this provider reads no secrets from specs"))
		return nil, err
	}
	names, err := r.ReadSpec(q.GetApi(), q.GetSpec())
	return &wire.RefersReply{Failure: failureOf(err), UserData: secretOf(names.UserData), Credentials: secretOf(names.Credentials)}, nil
}

// Account implements [wire.ProviderServer].
func (s *Server) Account(ctx context.Context, q *wire.AccountRequest) (*wire.AccountReply, error) {
	account, f, err := on(ctx, s.sessions, q, func(ctx context.Context, session provider.Session) (string, error) { return session.Account(ctx) })
	return &wire.AccountReply{Failure: f, Account: clean(account)}, err
}

// Leftovers implements [wire.ProviderServer].
func (s *Server) Leftovers(q *wire.LeftoversRequest, stream grpc.ServerStreamingServer[wire.LeftoversReply]) error {
	list := func(ctx context.Context, p provider.LeftoverLister) iter.Seq2[provider.Leftover, error] {
		return p.Leftovers(ctx)
	}
	return paged(stream.Context(), s.sessions, q, list, leftoverOf, func(p part[*wire.Leftover]) error {
		return stream.Send(&wire.LeftoversReply{Failure: p.failure, Leftovers: p.items, Complete: p.complete})
	})
}

// Size implements [wire.ProviderServer].
func (s *Server) Size(ctx context.Context, q *wire.SizeRequest) (*wire.SizeReply, error) {
	size, f, err := with(ctx, s.sessions, q, func(ctx context.Context, p provider.Sizer) (provider.Size, error) { return p.Size(ctx) })
	a := sizeOf(size)
	a.Failure = f
	return a, err
}

// Differences implements [wire.ProviderServer].
func (s *Server) Differences(ctx context.Context, q *wire.DifferencesRequest) (*wire.DifferencesReply, error) {
	lines, f, err := on(ctx, s.sessions, q, func(_ context.Context, session provider.Session) ([]string, error) {
		return session.Differences(toRef(q.GetRef()), toInstance(q.GetInstance())), nil
	})
	return &wire.DifferencesReply{Failure: f, Differences: each(lines, clean)}, err
}

// Status implements [wire.ProviderServer].
func (s *Server) Status(ctx context.Context, q *wire.StatusRequest) (*wire.StatusReply, error) {
	raw, f, err := on(ctx, s.sessions, q, func(_ context.Context, session provider.Session) ([]byte, error) {
		return session.Status(toInstance(q.GetInstance()))
	})
	return &wire.StatusReply{Failure: f, Status: raw}, err
}

// Initialize implements [wire.ProviderServer].
func (s *Server) Initialize(ctx context.Context, q *wire.InitializeRequest) (*wire.InitializeReply, error) {
	f, err := changes(ctx, s.sessions, q, func(ctx context.Context, p provider.Initializer) error {
		return p.Initialize(ctx, toRef(q.GetRef()), toInstance(q.GetInstance()))
	})
	return &wire.InitializeReply{Failure: f}, err
}

// Unkept implements [wire.ProviderServer].
func (s *Server) Unkept(ctx context.Context, q *wire.UnkeptRequest) (*wire.UnkeptReply, error) {
	unkept, f, err := with(ctx, s.sessions, q, func(_ context.Context, p provider.Maintainer) (bool, error) {
		return p.Unkept(toRef(q.GetRef()), toInstance(q.GetInstance())), nil
	})
	return &wire.UnkeptReply{Failure: f, Unkept: unkept}, err
}

// Maintain implements [wire.ProviderServer].
func (s *Server) Maintain(ctx context.Context, q *wire.MaintainRequest) (*wire.MaintainReply, error) {
	f, err := changes(ctx, s.sessions, q, func(ctx context.Context, p provider.Maintainer) error {
		return p.Maintain(ctx, toRef(q.GetRef()), toInstance(q.GetInstance()))
	})
	return &wire.MaintainReply{Failure: f}, err
}

// Power implements [wire.ProviderServer].
func (s *Server) Power(ctx context.Context, q *wire.PowerRequest) (*wire.PowerReply, error) {
	f, err := changes(ctx, s.sessions, q, func(ctx context.Context, p provider.Powerer) error {
		return p.Power(ctx, toRef(q.GetRef()), toInstance(q.GetInstance()), provider.PowerOp(q.GetOperation()), "")
	})
	return &wire.PowerReply{Failure: f}, err
}

// Reboot implements [wire.ProviderServer].
func (s *Server) Reboot(ctx context.Context, q *wire.RebootRequest) (*wire.RebootReply, error) {
	f, err := changes(ctx, s.sessions, q, func(ctx context.Context, p provider.Powerer) error {
		return p.Power(ctx, toRef(q.GetRef()), toInstance(q.GetInstance()), provider.Reboot, q.GetRequest())
	})
	return &wire.RebootReply{Failure: f}, err
}

// Console implements [wire.ProviderServer].
func (s *Server) Console(ctx context.Context, q *wire.ConsoleRequest) (*wire.ConsoleReply, error) {
	text, f, err := with(ctx, s.sessions, q, func(ctx context.Context, p provider.ConsoleReader) (string, error) {
		return p.Console(ctx, toRef(q.GetRef()), toInstance(q.GetInstance()), int(q.GetLimit()))
	})
	return &wire.ConsoleReply{Failure: f, Text: clean(text)}, err
}
