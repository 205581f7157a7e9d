package remote_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote"
)

// socket returns a path that is short enough for a socket.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "remote")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "provider.sock")
}

// process is a provider that is served at a socket, with connections that the test can cut.
type process struct {
	path string
	grpc *grpc.Server

	mu    sync.Mutex
	conns []net.Conn
}

// start serves the services of register at the path.
func start(t *testing.T, path string, register func(*grpc.Server), also ...grpc.ServerOption) *process {
	t.Helper()
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{path: path, grpc: grpc.NewServer(also...)}
	register(p.grpc)
	go func() { _ = p.grpc.Serve(&cuttable{listener, p}) }()
	t.Cleanup(p.grpc.Stop)
	return p
}

// served starts a Go provider.
func served(t *testing.T, path string, s remote.Served, also ...grpc.ServerOption) *process {
	t.Helper()
	s.Clock = clock.RealClock{}
	return start(t, path, func(g *grpc.Server) { remote.NewServer(s).Register(g) }, also...)
}

// cuttable records connections.
type cuttable struct {
	net.Listener
	process *process
}

func (l *cuttable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.process.mu.Lock()
		defer l.process.mu.Unlock()
		l.process.conns = append(l.process.conns, c)
	}
	return c, err
}

// cut closes all connections, whatever they are transmitting.
func (p *process) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// dial connects to the socket of a provider of that name.
func dial(t *testing.T, name, path string, edit ...func(*remote.Config)) *remote.Client {
	t.Helper()
	config := remote.Config{Name: name, Address: "unix://" + path}
	for _, e := range edit {
		e(&config)
	}
	c, err := remote.Dial(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// fails checks for an error of the kind with a text.
func fails(t *testing.T, err error, kind provider.Kind) {
	t.Helper()
	if provider.KindOf(err) != kind || err.Error() == "" {
		t.Errorf("error %v of kind %q, want %q", err, provider.KindOf(err), kind)
	}
}

var errStop = errors.New("stop")

// collect reads a listing to its end.
func collect(ctx context.Context, s provider.Session) (all []provider.Instance, err error) {
	for i, err := range s.List(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, i)
	}
	return all, nil
}
