package machinedeployment_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	// Each check of a property makes a world and rolls it: 30 take seconds. The
	// command line may ask for more.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	// The controller manager brings the garbage collector.
	os.Exit(devplanetest.Main(m, devplanetest.Options{Components: []string{devplane.ControllerManager}}))
}

// cluster is a namespace of the real API server in which the deployments and
// sets of one API are kept by their controllers, and machines come and go by a
// stand-in for theirs.
type cluster[D, S client.Object] struct {
	api[D, S]
	client.Client
	t         *testing.T
	namespace string
	// writes counts those of the controller of deployments.
	writes atomic.Int64
}

func startCluster[D, S client.Object](t *testing.T, a api[D, S]) *cluster[D, S] {
	t.Helper()
	env := devplanetest.Start(t)
	c := &cluster[D, S]{api: a, t: t, namespace: devplanetest.Namespace(t)}
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:     scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{c.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	c.must(err)
	c.Client, err = client.New(env.Config, client.Options{Scheme: scheme()})
	c.must(err)
	writes, err := client.NewWithWatch(env.Config, client.Options{Scheme: scheme(), Cache: &client.CacheOptions{Reader: mgr.GetCache()}})
	c.must(err)
	counting := c.counting(writes)
	sets := machineset.New(a.members, machineset.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: mgr.GetClient(), Recorder: mgr.GetEventRecorder("machineset"),
	})
	c.must(sets.Index(t.Context(), mgr.GetFieldIndexer()))
	c.must(sets.SetupWithManager(mgr, machineset.Setup{NodeCache: mgr.GetCache()}))
	r := machinedeployment.New(a.lens, machinedeployment.Options{
		Client: counting, Live: mgr.GetAPIReader(), Nodes: counting, LiveNodes: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("machinedeployment"),
	})
	c.must(r.SetupWithManager(t.Context(), mgr, machinedeployment.Setup{NodeCache: mgr.GetCache()}))
	c.must(ctrl.NewControllerManagedBy(mgr).Named("stand-in").For(a.lens.Sets().Lens().Traits().Machine()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 20}).Complete(standIn[D, S]{c}))
	devplanetest.Run(t, mgr.Start)
	return c
}

func (c *cluster[D, S]) counting(k client.WithWatch) client.Client {
	return interceptor.NewClient(k, interceptor.Funcs{
		Create: func(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			c.writes.Add(1)
			return k.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			c.writes.Add(1)
			return k.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			c.writes.Add(1)
			return k.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, k client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			c.writes.Add(1)
			return k.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}

func (c *cluster[D, S]) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// standIn makes machines run on a ready node, and lets them go with it when
// they are deleted.
type standIn[D, S client.Object] struct{ c *cluster[D, S] }

func (s standIn[D, S]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	m := s.c.lens.Sets().Lens().Traits().Machine()
	if err := s.c.Get(ctx, req.NamespacedName, m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.GetName(), Annotations: map[string]string{"machine.openshift.io/machine": req.String()}}}
	switch {
	case m.GetDeletionTimestamp() != nil:
		before := m.DeepCopyObject().(client.Object)
		m.SetFinalizers(nil)
		if err := client.IgnoreNotFound(s.c.Delete(ctx, n)); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, client.IgnoreNotFound(s.c.Patch(ctx, m, client.MergeFrom(before)))
	case s.c.lens.Machines().View(m, dialect.NoNode).Node != "":
		return reconcile.Result{}, nil
	}
	if err := s.c.Create(ctx, n); client.IgnoreAlreadyExists(err) != nil {
		return reconcile.Result{}, err
	}
	ready := n.DeepCopy()
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	if err := s.c.Status().Patch(ctx, ready, client.MergeFrom(n)); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreNotFound(s.c.link(ctx, s.c.Client, m, n.Name))
}

func (c *cluster[D, S]) declare(replicas int, changes ...func(D)) D {
	c.t.Helper()
	d := c.deployment("roll-"+c.namespace, replicas) // nodes belong to the whole cluster
	d.SetNamespace(c.namespace)
	for _, change := range changes {
		change(d)
	}
	c.must(c.Create(c.t.Context(), d))
	return d
}

// change edits the deployment as its author does.
func (c *cluster[D, S]) change(d D, edit func(D)) {
	c.t.Helper()
	c.must(c.Get(c.t.Context(), client.ObjectKeyFromObject(d), d))
	before := d.DeepCopyObject().(D)
	edit(d)
	c.must(c.Patch(c.t.Context(), d, client.MergeFrom(before)))
}

func (c *cluster[D, S]) sets() []S {
	c.t.Helper()
	list := c.lens.Sets().Lens().Traits().Sets()
	c.must(c.List(c.t.Context(), list, client.InNamespace(c.namespace)))
	return itemsOf[S](c.t, list)
}

// machines lists those that are not being deleted.
func (c *cluster[D, S]) machines() []client.Object {
	c.t.Helper()
	list := c.lens.Sets().Lens().Traits().Machines()
	c.must(c.List(c.t.Context(), list, client.InNamespace(c.namespace)))
	return slices.DeleteFunc(itemsOf[client.Object](c.t, list), func(m client.Object) bool { return m.GetDeletionTimestamp() != nil })
}

// node is that of a machine.
func (c *cluster[D, S]) node(m client.Object) *corev1.Node {
	c.t.Helper()
	n := &corev1.Node{}
	c.must(c.Get(c.t.Context(), client.ObjectKey{Name: m.GetName()}, n))
	return n
}

// eventually waits until check says nothing any more. The garbage collector
// looks for new kinds only every 30 seconds.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if said = check(); said == "" {
			return
		}
	}
	t.Fatal(said)
}

// awaitComplete waits until the deployment says that so many machines of the
// present template, and no others, are available.
func (c *cluster[D, S]) awaitComplete(d D, replicas int) {
	c.t.Helper()
	eventually(c.t, func() string {
		if err := c.Get(c.t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		v := c.lens.View(d, time.Now())
		if v.Last.Progress.Reason == rollout.SetAvailable && v.Last.Updated == replicas && v.Last.Available == replicas && v.Last.Old == 0 && c.observed(d) == d.GetGeneration() {
			return ""
		}
		return fmt.Sprintf("status %+v; want %d available", v.Last, replicas)
	})
}

// awaitRest waits until the controller has written nothing for a second.
func (c *cluster[D, S]) awaitRest() {
	c.t.Helper()
	before, since := c.writes.Load(), time.Now()
	eventually(c.t, func() string {
		if now := c.writes.Load(); now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) > time.Second {
			return ""
		}
		return "writes on and on"
	})
}
