// Command machine-controller-manager runs the controllers that need no
// infrastructure: the machine sets and machine deployments of both APIs, and
// health checks.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
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
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var flags run.Flags
	var o options
	c := &cobra.Command{
		Use:           "machine-controller-manager",
		Short:         "Keep machine sets and machine deployments as they are declared",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return serve(c.Context(), &flags, &o)
		},
	}
	flags.AddFlags(c.Flags(), 10258)
	run.AddLogFlags(c.Flags())
	o.addFlags(c.Flags())
	addLater(c.Flags())
	return c
}

// options are what the flags ask of single controllers.
type options struct {
	controllers []string
	// stay keeps the autoscaler off nodes during a rollout.
	stay   bool
	freeze safety
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.controllers, "controllers", []string{allControllers},
		"controllers to run: "+machineSets+", "+machineDeployments+", "+machineHealthChecks+", or * for all")
	fs.BoolVar(&o.stay, "autoscaler-scaledown-annotation-during-rollout", true,
		"ask the autoscaler to leave the nodes of a deployment alone during its rollout")
	o.freeze.addFlags(fs)
}

func (o *options) check() error {
	known := []string{machineSets, machineDeployments, machineHealthChecks, allControllers}
	if i := slices.IndexFunc(o.controllers, func(n string) bool { return !slices.Contains(known, n) }); i >= 0 {
		return fmt.Errorf("--controllers: unknown controller %q: want %s, %s, %s or * for all", o.controllers[i], machineSets, machineDeployments, machineHealthChecks)
	}
	return o.freeze.check()
}

func (o *options) runs(controller string) bool {
	return slices.Contains(o.controllers, controller) || slices.Contains(o.controllers, allControllers)
}

func serve(ctx context.Context, flags *run.Flags, o *options) error {
	if err := flags.Complete(); err != nil {
		return err
	}
	process, err := run.New(flags, klog.Background().WithName("machine-controller-manager"))
	if err != nil {
		return err
	}
	for _, api := range flags.APIs {
		known, _ := apis.Of(api)
		mgr, err := process.Manager(api, known.SetLease())
		if err != nil {
			return err
		}
		row := apiTable()[slices.IndexFunc(apiTable(), func(r served) bool { return r.api == api })]
		p := program{Process: process, options: o, mgr: mgr, api: api}
		if err := row.setUp(ctx, p); err != nil {
			return fmt.Errorf("set up %s: %w", api, err)
		}
		if err := setUpHealth(p, row); err != nil {
			return fmt.Errorf("set up %s: %w", api, err)
		}
	}
	return process.Run(ctx)
}

// program is what the controllers of one API are set up with.
type program struct {
	*run.Process
	*options
	mgr ctrl.Manager
	api string
}

// nodes are those of the cluster that machines join, to be changed while the
// process leads.
func (p program) nodes() client.Client { return p.Term(p.api).Guarded(p.Target.GetClient()) }

// sources are the names under which the controllers tell events.
type sources struct{ sets, deployments string }

// setUp sets up those controllers of one API that are to run.
func setUp[D, S client.Object](ctx context.Context, p program, sets dialect.Sets[S], deployments dialect.Deployments[D, S], as sources) error {
	if err := setUpSets(ctx, p, sets, as.sets); err != nil {
		return err
	}
	if p.runs(machineDeployments) {
		alarms, err := alarmsFor(p, sets)
		if err != nil {
			return err
		}
		return setUpDeployments(ctx, p, deployments, alarms, as.deployments)
	}
	return nil
}

func setUpSets[S client.Object](ctx context.Context, p program, lens dialect.Sets[S], source string) error {
	o := machineset.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Clock: p.Clock, Recorder: p.mgr.GetEventRecorder(source),
		Connectivity: p.Prober,
	}
	p.freeze.apply(&o)
	s := machineset.Setup{MaxConcurrent: min(p.Flags.Workers, 10)}
	if p.Target != nil {
		o.Nodes, s.NodeCache = p.nodes(), p.Target.GetCache()
	}
	r := machineset.New(lens, o)
	if err := r.Index(ctx, p.mgr.GetFieldIndexer()); err != nil || !p.runs(machineSets) {
		return err
	}
	return r.SetupWithManager(p.mgr, s)
}

func setUpDeployments[D, S client.Object](ctx context.Context, p program, lens dialect.Deployments[D, S], alarms machinedeployment.Alarms, source string) error {
	o := machinedeployment.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Clock: p.Clock, Recorder: p.mgr.GetEventRecorder(source),
		Connectivity: p.Prober, Alarms: alarms,
	}
	s := machinedeployment.Setup{MaxConcurrent: min(p.Flags.Workers, 10)}
	if p.Target != nil {
		o.Nodes, o.LiveNodes, s.NodeCache = p.nodes(), p.Target.GetAPIReader(), p.Target.GetCache()
	}
	return machinedeployment.New(lens, o).SetupWithManager(ctx, p.mgr, s)
}

// addLater accepts the flags of controllers and webhooks that are not built
// yet, so that the manifests of the originals work unchanged.
func addLater(fs *pflag.FlagSet) {
	const note = "accepted, without effect yet"
	fs.Bool("webhook-enabled", true, note)
	fs.Int("webhook-port", 8443, note)
	fs.String("webhook-cert-dir", "/etc/machine-api-operator/tls", note)
}
