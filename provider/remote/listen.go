package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// Listening configures how a provider is served.
type Listening struct {
	// Address is unix:///path, or host:port with TLS.
	Address string
	// TLS identifies both sides; nil at a unix socket.
	TLS *TLS
	// Log records panics of providers.
	Log logr.Logger
}

// Serve serves a provider until ctx ends, and then waits for a moment for calls to end.
func Serve(ctx context.Context, l Listening, s Served) error {
	network, address, err := parse(l.Address)
	if err != nil {
		return err
	}
	secured, err := l.TLS.server(network)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, network, address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", l.Address, err)
	}
	g := grpc.NewServer(options(l.Log, secured)...)
	NewServer(s).Register(g)
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop(g, s)
	return <-ended
}

// patience is the time that calls have to end when the process stops.
const patience = 5 * time.Second

func stop(g *grpc.Server, s Served) {
	stopped := make(chan struct{})
	go func() {
		g.GracefulStop()
		close(stopped)
	}()
	timer := s.Clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C():
		g.Stop()
	}
}

// listen opens the socket. It takes over a path that another process has left behind, but not one with a
// listener.
func listen(ctx context.Context, network, address string) (net.Listener, error) {
	var config net.ListenConfig
	if network != "unix" {
		return config.Listen(ctx, network, address)
	}
	if conn, err := net.Dial(network, address); err == nil {
		_ = conn.Close()
		return nil, errors.New("another process listens there")
	}
	// The socket has another name until it is restricted to its user and group: clients send credentials.
	hidden := fmt.Sprintf("%s.%d", address, os.Getpid())
	_ = os.Remove(hidden)
	listener, err := config.Listen(ctx, network, hidden)
	if err != nil {
		return nil, err
	}
	if u, ok := listener.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	if err := errors.Join(os.Chmod(hidden, 0o660), os.Rename(hidden, address)); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(hidden))
	}
	return listener, nil
}

func options(log logr.Logger, secured credentials.TransportCredentials) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(secured),
		grpc.MaxRecvMsgSize(mostMessage), grpc.MaxSendMsgSize(mostMessage), grpc.MaxHeaderListSize(64 << 10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 10 * time.Second}),
		grpc.UnaryInterceptor(func(ctx context.Context, q any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (a any, err error) {
			defer recovered(log, call.FullMethod, &err)
			return next(ctx, q)
		}),
		grpc.StreamInterceptor(func(server any, stream grpc.ServerStream, call *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer recovered(log, call.FullMethod, &err)
			return next(server, stream)
		}),
	}
}

// recovered turns a panic of a provider into an error of that call alone.
func recovered(log logr.Logger, method string, err *error) {
	if p := recover(); p != nil {
		log.Error(fmt.Errorf("%v", p), "the provider panicked", "method", method, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "the provider panicked")
	}
}
