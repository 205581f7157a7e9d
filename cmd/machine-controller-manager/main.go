// Command machine-controller-manager runs the controllers that need no
// infrastructure: the machine sets of both APIs.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/run"
	"github.com/millwright-dev/millwright/provider"
)

// machineSets is the one kind of controller so far.
const machineSets = "machineset"

// leases are those under which the originals lead.
var leases = map[string]string{
	provider.OpenShift: "cluster-api-provider-machineset-leader",
	provider.Gardener:  "machine-controller-manager",
}

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var flags run.Flags
	var controllers []string
	var freeze safety
	c := &cobra.Command{
		Use:           "machine-controller-manager",
		Short:         "Keep machine sets as they are declared",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if i := slices.IndexFunc(controllers, func(n string) bool { return n != machineSets && n != "*" }); i >= 0 {
				return fmt.Errorf("--controllers: unknown controller %q: want %s", controllers[i], machineSets)
			}
			if err := freeze.check(); err != nil {
				return err
			}
			return serve(c.Context(), &flags, &freeze)
		},
	}
	flags.AddFlags(c.Flags(), 10258)
	run.AddLogFlags(c.Flags())
	freeze.addFlags(c.Flags())
	addLater(c.Flags())
	c.Flags().StringSliceVar(&controllers, "controllers", []string{"*"}, "controllers to run: "+machineSets+", or * for all")
	return c
}

func serve(ctx context.Context, flags *run.Flags, freeze *safety) error {
	if err := flags.Complete(); err != nil {
		return err
	}
	process, err := run.New(flags, klog.Background().WithName("machine-controller-manager"))
	if err != nil {
		return err
	}
	guarded := program{process, freeze}
	for _, api := range flags.APIs {
		mgr, err := process.Manager(api, leases[api])
		if err != nil {
			return err
		}
		switch api {
		case provider.OpenShift:
			err = sets[*machinev1.MachineSet](ctx, guarded, mgr, openshift.Sets{}, "machineset_controller")
		case provider.Gardener:
			err = sets[*v1alpha1.MachineSet](ctx, guarded, mgr, gardener.Sets{}, "machineset-controller")
		}
		if err != nil {
			return fmt.Errorf("set up %s: %w", api, err)
		}
	}
	return process.Run(ctx)
}

// program is the process and what its flags ask of single controllers.
type program struct {
	*run.Process
	freeze *safety
}

// sets sets up the machine set controller of one API.
func sets[S client.Object](ctx context.Context, p program, mgr ctrl.Manager, lens dialect.Sets[S], source string) error {
	o := machineset.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Recorder: mgr.GetEventRecorder(source),
	}
	p.freeze.apply(&o)
	s := machineset.Setup{MaxConcurrent: min(p.Flags.Workers, 10)}
	if p.Target != nil {
		o.Nodes, s.NodeCache = p.Target.GetClient(), p.Target.GetCache()
	}
	return machineset.New(lens, o).SetupWithManager(ctx, mgr, s)
}

// addLater accepts the flags of controllers and webhooks that are not built
// yet, so that the manifests of the originals work unchanged.
func addLater(fs *pflag.FlagSet) {
	const note = "accepted, without effect yet"
	fs.Bool("autoscaler-scaledown-annotation-during-rollout", true, note)
	fs.Bool("webhook-enabled", true, note)
	fs.Int("webhook-port", 8443, note)
	fs.String("webhook-cert-dir", "/etc/machine-api-operator/tls", note)
}
