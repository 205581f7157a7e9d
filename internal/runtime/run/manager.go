package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/runtime/pace"
	"github.com/millwright-dev/millwright/internal/runtime/queue"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

// Scheme returns a scheme with the types of all APIs and of Kubernetes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two of our own types collide
		}
	}
	return s
}

// Process is a controller process during its setup.
type Process struct {
	Flags   *Flags
	Log     logr.Logger
	Control *rest.Config
	// Target is the cluster that machines join; nil if they join none.
	Target cluster.Cluster

	// Prober probes both clusters.
	Prober *Prober
	// Clock is the time of the control cluster, for times that are written there and in the other one.
	Clock *serverclock.Clock
	// Tracer traces the lives of machines; nil if not configured.
	Tracer Tracer

	*surroundings
	scheme   *runtime.Scheme
	managers []ctrl.Manager
	// caches are the caches of the control cluster, by API.
	caches map[string]cache.Cache
	// terms are the terms of the leases.
	terms    *Terms
	leases   []*lease
	indexed  bool
	identity *node.Identity
	health   probes
	denied   map[reflect.Type]bool
	events   record.EventBroadcaster
	beside   []func(context.Context) error
	// traced stops the tracing.
	traced func()
}

// New connects to the clusters, which need not answer yet.
func New(f *Flags, log logr.Logger) (*Process, error) {
	log = Quiet(log)
	ctrl.SetLogger(log)
	p := &Process{Flags: f, Log: log, scheme: Scheme(), terms: NewTerms(), caches: map[string]cache.Cache{}, denied: map[reflect.Type]bool{}}
	p.health.lacks("the process starts")
	if err := measureRequests(); err != nil {
		return nil, err
	}
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
	if p.Tracer, p.traced, err = f.tracing.start(p.Clock, log); err != nil {
		return nil, err
	}
	p.Control, p.surroundings = control, &surroundings{control: control, log: log}
	if target != nil {
		if p.Target, err = p.join(target); err != nil {
			return nil, fmt.Errorf("connect to the target cluster: %w", err)
		}
	}
	return p, nil
}

// Queue returns the queue of a controller whose objects are not equally urgent.
func Queue(ctx context.Context, class queue.Turn) queue.Constructor {
	return queue.By(ctx, class)
}

// look creates the prober of both clusters.
func (p *Process) look() error {
	probes, err := p.probes()
	if err != nil {
		return err
	}
	p.Prober = NewProber(probes, p.Flags.connectivityPolicy(), p.Clock, p.Log)
	if err := metrics.Registry.Register(p.Prober); err != nil {
		return fmt.Errorf("register the metric of freezes: %w", err)
	}
	if err := metrics.Registry.Register(p.terms); err != nil {
		return fmt.Errorf("register the metric of leases: %w", err)
	}
	return nil
}

// join connects to the cluster that machines join.
func (p *Process) join(target *rest.Config) (cluster.Cluster, error) {
	return cluster.New(target, func(o *cluster.Options) {
		o.Scheme = p.scheme
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.ByObject = slim()
		o.Cache.NewInformer = p.informer
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}
	})
}

// Nodes returns the cluster that machines join, for changes while the process holds the lease; nil if they
// join none. A process that calls it watches nodes, pods and budgets.
func (p *Process) Nodes(ctx context.Context, lease string) (*node.Cluster, error) {
	if p.Target == nil {
		return nil, nil
	}
	if !p.indexed {
		if err := p.findDenied(ctx); err != nil {
			return nil, err
		}
		if err := node.SetupIndexes(ctx, p.Target.GetFieldIndexer()); err != nil {
			return nil, fmt.Errorf("index nodes: %w", err)
		}
		p.indexed = true
	}
	c := node.New(p.Term(lease).Guarded(p.Target.GetClient()), p.Target.GetAPIReader(), p.Clock)
	c.Identity = p.Identity()
	return c, nil
}

// Identity returns the identity of the cluster that machines join. All callers in the process share it, so it
// is read once for them. The process needs such a cluster.
func (p *Process) Identity() *node.Identity {
	if p.identity == nil {
		p.identity = &node.Identity{Live: p.Target.GetAPIReader(), Clock: p.Clock}
	}
	return p.identity
}

// Term returns the term of the process as the holder of a lease.
func (p *Process) Term(lease string) *leading.Term {
	return p.terms.of(lease, func() *leading.Term { return p.Flags.Election.term(clock.RealClock{}) })
}

// Manager creates a manager for one API, which leads under the given lease. All managers of an API share a
// cache.
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
			return p.Term(lease).Guarded(inner), nil
		},
		NewCache: func(c *rest.Config, o cache.Options) (cache.Cache, error) { return p.cacheOf(api, c, o) },
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
	if known, _ := apis.Of(api); known.CoreEvents {
		if err := p.tellCore(); err != nil {
			return nil, err
		}
	}
	m, err := p.manager(api, o)
	if err != nil {
		return nil, fmt.Errorf("make the manager of %s: %w", api, err)
	}
	p.managers = append(p.managers, m)
	return m, nil
}

// cacheOf returns the cache of an API, which one of its managers starts.
func (p *Process) cacheOf(api string, c *rest.Config, o cache.Options) (cache.Cache, error) {
	if known := p.caches[api]; known != nil {
		return sharedCache{known}, nil
	}
	made, err := cache.New(c, o)
	if err != nil {
		return nil, err
	}
	p.caches[api] = made
	p.health.need(check{"caches of " + api, synced(made)})
	return made, nil
}

// sharedCache is a cache that another manager starts.
type sharedCache struct{ cache.Cache }

// Start implements [cache.Cache].
func (sharedCache) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// manager creates a manager whose lease updates its term.
func (p *Process) manager(api string, o ctrl.Options) (ctrl.Manager, error) {
	if !o.LeaderElection {
		return ctrl.NewManager(p.Control, o)
	}
	l, err := newLease(p.Control, o.LeaderElectionNamespace, o.LeaderElectionID, p.Flags.Election, p.Term(o.LeaderElectionID))
	if err != nil {
		return nil, err
	}
	poll := min(leasePoll, p.Flags.Election.RetryPeriod)
	o.LeaderElectionResourceLockInterface, o.RetryPeriod = l, &poll
	m, err := ctrl.NewManager(p.Control, o)
	if err != nil {
		return nil, err
	}
	l.events = p.Recorder(api, m, "leader-election")
	p.health.need(check{"lease " + l.Describe(), l.state})
	p.leases = append(p.leases, l)
	return m, nil
}

// ConditionsNamespace is the namespace of the ConfigMap that health checks share, without a control
// namespace.
const ConditionsNamespace = "openshift-machine-api"

// commonConditions is the only ConfigMap that any controller reads.
func commonConditions(namespace string) map[client.Object]cache.ByObject {
	only := fields.OneTermEqualSelector("metadata.name", healthchecking.ConditionsConfigMap)
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{namespace: {FieldSelector: only}}},
	}
}

// Home returns the namespace of the process's own objects, for any APIs that it serves.
func (p *Process) Home() string {
	return cmp.Or(p.Flags.Election.Namespace, p.Flags.Namespace, podNamespace())
}

// podNamespace returns the namespace of leases without a control namespace.
func podNamespace() string {
	if ns := os.Getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	return "kube-system"
}

// synced reports whether a cache is filled, without waiting for it.
func synced(c cache.Cache) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return "", errors.New("not filled yet")
		}
		return "filled", nil
	}
}

// Run calls setUp to create managers, once there is an API to serve, and runs them until ctx ends or one of
// them stops. Probes are answered from the beginning. A standby's caches are as warm as the leader's. Run
// returns when no change is in progress any more, also after the lease was lost: calls to the infrastructure
// get their answers.
func (p *Process) Run(ctx context.Context, setUp func(context.Context) error) error {
	defer func() {
		for t := range p.terms.each() {
			t.Idle()
		}
		p.traced()
	}()
	asked := ctx
	g, ctx := errgroup.WithContext(ctx)
	if err := p.answer(ctx, g); err != nil {
		return err
	}
	g.Go(func() error {
		if err := p.await(ctx); err != nil {
			return err
		}
		if err := p.look(); err != nil {
			return err
		}
		if err := setUp(ctx); err != nil {
			return err
		}
		return p.start(ctx, g)
	})
	err := g.Wait()
	if errors.Is(err, errAnew) || asked.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Beside runs f in addition to the managers, without leader election.
func (p *Process) Beside(f ...func(context.Context) error) { p.beside = append(p.beside, f...) }

// start runs the managers.
func (p *Process) start(ctx context.Context, g *errgroup.Group) error {
	p.health.moving(check{"looks at API servers", p.Prober.moves})
	g.Go(func() error { return p.Prober.Start(ctx) })
	g.Go(func() error { return p.watchLacks(ctx) })
	for _, l := range p.leases {
		g.Go(func() error { return l.Watch(ctx) })
	}
	if p.Target != nil {
		p.health.need(check{"cache of the cluster that machines join", synced(p.Target.GetCache())})
		g.Go(func() error { return p.Target.Start(ctx) })
		if !p.Target.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("the target cluster's cache did not fill")
		}
	}
	for _, m := range p.managers {
		g.Go(func() error { return m.Start(ctx) })
	}
	for _, f := range p.beside {
		g.Go(func() error { return f(ctx) })
	}
	return nil
}
