// Package run has what all controller processes share: flags, clients, managers, leader election, metrics,
// health, events and logs.
//
// A process serves one or both APIs. Each API has its own manager, with the lease, the namespace and the
// cache that its users expect; they share one view of the cluster that machines join, and the process's other
// objects.
package run

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// NoTarget as --target-kubeconfig says that machines join no cluster.
const NoTarget = "none"

// Place has the defaults of a program's flags, by the program of an original that it replaces.
type Place struct {
	// APIs are the served APIs; empty is every API whose kinds the control cluster has.
	APIs []string
	// Metrics and Health are addresses. Without one for metrics, they are on Port of every address; without
	// one for health, it has no address of its own.
	Metrics, Health string
	Port            int
	// Plain serves metrics in plain HTTP by default, like the originals.
	Plain bool
}

// PlaceOf returns the defaults of the original's program of that name, among those that need an
// infrastructure or among the others. Programs of other names serve every API on the port.
func PlaceOf(name string, needsProvider bool, port int) Place {
	p, api, known := apis.ProgramOf(name, needsProvider)
	if !known {
		return Place{Port: port}
	}
	return Place{APIs: []string{api}, Metrics: p.Metrics, Health: p.Health, Port: port, Plain: true}
}

// Flags are the flags of every controller process. The names are those of the two originals.
type Flags struct {
	// APIs are the APIs to serve; once the process runs, those of them that are served.
	APIs              []string
	Namespace         string
	ControlKubeconfig string
	TargetKubeconfig  string
	Workers           int
	MetricsAddress    string
	HealthAddress     string
	Profiling         bool
	QPS               float32
	Burst             int
	ResyncPeriod      time.Duration
	Election          Election
	// SightTimeout and SightPeriod say when a cluster that does not answer freezes the controllers, and how
	// often the clusters are probed.
	SightTimeout, SightPeriod time.Duration

	kubeconfig string
	listening  listening
	serving    serving
	tracing    tracing
	set        *pflag.FlagSet
}

// listening is the default address of metrics.
type listening struct {
	address string
	port    int
	plain   bool // as [Place]
}

// Election are the settings of leader election.
type Election struct {
	Enabled                                   bool
	Namespace                                 string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// defaultElection are the settings of machine.sapcloud.io's original.
var defaultElection = Election{Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

// term returns the term of a process that takes part in the election, and does not lead yet.
func (e Election) term(clk clock.WithTicker) *leading.Term {
	if !e.Enabled {
		return leading.NewTerm(0, 0, clk)
	}
	return leading.NewTerm(e.LeaseDuration, e.RenewDeadline, clk)
}

// AddFlags binds the flags. They may be spelt with underscores.
func (f *Flags) AddFlags(fs *pflag.FlagSet, p Place) {
	f.set = fs
	fs.SetNormalizeFunc(dashed)
	fs.StringSliceVar(&f.APIs, "apis", p.APIs, "API groups to serve; empty is every one whose kinds the control cluster has")
	fs.StringVar(&f.Namespace, "namespace", "", "control namespace; empty is every namespace for machine.openshift.io and \"default\" for machine.sapcloud.io")
	fs.StringVar(&f.ControlKubeconfig, "control-kubeconfig", "", "kubeconfig of the cluster that holds the machine objects; empty is the target's, inClusterConfig this pod's")
	fs.StringVar(&f.TargetKubeconfig, "target-kubeconfig", "", "kubeconfig of the cluster that the machines join; empty is --kubeconfig, \"none\" is no cluster")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the only cluster; empty is $KUBECONFIG, or this pod's if that is not set")
	fs.IntVar(&f.Workers, "concurrent-syncs", 200, "number of objects of one kind that are reconciled at the same time")
	fs.IntVar(&f.Workers, "max-concurrent-reconciles", 200, "the same as --concurrent-syncs")
	fs.StringVar(&f.MetricsAddress, "metrics-bind-address", p.Metrics, "address of the metrics endpoint, \"0\" for none; empty is --address and --port")
	fs.StringVar(&f.HealthAddress, "health-addr", p.Health, "separate address of /healthz and /readyz; empty for none")
	fs.StringVar(&f.listening.address, "address", "0.0.0.0", "IP address of the metrics endpoint")
	fs.IntVar(&f.listening.port, "port", p.Port, "port of the metrics endpoint")
	fs.BoolVar(&f.Profiling, "profiling", false, "serve /debug/pprof/ on the metrics port")
	fs.Float32Var(&f.QPS, "kube-api-qps", 0, "requests per second to each API server; 0 leaves the limit to the server's priority and fairness")
	fs.IntVar(&f.Burst, "kube-api-burst", 30, "burst of --kube-api-qps")
	fs.DurationVar(&f.ResyncPeriod, "min-resync-period", 10*time.Minute, "interval at which every object is reconciled without a change")
	fs.BoolVar(&f.Election.Enabled, "leader-elect", defaultElection.Enabled, "wait for the lease before acting")
	fs.StringVar(&f.Election.Namespace, "leader-elect-resource-namespace", "", "namespace of the lease; empty is the control namespace")
	fs.DurationVar(&f.Election.LeaseDuration, "leader-elect-lease-duration", defaultElection.LeaseDuration, "how long other processes wait for a leader that does not renew the lease")
	fs.DurationVar(&f.Election.RenewDeadline, "leader-elect-renew-deadline", defaultElection.RenewDeadline, "how long a leader tries to renew the lease before it stops; by default two thirds of the lease's duration, or 107s if the lease's duration is longer than 107s")
	fs.DurationVar(&f.Election.RetryPeriod, "leader-elect-retry-period", defaultElection.RetryPeriod, "pause between attempts; by default two fifteenths of the lease's duration, or 26s if the lease's duration is longer than 107s")
	fs.DurationVar(&f.SightTimeout, "machine-safety-apiserver-statuscheck-timeout", 30*time.Second, "how long the API server of either cluster may be silent until the controllers stop creating, replacing and judging machines")
	fs.DurationVar(&f.SightPeriod, "machine-safety-apiserver-statuscheck-period", time.Minute, "maximum interval between probes of the API servers; a fifth of the timeout if that is shorter")
	f.listening.plain = p.Plain
	f.serving.addFlags(fs)
	f.tracing.addFlags(fs)
	f.addIgnored(fs)
}

// addIgnored accepts flags of the originals that have no effect here, so that their manifests work unchanged.
func (f *Flags) addIgnored(fs *pflag.FlagSet) {
	var ignored pflag.FlagSet
	ignored.String("cloud-provider", "", "accepted, without effect")
	ignored.String("kube-api-content-type", "application/vnd.kubernetes.protobuf", "accepted, without effect")
	ignored.Duration("controller-start-interval", 0, "accepted, without effect")
	ignored.Bool("contention-profiling", false, "accepted, without effect")
	ignored.String("leader-elect-resource-lock", "leases", "accepted, without effect: leases are always used")
	ignored.String("feature-gates", "", "gates of webhooks; elsewhere accepted, without effect")
	ignored.Bool("enable-pprof", false, "accepted, without effect: use --profiling")
	ignored.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	fs.AddFlagSet(&ignored)
}

// Complete checks the flags and derives defaults from other flags.
func (f *Flags) Complete() error {
	if len(f.APIs) == 0 && f.set.Changed("apis") {
		return fmt.Errorf("--apis: at least one is needed")
	}
	if len(f.APIs) == 0 {
		f.APIs = apis.Names()
	}
	for i, api := range f.APIs {
		known, ok := apis.Of(api)
		if !ok {
			return fmt.Errorf("--apis: unknown API %q: want %s", api, apis.Choice())
		}
		f.APIs[i] = known.Name
	}
	if f.Workers < 1 {
		return fmt.Errorf("--concurrent-syncs: must be at least 1, not %d", f.Workers)
	}
	if f.ResyncPeriod < 0 {
		return fmt.Errorf("--min-resync-period: must not be negative, is %s", f.ResyncPeriod)
	}
	if f.SightTimeout < 0 || f.SightPeriod < f.SightTimeout {
		return fmt.Errorf("--machine-safety-apiserver-statuscheck-period, --machine-safety-apiserver-statuscheck-timeout: the period (%s) must not be shorter than the timeout (%s), nor that negative", f.SightPeriod, f.SightTimeout)
	}
	if f.TargetKubeconfig == NoTarget && f.ControlKubeconfig == "" {
		return fmt.Errorf("--control-kubeconfig: must be set where --target-kubeconfig is %q", NoTarget)
	}
	if err := f.completeElection(); err != nil {
		return err
	}
	if f.MetricsAddress == "" {
		at := f.listening
		if net.ParseIP(at.address) == nil || at.port < 0 || at.port > 65535 {
			return fmt.Errorf("--address, --port: %s:%d is no address", at.address, at.port)
		}
		f.MetricsAddress = net.JoinHostPort(at.address, strconv.Itoa(at.port))
	}
	return errors.Join(f.completeServing(), f.tracing.check())
}

// The deadline and the pause of the originals of machine.openshift.io.
const (
	renewDeadline = 107 * time.Second
	retryPeriod   = 26 * time.Second
)

// completeElection derives the deadline and the pause from the lease's duration if only that is given, as the
// originals do: a lease of two minutes outlasts an API server that is unavailable for one and a half.
func (f *Flags) completeElection() error {
	e := &f.Election
	if e.LeaseDuration == 0 { // the original's value for its default
		e.LeaseDuration = defaultElection.LeaseDuration
	}
	deadline, pause := e.LeaseDuration*2/3, e.LeaseDuration*2/15
	if e.LeaseDuration > renewDeadline {
		deadline, pause = renewDeadline, retryPeriod
	}
	if !f.set.Changed("leader-elect-renew-deadline") {
		e.RenewDeadline = deadline
	}
	if !f.set.Changed("leader-elect-retry-period") {
		e.RetryPeriod = pause
	}
	if e.RenewDeadline >= e.LeaseDuration || e.RetryPeriod <= 0 || e.RetryPeriod*6/5 >= e.RenewDeadline {
		return fmt.Errorf("--leader-elect-lease-duration, --leader-elect-renew-deadline, --leader-elect-retry-period: "+
			"the lease (%s) must last longer than the deadline (%s), and that longer than one and a fifth of the pause (%s)",
			e.LeaseDuration, e.RenewDeadline, e.RetryPeriod)
	}
	return nil
}

// dashed accepts flags with underscores.
func dashed(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// Serves reports whether the process serves the API.
func (f *Flags) Serves(api string) bool { return slices.Contains(f.APIs, api) }

// NamespaceOf returns the control namespace for the API; empty is all.
func (f *Flags) NamespaceOf(api string) string {
	if known, ok := apis.Of(api); ok && f.Namespace == "" && !f.set.Changed("namespace") {
		return known.Namespace
	}
	return f.Namespace
}

// Configs returns the clients' configurations of both clusters; target is nil if machines join none.
func (f *Flags) Configs() (control, target *rest.Config, err error) {
	if f.TargetKubeconfig != NoTarget {
		if target, err = f.config(f.TargetKubeconfig); err != nil {
			return nil, nil, fmt.Errorf("--target-kubeconfig: %w", err)
		}
	}
	if f.ControlKubeconfig == "" {
		return target, target, nil
	}
	if control, err = f.config(f.ControlKubeconfig); err != nil {
		return nil, nil, fmt.Errorf("--control-kubeconfig: %w", err)
	}
	return control, target, nil
}

func (f *Flags) config(path string) (*rest.Config, error) {
	rules := clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	if path == "" {
		rules.ExplicitPath = f.kubeconfig
	}
	if rules.ExplicitPath == "" {
		rules.Precedence = filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	}
	c, err := load(&rules, path == inCluster)
	if err != nil {
		return nil, err
	}
	bound(c, callTime)
	c.QPS, c.Burst = f.QPS, f.Burst
	// The API server warns of the finalizers' names on every write; clients depend on those names.
	c.WarningHandler = rest.NoWarnings{}
	// Compressing each event of a watch and each list costs both sides more processor time than it saves on
	// the network.
	c.DisableCompression = true
	if f.QPS == 0 {
		c.QPS = -1
	}
	return c, nil
}

// inCluster, as the path of a kubeconfig, is the pod's own configuration.
const inCluster = "inClusterConfig"

// load reads the kubeconfig, or, if none is named, the service account mounted into the pod.
func load(rules *clientcmd.ClientConfigLoadingRules, pod bool) (*rest.Config, error) {
	if pod || rules.ExplicitPath == "" && len(rules.Precedence) == 0 {
		c, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig and $%s are not set: %w", clientcmd.RecommendedConfigPathEnvVar, err)
		}
		return c, nil
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
}
