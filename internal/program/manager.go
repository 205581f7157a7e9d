// Package program has the programs that need no infrastructure: those that keep sets,
// deployments and health checks. Each takes the place of one of the originals', by its
// name, flags, ports and leases.
package program

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/controller/nodelink"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// The kinds of controllers, as --controllers names them.
const (
	machineSets        = "machineset"
	machineDeployments = "machinedeployment"
	allControllers     = "*"
	// machineHealthChecks also look after machines of the other API.
	machineHealthChecks = "machinehealthcheck"
	// nodeLinks are not among all: machine controllers link nodes themselves.
	nodeLinks = "nodelink"
)

// port is where metrics and health are served where the original has no addresses for them.
const port = 10258

// A Program is one of them.
type Program struct {
	name, short string
	// controllers are those that it runs unless asked for others.
	controllers []string
	// webhooks says that it serves webhooks unless asked not to, admitters which rules those have.
	webhooks  bool
	admitters admission.Admitters
}

// ControllerManager is machine.sapcloud.io's program of sets and deployments. It serves every API, its health checks, and, if asked to, webhooks with the rules
// of infrastructures, by the type of platform that Infrastructure objects name ("AWS"). Provider specs for other types are not judged.
func ControllerManager(admitters admission.Admitters) Program {
	return Program{
		name: "machine-controller-manager", short: "Reconcile machine sets and machine deployments",
		controllers: []string{allControllers}, admitters: admitters,
	}
}

// SetController is machine.openshift.io's program of sets. It serves webhooks, too, by the rules of admitters as [ControllerManager] does.
func SetController(admitters admission.Admitters) Program {
	return Program{
		name: "machineset-controller", short: "Reconcile machine sets and machine deployments of machine.openshift.io",
		controllers: []string{machineSets, machineDeployments}, webhooks: true, admitters: admitters,
	}
}

// HealthCheck is machine.openshift.io's program of health checks.
func HealthCheck() Program {
	return Program{
		name: "machine-healthcheck", short: "Remediate machines with unhealthy nodes, for health checks of machine.openshift.io",
		controllers: []string{machineHealthChecks},
	}
}

// NodeLink is machine.openshift.io's program that ties nodes to machines, for machine
// controllers that do not.
func NodeLink() Program {
	return Program{
		name: "nodelink-controller", short: "Link nodes to their machines of machine.openshift.io",
		controllers: []string{nodeLinks},
	}
}

// Main parses the command line, runs the program until it is told to stop, and ends the
// process.
func Main(p Program) { run.Main(p.Command()) }

// Command is the program as a command.
func (p Program) Command() *cobra.Command {
	var flags run.Flags
	o := options{controllers: p.controllers}
	var log *run.LogFlags
	c := &cobra.Command{
		Use:           p.name,
		Short:         p.short,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(log.Apply(), o.check()); err != nil {
				return err
			}
			return serve(c.Context(), p.name, &flags, &o)
		},
	}
	place := run.PlaceOf(p.name, false, port)
	place.Plain = true // all of them have originals' names
	flags.AddFlags(c.Flags(), place)
	log = run.AddLogFlags(c.Flags())
	o.addFlags(c.Flags())
	o.webhooks.admitters = p.admitters
	o.webhooks.addFlags(c.Flags(), p.webhooks)
	run.AddVersion(c)
	return c
}

// options are what the flags ask of single controllers.
type options struct {
	controllers []string
	// stay keeps the autoscaler off nodes during a rollout.
	stay bool
	// shows says that what sets and machines say is shown as metrics here.
	shows  bool
	freeze safety

	webhooks webhooks
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.controllers, "controllers", o.controllers,
		"controllers to run: "+machineSets+", "+machineDeployments+", "+machineHealthChecks+", or * for all of these; or "+nodeLinks)
	fs.BoolVar(&o.stay, "autoscaler-scaledown-annotation-during-rollout", true,
		"tell the autoscaler not to remove nodes of a deployment during its rollout")
	fs.BoolVar(&o.shows, "object-metrics", true,
		"expose the state of machines, sets and deployments as metrics; false if an operator does this")
	o.freeze.addFlags(fs)
}

func (o *options) check() error {
	known := []string{machineSets, machineDeployments, machineHealthChecks, nodeLinks, allControllers}
	if i := slices.IndexFunc(o.controllers, func(n string) bool { return !slices.Contains(known, n) }); i >= 0 {
		return fmt.Errorf("--controllers: unknown controller %q: want %s, %s, %s, %s or * for all but the last", o.controllers[i], machineSets, machineDeployments, machineHealthChecks, nodeLinks)
	}
	return errors.Join(o.freeze.check(), o.webhooks.check())
}

func (o *options) runs(controller string) bool {
	return slices.Contains(o.controllers, controller) || controller != nodeLinks && slices.Contains(o.controllers, allControllers)
}

func serve(ctx context.Context, name string, flags *run.Flags, o *options) error {
	if err := flags.Complete(); err != nil {
		return err
	}
	process, err := run.New(flags, klog.Background().WithName(name))
	if err != nil {
		return err
	}
	stale := machineset.NewStaleMachines()
	if err := metrics.Registry.Register(stale); err != nil {
		return fmt.Errorf("register the metric of stale machines: %w", err)
	}
	return process.Run(ctx, func(ctx context.Context) error {
		for _, api := range flags.APIs {
			if err := setUpAPI(ctx, program{Process: process, options: o, api: api, stale: stale}); err != nil {
				return fmt.Errorf("set up %s: %w", api, err)
			}
		}
		return o.webhooks.serve(process)
	})
}

// setUpAPI sets up the controllers of one API, each under the lease of its original.
func setUpAPI(ctx context.Context, p program) error {
	known, _ := apis.Of(p.api)
	row := apiTable()[slices.IndexFunc(apiTable(), func(r served) bool { return r.api == p.api })]
	if p.runs(machineSets) || p.runs(machineDeployments) {
		if err := p.leads(known.SetLease()); err != nil {
			return err
		}
		shown := row.shown
		if !p.shows {
			shown = nil
		}
		if err := errors.Join(row.setUp(ctx, p), statemetrics.SetupWithManager(p.mgr, p.Log, shown...)); err != nil {
			return err
		}
	}
	if p.Target == nil {
		return nil
	}
	if len(row.checks) > 0 && p.runs(machineHealthChecks) {
		if err := p.leads(known.CheckLease()); err != nil {
			return err
		}
		if err := setUpHealth(ctx, p, row); err != nil {
			return err
		}
	}
	if row.link == nil || !p.runs(nodeLinks) {
		return nil
	}
	if err := p.leads(known.LinkLease()); err != nil {
		return err
	}
	return row.link(ctx, p)
}

// program is what the controllers of one API are set up with.
type program struct {
	*run.Process
	*options
	api string
	// stale counts machines that sets replaced; the APIs share it.
	stale prometheus.Counter
	// mgr leads under the lease.
	mgr   ctrl.Manager
	lease string
}

// leads lets what is set up from now on wait for the lease.
func (p *program) leads(lease string) (err error) {
	p.lease = lease
	p.mgr, err = p.Manager(p.api, lease)
	return err
}

// nodes are those of the cluster that machines join, to be changed while the
// process holds the lease.
func (p program) nodes() client.Client { return p.Term(p.lease).Guarded(p.Target.GetClient()) }

// recorder tells events under the name of a source.
func (p program) recorder(source string) events.EventRecorder {
	return p.Recorder(p.api, p.mgr, source)
}

// sources are the names under which the controllers report events, and the metrics of deployments that the
// original does not have.
type sources struct {
	sets, deployments string
	shown             []statemetrics.Kind
}

// setUp sets up those controllers of one API that are to run.
func setUp[D, S client.Object](ctx context.Context, p program, sets dialect.Sets[S], deployments dialect.Deployments[D, S], as sources) error {
	if err := setUpSets(ctx, p, sets, as.sets); err != nil {
		return err
	}
	if !p.runs(machineDeployments) {
		return nil
	}
	// The original of machine.openshift.io has no deployments, nor has a cluster with its kinds.
	if has, err := p.Has(ctx, deployments.Traits().Kind); err != nil || !has {
		return err
	}
	if err := statemetrics.SetupWithManager(p.mgr, p.Log, as.shown...); err != nil {
		return err
	}
	alarms, err := alarmsFor(ctx, p, sets)
	if err != nil {
		return err
	}
	return setUpDeployments(ctx, p, deployments, alarms, as.deployments)
}

func setUpSets[S client.Object](ctx context.Context, p program, lens dialect.Sets[S], source string) error {
	tenure, err := run.Tenure(p.mgr, p.Clock)
	if err != nil {
		return err
	}
	o := machineset.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Clock: p.Clock, Recorder: p.recorder(source), Connectivity: p.Prober, StaleMachines: p.stale, Tracer: p.Tracer,
		Settled: tenure.Settled,
	}
	p.freeze.apply(&o)
	s := machineset.Setup{MaxConcurrent: min(p.Flags.Workers, 10)}
	if p.Target != nil {
		o.Nodes, s.NodeCache = p.nodes(), p.Target.GetCache()
	}
	r := machineset.New(lens, o)
	s.NewQueue = run.Queue(ctx, r.Turn)
	if err := r.Index(ctx, p.mgr.GetFieldIndexer()); err != nil || !p.runs(machineSets) {
		return err
	}
	return r.SetupWithManager(p.mgr, s)
}

func setUpDeployments[D, S client.Object](ctx context.Context, p program, lens dialect.Deployments[D, S], alarms machinedeployment.Alarms, source string) error {
	o := machinedeployment.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Clock: p.Clock, Recorder: p.recorder(source), Connectivity: p.Prober, Alarms: alarms,
	}
	s := machinedeployment.Setup{MaxConcurrent: min(p.Flags.Workers, 10)}
	if p.Target != nil {
		o.Nodes, o.LiveNodes, s.NodeCache = p.nodes(), p.Target.GetAPIReader(), p.Target.GetCache()
	}
	return machinedeployment.New(lens, o).SetupWithManager(ctx, p.mgr, s)
}

// setUpLinks ties nodes to the machines of lens.
func setUpLinks[M client.Object](ctx context.Context, p program, lens dialect.Machines[M]) error {
	r, err := nodelink.New(lens, nodelink.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Nodes: p.nodes(), NodesLive: p.Target.GetAPIReader(),
		Clock: p.Clock, Recorder: p.recorder(nodelink.Name),
	})
	if err != nil {
		return err
	}
	if err := r.Index(ctx, p.mgr.GetFieldIndexer(), p.Target.GetFieldIndexer()); err != nil {
		return err
	}
	return r.SetupWithManager(p.mgr, nodelink.Setup{MaxConcurrent: min(p.Flags.Workers, 10), NodeCache: p.Target.GetCache()})
}
