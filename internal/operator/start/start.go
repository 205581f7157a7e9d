// Package start has the program machine-api-operator: its command line, and the process around package operator.
package start

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/operator"
	"github.com/millwright-dev/millwright/internal/operator/operands"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

// The environment of the program.
const (
	envNamespace = "COMPONENT_NAMESPACE"
	envRelease   = "RELEASE_VERSION"
	envPort      = "METRICS_PORT"
)

// Default paths.
const (
	defaultNamespace = "openshift-machine-api"
	defaultPort      = 8443
	certificates     = "/etc/tls/private"
)

// Command is the program as a command.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use: operator.Name, Short: "Deploy and maintain the controllers of machine.openshift.io in a cluster",
		SilenceUsage: true, SilenceErrors: true,
	}
	c.AddCommand(startCommand())
	run.AddVersion(c)
	return c
}

func startCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "start", Short: "Start the operator", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(o.log.Apply(), o.complete()); err != nil {
				return err
			}
			return o.run(c.Context())
		},
	}
	o.addFlags(c.Flags())
	o.log = run.AddLogFlags(c.Flags())
	return c
}

// options are the flags and the environment.
type options struct {
	kubeconfig, images, health string
	given                      operator.Given
	tls                        struct{ version, suites string }
	certDir                    string
	namespace, release         string
	port                       int
	// elect is false in tests only.
	elect bool
	log   *run.LogFlags
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; empty is $KUBECONFIG, and this pod's where that is not set")
	fs.StringVar(&o.images, "images-json", "", "file with the images of the programs, as a JSON object of strings (required)")
	fs.StringVar(&o.given.Platform, "platform", "", "type of the infrastructure (AWS, OpenStack, kubemark, ...), in a cluster without config.openshift.io")
	fs.StringVar(&o.given.ClusterID, "cluster-id", "", "infrastructure name of the cluster, in a cluster without config.openshift.io")
	fs.StringVar(&o.tls.version, "tls-min-version", "", "minimum TLS version of the metrics port; empty for that of the cluster's profile")
	fs.StringVar(&o.tls.suites, "tls-cipher-suites", "", "cipher suites of the metrics port, separated by commas; empty for those of the cluster's profile")
	fs.StringVar(&o.certDir, "tls-cert-dir", certificates, "folder with the certificate of the metrics port (tls.crt, tls.key); if it has none, the process creates one")
	fs.StringVar(&o.health, "health-addr", ":9440", "address of /healthz and /readyz; empty for none")
	fs.BoolVar(&o.elect, "leader-elect", true, "wait for the lease before acting")
}

// complete reads the environment, and checks everything.
func (o *options) complete() error {
	o.namespace, o.release, o.port = defaultNamespace, os.Getenv(envRelease), defaultPort
	if ns := os.Getenv(envNamespace); ns != "" {
		o.namespace = ns
	}
	if text := os.Getenv(envPort); text != "" {
		port, err := strconv.Atoi(text)
		if err != nil || port < 0 || port > 65535 {
			return fmt.Errorf("$%s: want a port from 0, for none, to 65535, got %q", envPort, text)
		}
		o.port = port
	}
	if o.images == "" {
		return errors.New("--images-json: must be set")
	}
	_, err := o.settings(operands.Intermediate())
	return err
}

// settings are the settings of the port: those of the flags, else those of the profile.
func (o *options) settings(profile operands.TLS) (*tls.Config, error) {
	version, suites := o.tls.version, strings.Split(o.tls.suites, ",")
	if version == "" {
		version = profile.MinVersion
	}
	if o.tls.suites == "" {
		suites = profile.Suites
	}
	set, err := run.TLSOf(version, suites)
	if err != nil {
		return nil, err
	}
	out := &tls.Config{}
	set(out)
	return out, nil
}

// config is the client's configuration, with the bounds that all programs have.
func (o *options) config() (*rest.Config, error) {
	var f run.Flags
	fs := pflag.NewFlagSet(operator.Name, pflag.ContinueOnError)
	f.AddFlags(fs, run.Place{})
	if err := fs.Set("kubeconfig", o.kubeconfig); err != nil {
		return nil, err
	}
	c, _, err := f.Configs()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return c, nil
}

func (o *options) run(ctx context.Context) error {
	log := run.Quiet(klog.Background().WithName(operator.Name))
	ctrl.SetLogger(log)
	config, err := o.config()
	if err != nil {
		return err
	}
	clk := serverclock.New(clock.RealClock{}, log)
	config.Wrap(clk.Wrap)
	scheme := run.Scheme()
	if err := operator.Scheme(scheme); err != nil {
		return fmt.Errorf("add the types of config.openshift.io: %w", err)
	}
	var profile atomic.Pointer[operands.TLS]
	profile.Store(ptr.To(operands.Intermediate()))
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	mgr, err := o.manager(config, log, scheme, &profile, timesOf(ctx, live))
	if err != nil {
		return err
	}
	groups, err := discovery.NewDiscoveryClientForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client for discovery: %w", err)
	}
	events, stop, err := recorder(config, scheme)
	if err != nil {
		return err
	}
	defer stop()
	op := operator.New(operator.Options{
		Client: live, Discovery: groups, Events: events, Clock: clk, Namespace: o.namespace, Release: o.release, ImagesFile: o.images,
		Given: o.given, SawTLS: func(t operands.TLS) { profile.Store(&t) },
	})
	err = errors.Join(
		op.SetupWithManager(mgr, clock.RealClock{}),
		statemetrics.SetupWithManager(mgr, log, statemetrics.OpenShiftMachines(), statemetrics.OpenShiftMachineSets()),
	)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (o *options) manager(config *rest.Config, log logr.Logger, scheme *runtime.Scheme, profile *atomic.Pointer[operands.TLS], t times) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Logger: log,
		LeaderElection: o.elect, LeaderElectionID: operator.Name, LeaderElectionNamespace: o.namespace, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &t.lease, RenewDeadline: &t.deadline, RetryPeriod: &t.pause,
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), DefaultNamespaces: map[string]cache.Config{o.namespace: {}}},
		Metrics: o.metrics(profile), HealthProbeBindAddress: zeroForNone(o.health), LivenessEndpointName: "/healthz", ReadinessEndpointName: "/readyz",
	})
	if err != nil {
		return nil, fmt.Errorf("make a manager: %w", err)
	}
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping))
}

func zeroForNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// metrics are served by HTTPS to clients that the API server permits to get them. A new profile of the
// cluster applies from the next connection on, and so does a later certificate: a service CA creates one
// for a Service, possibly after this process has started.
func (o *options) metrics(profile *atomic.Pointer[operands.TLS]) metricsserver.Options {
	if o.port == 0 {
		return metricsserver.Options{BindAddress: "0"}
	}
	mounted := &folder{dir: o.certDir}
	return metricsserver.Options{
		BindAddress: net.JoinHostPort("", strconv.Itoa(o.port)), SecureServing: true, FilterProvider: run.OnlyReaders,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				s, err := o.settings(*profile.Load())
				if err != nil {
					return nil, err
				}
				each := c.Clone()
				each.GetConfigForClient, each.MinVersion, each.CipherSuites = nil, s.MinVersion, s.CipherSuites
				if pair := mounted.certificate(); pair != nil {
					each.Certificates, each.GetCertificate = []tls.Certificate{*pair}, nil
				}
				return each, nil
			}
		}},
	}
}

// recorder records events of core/v1, as the original does, until stop is called.
func recorder(config *rest.Config, scheme *runtime.Scheme) (events record.EventRecorder, stop func(), err error) {
	c, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for events: %w", err)
	}
	b := record.NewBroadcaster()
	b.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.Events("")})
	return b.NewRecorder(scheme, corev1.EventSource{Component: operator.Name}), b.Shutdown, nil
}
