package run

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/runtime/pace"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

// Scheme knows the types of all APIs and of Kubernetes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two of our own types collide
		}
	}
	return s
}

// Process is a controller process in the making.
type Process struct {
	Flags   *Flags
	Log     logr.Logger
	Control *rest.Config
	// Target is the cluster that machines join; nil when they join none.
	Target cluster.Cluster

	// Prober looks at both clusters.
	Prober *Prober
	// Clock tells the time of the control cluster, for what was and will be written
	// down there and in the other one.
	Clock *serverclock.Clock

	scheme   *runtime.Scheme
	managers []ctrl.Manager
	terms    map[string]*leading.Term
	leases   []*lease
	indexed  bool
}

// New connects to the clusters.
func New(f *Flags, log logr.Logger) (*Process, error) {
	ctrl.SetLogger(log)
	p := &Process{Flags: f, Log: log, scheme: Scheme(), terms: map[string]*leading.Term{}}
	control, target, err := f.Configs()
	if err != nil {
		return nil, err
	}
	p.Clock = serverclock.New(clock.RealClock{}, log)
	control.Wrap(p.Clock.Wrap)
	pace.Wrap(control)
	if target != nil && target != control {
		pace.Wrap(target)
	}
	p.Control = control
	if target != nil {
		if p.Target, err = p.join(target); err != nil {
			return nil, fmt.Errorf("connect to the target cluster: %w", err)
		}
	}
	probes, err := p.probes()
	if err != nil {
		return nil, err
	}
	p.Prober = NewProber(probes, f.connectivityPolicy(), p.Clock, log)
	if err := metrics.Registry.Register(p.Prober); err != nil {
		return nil, fmt.Errorf("register the metric of freezes: %w", err)
	}
	return p, nil
}

// join connects to the cluster that machines join.
func (p *Process) join(target *rest.Config) (cluster.Cluster, error) {
	return cluster.New(target, func(o *cluster.Options) {
		o.Scheme = p.scheme
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.ByObject = slim()
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}
	})
}

// Nodes is the cluster that machines join, to be changed while the process leads
// the API; nil when they join none. A process that asks for it watches nodes,
// pods and budgets.
func (p *Process) Nodes(ctx context.Context, api string) (*node.Cluster, error) {
	if p.Target == nil {
		return nil, nil
	}
	if !p.indexed {
		if err := node.SetupIndexes(ctx, p.Target.GetFieldIndexer()); err != nil {
			return nil, fmt.Errorf("index nodes: %w", err)
		}
		p.indexed = true
	}
	return node.New(p.Term(api).Guarded(p.Target.GetClient()), p.Target.GetAPIReader(), p.Clock), nil
}

// Term is that of the process as the leader of an API.
func (p *Process) Term(api string) *leading.Term {
	if p.terms[api] == nil {
		p.terms[api] = p.Flags.Election.term(clock.RealClock{})
	}
	return p.terms[api]
}

// Manager makes the manager of one API, to lead under the given lease. The
// first one of a process also serves metrics and health.
func (p *Process) Manager(api, lease string) (ctrl.Manager, error) {
	f := p.Flags
	namespace := f.NamespaceOf(api)
	o := ctrl.Options{
		Scheme: p.scheme, Logger: p.Log.WithValues("api", api),
		LeaderElection: f.Election.Enabled, LeaderElectionID: lease, LeaderElectionNamespace: f.Election.Namespace,
		LeaseDuration: &f.Election.LeaseDuration, RenewDeadline: &f.Election.RenewDeadline, RetryPeriod: &f.Election.RetryPeriod,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields(), SyncPeriod: &f.ResyncPeriod},
		NewClient: func(c *rest.Config, o client.Options) (client.Client, error) {
			inner, err := newClient(c, o)
			if err != nil {
				return nil, err
			}
			return p.Term(api).Guarded(inner), nil
		},
	}
	if o.LeaderElectionNamespace == "" {
		o.LeaderElectionNamespace = namespace
	}
	if o.LeaderElectionNamespace == "" {
		o.LeaderElectionNamespace = podNamespace()
	}
	if namespace != "" {
		o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	o.Cache.ByObject = commonConditions(cmp.Or(namespace, ConditionsNamespace))
	if len(p.managers) == 0 {
		o.HealthProbeBindAddress = f.HealthAddress
		o.Metrics = metricsserver.Options{BindAddress: f.MetricsAddress, ExtraHandlers: p.handlers()}
	}
	m, err := p.manager(api, o)
	if err != nil {
		return nil, fmt.Errorf("make the manager of %s: %w", api, err)
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := m.AddReadyzCheck("caches", synced(m)); err != nil {
		return nil, err
	}
	p.managers = append(p.managers, m)
	return m, nil
}

// manager makes a manager whose lease tells the API's term.
func (p *Process) manager(api string, o ctrl.Options) (ctrl.Manager, error) {
	if !o.LeaderElection {
		return ctrl.NewManager(p.Control, o)
	}
	l, err := newLease(p.Control, o.LeaderElectionNamespace, o.LeaderElectionID, p.Flags.Election, p.Term(api))
	if err != nil {
		return nil, err
	}
	poll := min(leasePoll, p.Flags.Election.RetryPeriod)
	o.LeaderElectionResourceLockInterface, o.RetryPeriod = l, &poll
	m, err := ctrl.NewManager(p.Control, o)
	if err != nil {
		return nil, err
	}
	l.events = m.GetEventRecorder("leader-election")
	p.leases = append(p.leases, l)
	return m, nil
}

// ConditionsNamespace is where the ConfigMap is that health checks share, where
// no control namespace is given.
const ConditionsNamespace = "openshift-machine-api"

// commonConditions is the only ConfigMap that any controller reads.
func commonConditions(namespace string) map[client.Object]cache.ByObject {
	only := fields.OneTermEqualSelector("metadata.name", healthchecking.ConditionsConfigMap)
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{namespace: {FieldSelector: only}}},
	}
}

// podNamespace is where leases go that belong to no control namespace.
func podNamespace() string {
	if ns := os.Getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	return "kube-system"
}

func synced(m ctrl.Manager) healthz.Checker {
	return func(r *http.Request) error {
		if !m.GetCache().WaitForCacheSync(r.Context()) {
			return fmt.Errorf("caches are not filled yet")
		}
		return nil
	}
}

// handlers are those beside /metrics: users of machine.sapcloud.io expect the
// health of the process on the same port.
func (p *Process) handlers() map[string]http.Handler {
	out := map[string]http.Handler{"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("OK"))
	})}
	if p.Flags.Profiling {
		out["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		out["/debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
		out["/debug/pprof/trace"] = http.HandlerFunc(pprof.Trace)
	}
	return out
}

// Run runs all managers until ctx ends or one of them stops. A standby's
// caches are as warm as the leader's. It returns when no change is under way any
// more, also where the lease was lost: who calls the infrastructure hears what
// came of it.
func (p *Process) Run(ctx context.Context, also ...func(context.Context) error) error {
	defer func() {
		for _, t := range p.terms {
			t.Idle()
		}
	}()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.Prober.Start(ctx) })
	for _, l := range p.leases {
		g.Go(func() error { return l.Watch(ctx) })
	}
	if p.Target != nil {
		g.Go(func() error { return p.Target.Start(ctx) })
		if !p.Target.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("the target cluster's cache did not fill")
		}
	}
	for _, m := range p.managers {
		g.Go(func() error { return m.Start(ctx) })
	}
	for _, f := range also {
		g.Go(func() error { return f(ctx) })
	}
	return g.Wait()
}
