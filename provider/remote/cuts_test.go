package remote_test

import (
	"context"
	"path"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// cuts injects faults of the connection.
type cuts struct {
	process *process

	mu    sync.Mutex
	armed []cut
	fired int
}

type cut struct {
	methods []string
	fault   providertest.Fault
}

var methods = map[providertest.Verb][]string{
	providertest.Open: {"Open"}, providertest.Find: {"Find"}, providertest.Create: {"Create"}, providertest.Delete: {"Delete"}, providertest.List: {"List"},
	providertest.Initialize: {"Initialize"}, providertest.Maintain: {"Maintain"}, providertest.Power: {"Power", "Reboot"}, providertest.Leftovers: {"Leftovers"},
}

// arm lets the connection fail in place of the infrastructure, if it can: with an unknown outcome, or
// forever.
func (c *cuts) arm(v providertest.Verb, f providertest.Fault) bool {
	unknown := f.Kind == provider.Transient || f.Kind == "" && f.Stall
	if !unknown || f.After > 0 || f.Slow > 0 || f.Duplicate {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = append(c.armed, cut{methods[v], f})
	return true
}

func (c *cuts) next(method string) (providertest.Fault, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, a := range c.armed {
		if slices.Contains(a.methods, path.Base(method)) {
			c.armed = slices.Delete(c.armed, n, n+1)
			c.fired++
			return a.fault, true
		}
	}
	return providertest.Fault{}, false
}

// happen makes a call during which the connection fails.
func (c *cuts) happen(ctx context.Context, method string, do func() error) error {
	f, ok := c.next(method)
	if !ok {
		return do()
	}
	if f.Done {
		if err := do(); err != nil {
			return err
		}
	}
	if f.Stall {
		<-ctx.Done()
		return ctx.Err()
	}
	c.process.cut()
	return errStop
}

func (c *cuts) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, q any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (a any, err error) {
			err = c.happen(ctx, call.FullMethod, func() (err error) {
				a, err = next(ctx, q)
				return err
			})
			return a, err
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, call *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return c.happen(stream.Context(), call.FullMethod, func() error { return next(server, stream) })
		}),
	}
}
