// Package serve turns a provider into a machine controller. The program of a provider calls [Main].
//
// It adds what every provider needs: flags, clients, leader election, metrics,
// the decorators of package decorate, and the controllers that need the
// infrastructure: machines of both APIs, the capacity of machine sets and
// deployments for scaling from zero, the protection of classes, and the
// approver of certificate requests.
package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination/handler"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// Plugin is a provider for a machine controller.
type Plugin struct {
	// Name is the name of the provider. The program is machine-controller-<name>.
	Name string
	// APIs are the API groups whose machines the provider creates, independent of the name of the program; empty for all. The
	// program does not change machines of other groups.
	APIs []string
	// AddFlags adds the flags of the provider; may be nil.
	AddFlags func(*pflag.FlagSet)
	// New creates the provider, after flags are parsed and clusters are connected.
	New func(ctx context.Context, e Env) (provider.Provider, error)
	// Limits are the default rate limits of an account. Flags override them. A zero PerSecond means no limit.
	Limits decorate.Limits
	// Commands are additional commands of the program; may be empty.
	Commands []*cobra.Command
}

// Env is the environment of a provider in its process.
type Env struct {
	// Target is the cluster that the machines join; nil if they join none. Its writes are not limited like those of the
	// controllers, because a provider that simulates nodes writes what kubelets would. Control is the cluster with the machine
	// objects.
	Target, Control *rest.Config
	// Background runs f beside the controllers, whether the process leads or not. It must be safe to run in several processes.
	Background func(f func(context.Context) error)
	Clock      clock.WithTicker
	// Objects reads named objects of the control cluster. The role of the provider must allow to get them.
	Objects provider.Objects
	// Namespace returns the namespace of the control cluster that has the machines of the API; empty for all namespaces.
	Namespace func(api string) string
}

// terminationHandler is the program that an operator runs from a provider's image on nodes whose instances the cloud may
// interrupt.
const terminationHandler = "termination-handler"

// Main parses the command line, runs the plugin until it receives a signal, and ends the process. With --programs alone, it
// lists the names under which images call it: images of the originals' providers have a program with the second or third name,
// and the termination handler.
func Main(p Plugin) {
	if len(os.Args) == 2 && os.Args[1] == "--programs" {
		fmt.Printf("machine-controller-%s\nmachine-controller\nmachine-controller-manager\n%s\n", p.Name, terminationHandler)
		return
	}
	run.Main(called(os.Args[0], p))
}

// called returns the program for the name under which it was called.
func called(name string, p Plugin) *cobra.Command {
	if filepath.Base(name) == terminationHandler {
		return handler.Command()
	}
	return Command(p)
}

// Command returns the program as a cobra command.
func Command(p Plugin) *cobra.Command {
	s := &server{plugin: p}
	c := &cobra.Command{
		Use:           "machine-controller-" + p.Name,
		Short:         "Keep the machines on " + p.Name + " as they are declared",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return s.serve(c.Context()) },
	}
	s.addFlags(c.Flags())
	c.AddCommand(p.Commands...)
	run.AddVersion(c)
	return c
}

// port is the port of metrics and health. A program with the name of an original has the addresses of that original.
const port = 10259

// server is one process.
type server struct {
	plugin  Plugin
	flags   run.Flags
	log     *run.LogFlags
	machine machineFlags
	rate    float64
	also    []func(context.Context) error
}

func (s *server) addFlags(fs *pflag.FlagSet) {
	s.flags.AddFlags(fs, s.plugin.place(os.Args[0]))
	s.machine.add(fs)
	fs.Float64Var(&s.rate, "provider-qps", s.plugin.Limits.PerSecond, "calls per second to the infrastructure for each account; lowered when the infrastructure throttles; 0 for no limit. If the infrastructure counts changes separately, changes have a separate limit")
	s.log = run.AddLogFlags(fs)
	if s.plugin.AddFlags != nil {
		s.plugin.AddFlags(fs)
	}
}

func (s *server) serve(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	log := klog.Background().WithName("machine-controller-" + s.plugin.Name)
	process, err := run.New(&s.flags, log)
	if err != nil {
		return err
	}
	return process.Run(ctx, func(ctx context.Context) error { return s.setUp(ctx, process) })
}

// check validates the flags, before the process does anything else.
func (s *server) check() error {
	if err := errors.Join(s.flags.Complete(), s.plugin.makes(s.flags.APIs), s.machine.check()); err != nil {
		return err
	}
	return s.log.Apply()
}

func (s *server) setUp(ctx context.Context, process *run.Process) error {
	p, err := s.provider(ctx, process)
	if err != nil {
		return fmt.Errorf("start provider %s: %w", s.plugin.Name, err)
	}
	owner, err := s.identity(ctx, process)
	if err != nil {
		return err
	}
	a := &assembly{server: s, process: process, provider: decorate.Own(p, owner.owner), owner: owner, metrics: machine.NewMetrics(run.Metrics)}
	if err := a.controllers(ctx); err != nil {
		return err
	}
	process.Beside(s.also...)
	return nil
}

// provider creates the provider and decorates it. From the inside out: calls have timeouts, rates are limited, reads are
// shared, other specs are tried, and errors get the form in which they are reported.
func (s *server) provider(ctx context.Context, process *run.Process) (provider.Provider, error) {
	env := Env{Clock: clock.RealClock{}, Control: process.Control, Namespace: s.flags.NamespaceOf, Background: func(f func(context.Context) error) { s.also = append(s.also, f) }}
	var err error
	if _, env.Target, err = process.Flags.Configs(); err != nil {
		return nil, err
	}
	if env.Objects, err = objectsOf(process); err != nil {
		return nil, err
	}
	p, err := s.plugin.New(ctx, env)
	if err != nil {
		return nil, err
	}
	if t := process.Tracer; t != nil { // the real calls, as with metrics
		p = decorate.Calls(p, t.Call)
	}
	return decorated(p, s.rate, s.plugin.Limits, run.Metrics)
}

// limitsAt returns l with another rate. Calls with a separate limit, because they change resources, keep their share of the
// rate.
func limitsAt(l decorate.Limits, rate float64) decorate.Limits {
	if l.Writes != nil && l.PerSecond > 0 {
		writes := *l.Writes
		writes.PerSecond *= rate / l.PerSecond
		l.Writes = &writes
	}
	l.PerSecond = rate
	return l
}

func decorated(p provider.Provider, rate float64, l decorate.Limits, r prometheus.Registerer) (provider.Provider, error) {
	p, err := decorate.Metrics(p, r, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	p = decorate.Deadline(p, clock.RealClock{}, decorate.Deadlines{})
	if rate > 0 {
		p = decorate.Limit(p, clock.RealClock{}, limitsAt(l, rate))
	}
	return decorate.Redact(decorate.Fallback(decorate.Coalesce(p, clock.RealClock{}, decorate.Reads{}))), nil
}
