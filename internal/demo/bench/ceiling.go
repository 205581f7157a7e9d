package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// workers is the number of machines for which the client writes at the same time.
	workers = 32
	// warmUp is how many machines are created and deleted before the measurement, so
	// that the ceiling does not include what a new API server does once.
	warmUp = 100
)

// ceilings are the times of the raw client.
type ceilings struct {
	create, remove time.Duration
	// joining is the time of a creation in which the client also creates the Node, kwok
	// makes it Ready, and the controller manager works on it: the joining nodes, which
	// the time create leaves out, compete for the CPU.
	joining time.Duration
	// cloud is, for the same creation, the time from the beginning until the client creates the Node, where the controllers request the instance.
	cloud *Latency
	// alone is the latency of each deletion if machines are deleted one after another.
	alone *Latency
	// waves is the time in which all machines are replaced in waves, wavesJoining the
	// same with joining nodes.
	waves, wavesJoining time.Duration
}

func (s *session) ceilings(ctx context.Context) (c ceilings, err error) {
	s.logf("measuring the raw ceiling")
	if _, err = s.ceiling(ctx, "warm", warmUp, false); err != nil {
		return c, err
	}
	if c, err = s.ceiling(ctx, "raw", s.machines, false); err != nil {
		return c, err
	}
	joining, err := s.ceiling(ctx, "join", s.machines, true)
	c.joining, c.cloud = joining.create, joining.cloud
	if err == nil {
		c.alone, err = s.aloneCeiling(ctx)
	}
	s.logf("ceiling: create %.2f s (%.2f s with nodes joining), delete %.2f s", c.create.Seconds(), c.joining.Seconds(), c.remove.Seconds())
	return c, err
}

// joinAgain gives the raw client whose nodes join its second turn, while no controllers
// run. Two turns are needed because an API server is faster the second time, and the
// other load of the machine changes.
func (s *session) joinAgain(ctx context.Context, created *Measured) error {
	for len(s.plane.Controllers) > 0 {
		if err := s.plane.KillController(ctx, s.plane.Controllers[0]); err != nil {
			return err
		}
	}
	again, err := s.ceiling(ctx, "again", s.machines, true)
	if err != nil {
		return err
	}
	created.joined(again)
	created.compare()
	created.round()
	s.logf("ceiling with nodes joining: %.2f s before and %.2f s after; create took %.2f times their mean", created.JoiningTurns[0], created.JoiningTurns[1], created.JoiningRatio)
	return nil
}

func (s *session) ceiling(ctx context.Context, prefix string, n int, joining bool) (c ceilings, err error) {
	client, names := s.client(ctx), names(prefix, n)
	if !joining {
		if _, err := each(names, func(name string) error { return client.makeNode(name, false) }); err != nil {
			return c, fmt.Errorf("make nodes beforehand: %w", err)
		}
	}
	if err := s.quiet(ctx); err != nil {
		return c, err
	}
	begin := time.Now()
	if c.create, err = client.createAll(names, joining, boots{s.BootTime, s.BootSpread}); err != nil {
		return c, fmt.Errorf("create without a controller: %w", err)
	}
	if err := s.quiet(ctx); err != nil {
		return c, err
	}
	c.cloud = sinceScaled(begin, boots{s.BootTime, s.BootSpread}.asked(nodesMade(s.plane.audit.since(begin), prefix)))
	if ready := lastOf(s.plane.audit.since(begin), "kwok", "patch nodes/status"); joining && !ready.IsZero() {
		c.create = max(c.create, ready.Sub(begin))
	}
	if c.remove, err = each(names, client.remove); err != nil {
		return c, fmt.Errorf("delete without a controller: %w", err)
	}
	return c, s.quiet(ctx)
}

// nodesMade is the time at which the creation of each Node was requested.
func nodesMade(writes []write, prefix string) map[string]time.Time {
	out := map[string]time.Time{}
	for _, w := range writes {
		if w.is("create nodes") && strings.HasPrefix(w.Name, prefix) {
			out[w.Name] = w.Asked
		}
	}
	return out
}

// sinceScaled are the times since the machines were requested.
func sinceScaled(begin time.Time, calls map[string]time.Time) *Latency {
	var out []float64
	for _, at := range calls {
		out = append(out, max(at.Sub(begin).Seconds(), 0))
	}
	return quantiles(out)
}

// names are the names of n machines.
func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return out
}

// boots is how long instances boot: time, plus or minus up to spread.
type boots struct{ time, spread time.Duration }

// of is how long the instance of a machine boots.
func (b boots) of(name string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(name))
	return b.time + time.Duration((float64(h.Sum32())/math.MaxUint32*2-1)*float64(b.spread))
}

// asked is the time at which each instance was requested, computed from the creation of its node.
func (b boots) asked(made map[string]time.Time) map[string]time.Time {
	out := map[string]time.Time{}
	for name, at := range made {
		out[name] = at.Add(-b.of(name))
	}
	return out
}

// each calls do for each element, several at a time, and returns how long it took.
func each[T any](all []T, do func(T) error) (time.Duration, error) {
	begin := time.Now()
	var g errgroup.Group
	g.SetLimit(workers)
	for _, one := range all {
		g.Go(func() error { return do(one) })
	}
	err := g.Wait()
	return time.Since(begin), err
}

// client does the unavoidable writes of one machine after another.
type client struct {
	ctx   context.Context
	raw   rest.Interface
	shape *shape
}

func (s *session) client(ctx context.Context) client {
	return client{ctx: ctx, raw: s.plane.raw, shape: s.shape}
}

// createAll creates machines. With joining it also creates their nodes, after the time that an instance of the machine would boot.
func (c client) createAll(names []string, joining bool, b boots) (time.Duration, error) {
	if !joining || b.time == 0 {
		return each(names, func(name string) error { return c.create(name, joining) })
	}
	begin := time.Now()
	turns := make(chan struct{}, workers)
	write := func(do func() error) error {
		turns <- struct{}{}
		defer func() { <-turns }()
		return do()
	}
	var g errgroup.Group
	for _, name := range names {
		g.Go(func() error {
			if err := write(func() error { return c.ask(name) }); err != nil {
				return err
			}
			time.Sleep(b.of(name))
			return write(func() error { return c.join(name, true) })
		})
	}
	err := g.Wait()
	return time.Since(begin), err
}

func (c client) create(name string, joining bool) error {
	if err := c.ask(name); err != nil {
		return err
	}
	return c.join(name, joining)
}

// ask does the writes that precede the request for the instance.
func (c client) ask(name string) error {
	return inOrder([]func() error{
		func() error { return c.post(c.shape.path("machines"), c.shape.Machine.of(name)) },
		func() error { return c.patch(c.shape.machine(name), c.shape.Known.of(name)) },
	})
}

// join does the writes after that request. With joining it creates the Node.
func (c client) join(name string, joining bool) error {
	node := func() error { return nil }
	if joining {
		node = func() error { return c.makeNode(name, true) }
	}
	return inOrder([]func() error{
		node,
		func() error { return c.patch(c.shape.machine(name)+"/status", c.shape.Provisioned.of(name)) },
		func() error { return c.patch(nodePath(name), c.shape.Node.of(name)) },
		func() error { return c.patch(c.shape.machine(name)+"/status", c.shape.Running.of(name)) },
	})
}

func (c client) remove(name string) error {
	return inOrder([]func() error{
		func() error { return c.delete(c.shape.machine(name)) },
		func() error { return c.patch(c.shape.machine(name)+"/status", c.shape.Deleting.of(name)) },
		func() error { return c.patch(nodePath(name), c.shape.Cordon.of(name)) },
		func() error { return c.delete(nodePath(name)) },
		func() error { return c.patch(c.shape.machine(name), c.shape.Released.of(name)) },
	})
}

func inOrder(steps []func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func nodePath(name string) string { return "/api/v1/nodes/" + name }

// makeNode creates a Node that is already Ready, or a Node that kwok makes Ready.
func (c client) makeNode(name string, joining bool) error {
	const (
		ready   = `,"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]`
		byKwok  = `,"annotations":{"kwok.x-k8s.io/node":"fake"}`
		pattern = `{"apiVersion":"v1","kind":"Node","metadata":{"name":%[1]q,"labels":{"kubernetes.io/hostname":%[1]q,` +
			`"kubernetes.io/os":"linux","kubernetes.io/arch":"amd64"}%[2]s},"spec":{"providerID":"kubemark://%[1]s"},` +
			`"status":{"capacity":{"cpu":"4","memory":"16Gi","pods":"110"},"allocatable":{"cpu":"4","memory":"16Gi","pods":"110"}%[3]s}}`
	)
	if joining {
		return c.post("/api/v1/nodes", fmt.Appendf(nil, pattern, name, byKwok, ""))
	}
	return c.post("/api/v1/nodes", fmt.Appendf(nil, pattern, name, "", ready))
}

func (c client) post(path string, body []byte) error {
	return c.do(c.raw.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body))
}

func (c client) patch(path string, body []byte) error {
	return c.do(c.raw.Patch(types.MergePatchType).AbsPath(path).Body(body))
}

func (c client) delete(path string) error { return c.do(c.raw.Delete().AbsPath(path)) }

func (c client) do(r *rest.Request) error {
	_, err := r.DoRaw(c.ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", r.URL().Path, err)
	}
	return nil
}
