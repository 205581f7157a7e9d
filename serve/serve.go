// Package serve turns a provider into a machine controller. The program of a provider calls [Main].
//
// The package adds the parts that every provider needs: flags, clients, leader election, metrics, and the decorators
// of package decorate. It also adds the controllers that need the infrastructure. They reconcile machines of both
// APIs, publish the capacity of machine sets and deployments for scaling from zero, protect machine classes, and
// approve certificate requests.
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
	// APIs has the API groups whose machines the provider creates; empty means all. The name of the program does not
	// change this. The program does not change machines of other groups.
	APIs []string
	// AddFlags adds the flags of the provider. It may be nil.
	AddFlags func(*pflag.FlagSet)
	// New creates the provider, after flags are parsed and clusters are connected.
	New func(ctx context.Context, e Env) (provider.Provider, error)
	// Limits has the default rate limits of an account. Flags override them. A PerSecond of 0 means no limit.
	Limits decorate.Limits
	// Commands has additional commands of the program. It may be empty.
	Commands []*cobra.Command
}

// Env is the environment of a provider in its process.
type Env struct {
	// Target is the cluster that the machines join, or nil if they join none. Control is the cluster with the machine
	// objects. The limits of the controllers do not apply to writes to Target, because a provider that simulates
	// nodes writes like their kubelets.
	Target, Control *rest.Config
	// Background runs f beside the controllers, with or without leadership. f must be safe to run in several
	// processes.
	Background func(f func(context.Context) error)
	Clock      clock.WithTicker
	// Objects reads named objects of the control cluster. The role of the provider must allow the verb get for these
	// objects.
	Objects provider.Objects
	// Namespace returns the namespace of the control cluster that has the machines of the API; empty means all
	// namespaces.
	Namespace func(api string) string
}

// terminationHandler is the name of a program in a provider's image. An operator runs it on nodes whose instances the
// cloud may interrupt.
const terminationHandler = "termination-handler"

// Main parses the command line, runs the plugin until the process receives a signal, and ends the process. With only
// --programs, it lists the names of the programs in the image. Images of the originals' providers use the second or
// third name.
func Main(p Plugin) {
	if len(os.Args) == 2 && os.Args[1] == "--programs" {
		fmt.Printf("machine-controller-%s\nmachine-controller\nmachine-controller-manager\n%s\n", p.Name, terminationHandler)
		return
	}
	run.Main(called(os.Args[0], p))
}

// called returns the program with this name.
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

// server has the flags of one process.
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

// provider creates the provider and decorates it. From the inside out, the decorators measure calls, set timeouts,
// limit rates, share reads, try fallback specs, and redact errors.
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
	if t := process.Tracer; t != nil { // trace the calls that metrics count
		p = decorate.Calls(p, t.Call)
	}
	return decorated(p, s.rate, s.plugin.Limits, run.Metrics)
}

// limitsAt returns l with another rate. The separate limit for calls that change resources keeps its share of the
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
