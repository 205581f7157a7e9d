package machineset_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	// The controller manager brings the garbage collector.
	os.Exit(devplanetest.Main(m, devplanetest.Options{Components: []string{devplane.ControllerManager}}))
}

// cluster is a namespace of the real API server in which the sets of one API
// are kept, and machines come and go by a stand-in for their controller.
type cluster[S client.Object] struct {
	api[S]
	client.Client
	namespace string
	// statusWrites counts those of sets.
	statusWrites atomic.Int64
}

func startCluster[S client.Object](t *testing.T, a api[S]) *cluster[S] {
	t.Helper()
	env := devplanetest.Start(t)
	c := &cluster[S]{api: a, namespace: devplanetest.Namespace(t)}
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:     scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{c.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.New(env.Config, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	c.Client = live
	writes, err := client.NewWithWatch(env.Config, client.Options{Scheme: scheme(), Cache: &client.CacheOptions{Reader: mgr.GetCache()}})
	if err != nil {
		t.Fatal(err)
	}
	counting := interceptor.NewClient(writes, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, k client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			c.statusWrites.Add(1)
			return k.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	r := machineset.New(a.lens, machineset.Options{
		Client: counting, Live: mgr.GetAPIReader(), Nodes: mgr.GetClient(), Recorder: mgr.GetEventRecorder("machineset"),
	})
	if err := r.Index(t.Context(), mgr.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	if err := r.SetupWithManager(mgr, machineset.Setup{NodeCache: mgr.GetCache()}); err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("stand-in").For(a.lens.Traits().Machine()).Complete(standIn[S]{c}); err != nil {
		t.Fatal(err)
	}
	devplanetest.Run(t, mgr.Start)
	return c
}

// standIn makes machines run, with a ready node where the API has a reference
// to one, and lets them go when they are deleted, unless they are held.
type standIn[S client.Object] struct{ c *cluster[S] }

func (s standIn[S]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	m := s.c.lens.Traits().Machine()
	if err := s.c.Get(ctx, req.NamespacedName, m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := m.DeepCopyObject().(client.Object)
	if m.GetDeletionTimestamp() != nil {
		if _, held := m.GetAnnotations()[hold]; held {
			return reconcile.Result{}, nil
		}
		m.SetFinalizers(nil)
		return reconcile.Result{}, client.IgnoreNotFound(s.c.Patch(ctx, m, client.MergeFrom(before)))
	}
	switch m := m.(type) {
	case *v1alpha1.Machine:
		if m.Status.CurrentStatus.Phase != "" {
			return reconcile.Result{}, nil
		}
		m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
	case *machinev1.Machine:
		if m.Status.NodeRef != nil {
			return reconcile.Result{}, nil
		}
		if err := s.c.join(ctx, m); err != nil {
			return reconcile.Result{}, err
		}
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: m.Name}
	}
	return reconcile.Result{}, s.c.Status().Patch(ctx, m, client.MergeFrom(before))
}

func (c *cluster[S]) join(ctx context.Context, m client.Object) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        m.GetName(),
		Annotations: map[string]string{"machine.openshift.io/machine": m.GetNamespace() + "/" + m.GetName()},
	}}
	if err := c.Create(ctx, n); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	return c.Status().Update(ctx, n)
}

// declare creates a set whose name no other test uses, since nodes are named
// for its machines and belong to the whole cluster.
func (c *cluster[S]) declare(t *testing.T, replicas int, changes ...func(S)) S {
	t.Helper()
	s := c.set("set-"+c.namespace, replicas)
	s.SetNamespace(c.namespace)
	for _, change := range changes {
		change(s)
	}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *cluster[S]) scale(t *testing.T, s S, replicas int32) {
	t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := c.SubResource("scale").Update(t.Context(), s, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
}

// machines lists those that are not being deleted.
func (c *cluster[S]) machines(t *testing.T) []client.Object {
	t.Helper()
	w := world[S]{api: c.api}
	list := c.lens.Traits().Machines()
	if err := c.List(t.Context(), list, client.InNamespace(c.namespace)); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(w.items(list), func(m client.Object) bool { return m.GetDeletionTimestamp() != nil })
}

// eventually waits until check says nothing any more. The garbage collector
// looks for new kinds only every 30 seconds.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if said = check(); said == "" {
			return
		}
	}
	t.Fatal(said)
}

// awaitStatus waits for the replicas and ready replicas, and for the selector
// that clients of the scale subresource read.
func (c *cluster[S]) awaitStatus(t *testing.T, s S, replicas int32) {
	t.Helper()
	eventually(t, func() string {
		scale := &autoscalingv1.Scale{}
		if err := c.SubResource("scale").Get(t.Context(), s, scale); err != nil {
			return err.Error()
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err.Error()
		}
		ready, generation := c.reported(s)
		if scale.Status.Replicas == replicas && ready == replicas && generation == s.GetGeneration() && scale.Status.Selector == "pool=a" {
			return ""
		}
		return fmt.Sprintf("status %+v, %d ready, generation %d of %d; want %d", scale.Status, ready, generation, s.GetGeneration(), replicas)
	})
}

func (c *cluster[S]) reported(s S) (ready int32, generation int64) {
	switch s := any(s).(type) {
	case *v1alpha1.MachineSet:
		return s.Status.ReadyReplicas, s.Status.ObservedGeneration
	case *machinev1.MachineSet:
		return s.Status.ReadyReplicas, s.Status.ObservedGeneration
	}
	return 0, 0
}
