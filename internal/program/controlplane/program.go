// Package controlplane has the program that replaces machines of a control plane. It takes the place of an original's program, by its name, flags, ports and lease.
package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/admission"
	rules "github.com/millwright-dev/millwright/internal/admission/controlplane"
	"github.com/millwright-dev/millwright/internal/controller/controlplanemachineset"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// Name is the name of the program.
const Name = "control-plane-machine-set-operator"

// The original's defaults.
const (
	defaultNamespace = "openshift-machine-api"
	leaseDuration    = 137 * time.Second
	webhookPort      = 9443
	certDir          = "/tmp/k8s-webhook-server/serving-certs"
	envRelease       = "RELEASE_VERSION"
	unknownRelease   = "unknown"
)

// certificateSecret stores the certificate of the webhook if the process creates it.
const certificateSecret = Name + "-webhook-cert"

// options are the flags that other programs do not have, and the rules of infrastructures for provider specs.
type options struct {
	flags   run.Flags
	log     *run.LogFlags
	lease   string
	webhook struct {
		port    int
		certDir string
	}
	admitters admission.Admitters
}

// Command returns the program as a command. The admitters have the rules of infrastructures, by the type of platform of Infrastructure objects ("AWS").
func Command(admitters admission.Admitters) *cobra.Command {
	o := &options{admitters: admitters}
	c := &cobra.Command{
		Use: Name, Short: "Replace machines of the control plane, for control plane machine sets of " + machinev1.GroupName,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(o.log.Apply(), o.check(), o.flags.Complete()); err != nil {
				return err
			}
			return o.serve(c.Context())
		},
	}
	o.addFlags(c.Flags())
	o.log = run.AddLogFlags(c.Flags())
	run.AddVersion(c)
	return c
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	place := run.PlaceOf(Name, false, 0)
	place.Plain = false // the original serves metrics over HTTPS
	o.flags.AddFlags(fs, place)
	for name, value := range map[string]string{
		"namespace": defaultNamespace, "leader-elect-lease-duration": leaseDuration.String(), "concurrent-syncs": "1", "max-concurrent-reconciles": "1",
	} {
		f := fs.Lookup(name)
		f.DefValue = value
		if err := f.Value.Set(value); err != nil {
			panic(err)
		}
	}
	fs.StringVar(&o.flags.HealthAddress, "health-probe-bind-address", o.flags.HealthAddress, "the same as --health-addr")
	fs.StringVar(&o.lease, "leader-elect-resource-name", controlplanemachineset.Lease, "name of the lease")
	fs.IntVar(&o.webhook.port, "webhook-port", webhookPort, "port of the webhook; 0 for none")
	fs.StringVar(&o.webhook.certDir, "webhook-cert-dir", certDir,
		"folder with the webhook's certificate (tls.crt, tls.key); if it has none, the process creates a certificate and makes API servers trust it")
}

func (o *options) check() error {
	if o.webhook.port < 0 || o.webhook.port > 65535 {
		return fmt.Errorf("--webhook-port: must be from 0 to 65535, is %d", o.webhook.port)
	}
	return nil
}

func (o *options) serve(ctx context.Context) error {
	process, err := run.New(&o.flags, klog.Background().WithName(Name))
	if err != nil {
		return err
	}
	if process.Target == nil {
		return errors.New("--target-kubeconfig: the program reads the nodes of a cluster")
	}
	return process.Run(ctx, func(ctx context.Context) error {
		mgr, err := process.Manager(machinev1.GroupName, o.lease)
		if err != nil {
			return err
		}
		if err := controlplanemachineset.AddToScheme(mgr.GetScheme()); err != nil {
			return err
		}
		objects, err := dynamic.NewForConfig(process.Control)
		if err != nil {
			return fmt.Errorf("make a client: %w", err)
		}
		d := &defaults{admitters: o.admitters, facts: admission.NewFacts(objects, given())}
		return errors.Join(o.setUp(ctx, process, mgr, d), o.serveWebhook(process, mgr, objects))
	})
}

// setUp sets up the controllers, if the cluster has the kind.
func (o *options) setUp(ctx context.Context, process *run.Process, mgr ctrl.Manager, d *defaults) error {
	if has, err := process.Has(ctx, controlplanemachineset.Kind); err != nil || !has {
		return err
	}
	platform := true
	for _, kind := range []string{"Infrastructure", "ClusterOperator"} {
		has, err := process.Has(ctx, schema.GroupVersionKind{Group: configv1.GroupName, Version: configv1.GroupVersion.Version, Kind: kind})
		if err != nil {
			return err
		}
		platform = platform && has
	}
	recorder, err := run.CoreRecorder(process, controlplanemachineset.Source)
	if err != nil {
		return err
	}
	return controlplanemachineset.SetupWithManager(mgr, controlplanemachineset.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: process.Target.GetClient(), Namespace: o.flags.Namespace, Defaults: d.at,
		Recorder: recorder, Release: cmp.Or(os.Getenv(envRelease), unknownRelease), Clock: process.Clock,
	}, controlplanemachineset.Setup{NodeCache: process.Target.GetCache(), Platform: platform})
}

// serveWebhook serves the webhook in each replica, with or without the lease.
func (o *options) serveWebhook(process *run.Process, mgr ctrl.Manager, objects dynamic.Interface) error {
	if o.webhook.port == 0 {
		return nil
	}
	settings, err := o.flags.TLS()
	if err != nil {
		return err
	}
	direct, err := client.New(process.Control, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("make the webhook's client: %w", err)
	}
	process.Beside(admission.NewServer(admission.ServerOptions{
		Port: o.webhook.port, TLS: settings, CertDir: o.webhook.certDir,
		Secret: client.ObjectKey{Namespace: process.Home(), Name: certificateSecret},
		Client: direct, Objects: objects, Admitters: o.admitters, Given: given(),
		Handlers: rules.Handlers(direct), Configurations: []string{rules.Configuration},
		Clock: process.Clock, Log: process.Log.WithName("webhook"),
	}).Run)
	return nil
}

// given are the facts of a cluster that has no Infrastructure.
func given() (c admission.Cluster) {
	c.Platform.Architecture = runtime.GOARCH
	return c
}

// defaults fill in the fields that webhooks fill in when a machine is created, so that a set that omits them differs from no machine.
type defaults struct {
	admitters admission.Admitters
	facts     *admission.Facts
}

// at reads what defaults depend on. The original's role does not allow to read the DNS of the cluster, which no default of a machine depends on.
func (d *defaults) at(ctx context.Context) (controlplanemachineset.Filler, error) {
	if err := d.facts.Refresh(ctx); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	c := d.facts.Now()
	return func(platform configv1.PlatformType, m *machinev1beta1.Machine) ([]byte, error) {
		filled, faults := admission.Rules{Admitter: d.admitters[cmp.Or(string(platform), c.Type)], Platform: c.Platform}.DefaultMachine(m)
		if len(faults) > 0 || filled.Spec == nil {
			return m.Spec.ProviderSpec.Value.Raw, faults.ToAggregate()
		}
		return filled.Spec, nil
	}, nil
}
