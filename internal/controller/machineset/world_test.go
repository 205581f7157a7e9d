package machineset_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// api is one of the two API groups, as far as the tests have to tell them
// apart.
type api[S client.Object] struct {
	lens dialect.Sets[S]
	set  func(name string, replicas int) S
	size func(s S, replicas int)
}

var pool = map[string]string{"pool": "a"}

var openshiftAPI = api[*machinev1.MachineSet]{
	lens: openshift.Sets{},
	set: func(name string, n int) *machinev1.MachineSet {
		return &machinev1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: machinev1.MachineSetSpec{
				Replicas: ptr.To(int32(n)),
				Selector: metav1.LabelSelector{MatchLabels: pool},
				Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: pool}},
			},
		}
	},
	size: func(s *machinev1.MachineSet, n int) { s.Spec.Replicas = ptr.To(int32(n)) },
}

var gardenerAPI = api[*v1alpha1.MachineSet]{
	lens: gardener.Sets{},
	set: func(name string, n int) *v1alpha1.MachineSet {
		return &v1alpha1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.MachineSetSpec{
				Replicas: int32(n),
				Selector: &metav1.LabelSelector{MatchLabels: pool},
				Template: v1alpha1.MachineTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: pool},
					Spec:       v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "class"}},
				},
			},
		}
	},
	size: func(s *v1alpha1.MachineSet, n int) { s.Spec.Replicas = int32(n) },
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// world is an API server with a cache that lags behind it, and replies that
// get lost. Reads go to the cache, writes to the server.
type world[S client.Object] struct {
	client.Client
	api[S]
	cache client.Client
	clock *clocktesting.FakePassiveClock
	uids  int
	// fate is asked before every creation.
	fate func() fate
	late []client.Object
	// leaving are machines whose deletion reaches the server after the client has timed out; slow says that
	// this is to happen.
	slow    bool
	leaving []client.Object
	// created counts creations that reached the server.
	created int
	// others are further objects that the cache shows.
	others []client.Object
	// handover is how long creations of an earlier process may take to arrive.
	handover time.Duration
}

type fate string

const (
	fine     fate = "fine"
	lost     fate = "lost"     // done, but the reply is lost
	dropped  fate = "dropped"  // not done, and no reply
	delayed  fate = "delayed"  // no reply now, done later
	rejected fate = "rejected" // the server says no
)

const namespace = "ns"

func newWorld[S client.Object](a api[S]) *world[S] {
	w := &world[S]{api: a, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.fate = func() fate { return fine }
	w.Client = w.build()
	w.cache = w.build()
	return w
}

func (w *world[S]) build(objs ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme()).WithObjects(objs...).
		WithStatusSubresource(w.lens.New(), w.lens.Traits().Machine()).
		WithIndex(w.lens.Traits().Machine(), index.Owner, index.OwnerKeys).Build()
}

// Get reads from the cache.
func (w *world[S]) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return w.cache.Get(ctx, key, o, opts...)
}

// List reads from the cache.
func (w *world[S]) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return w.cache.List(ctx, l, opts...)
}

// Create reaches the server or not, and its reply comes back or not.
func (w *world[S]) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	timeout := apierrors.NewTimeoutError("the server was too slow", 1)
	f := w.fate()
	switch f {
	case rejected:
		return apierrors.NewForbidden(machinev1.Resource("machines"), o.GetName(), fmt.Errorf("quota"))
	case dropped:
		return timeout
	case delayed:
		w.late = append(w.late, o.DeepCopyObject().(client.Object))
		return timeout
	}
	if f == lost {
		o = o.DeepCopyObject().(client.Object)
	}
	if err := w.store(ctx, o); err != nil {
		return err
	}
	if f == lost {
		return timeout
	}
	return nil
}

// Delete reaches the server at once, or later and without a reply.
func (w *world[S]) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if w.slow {
		w.leaving = append(w.leaving, o)
		return apierrors.NewTimeoutError("the server was too slow", 1)
	}
	return w.Client.Delete(ctx, o, opts...)
}

func (w *world[S]) store(ctx context.Context, o client.Object) error {
	w.uids++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
	o.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	err := w.Client.Create(ctx, o)
	if err == nil {
		w.created++
	}
	return err
}

// land lets the delayed creations reach the server.
func (w *world[S]) land(ctx context.Context) {
	for _, o := range w.late {
		if err := w.store(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			panic(err)
		}
	}
	w.late = nil
}

// sync lets the cache catch up with the server: with the sets, the machines,
// or both, because their watches are independent.
func (w *world[S]) sync(t testing.TB, sets, machines bool) {
	t.Helper()
	from := func(fresh bool) client.Client {
		if fresh {
			return w.Client
		}
		return w.cache
	}
	var objs []client.Object
	s := w.lens.New()
	if err := from(sets).Get(t.Context(), w.key(), s); err == nil {
		objs = append(objs, s)
	}
	objs = append(objs, w.machinesOf(t, from(machines))...)
	objs = append(objs, w.others...)
	w.cache = w.build(objs...)
}

func (w *world[S]) machinesOf(t testing.TB, r client.Reader) (out []client.Object) {
	t.Helper()
	list := w.lens.Traits().Machines()
	if err := r.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return w.items(list)
}

func (w *world[S]) items(list client.ObjectList) (out []client.Object) {
	switch l := list.(type) {
	case *machinev1.MachineList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *v1alpha1.MachineList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	}
	return out
}

// replicas are the machines on the server that are not being deleted.
func (w *world[S]) replicas(t testing.TB) (n int) {
	t.Helper()
	for _, m := range w.machinesOf(t, w.Client) {
		if m.GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n
}

// bury ends the deletions under way, as machine controllers would.
func (w *world[S]) bury(t testing.TB) {
	t.Helper()
	for _, m := range w.machinesOf(t, w.Client) {
		if m.GetDeletionTimestamp() == nil {
			continue
		}
		m.SetFinalizers(nil)
		if err := w.Client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world[S]) key() types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "set"}
}

func (w *world[S]) declare(t testing.TB, replicas int) {
	t.Helper()
	s := w.api.set("set", replicas)
	s.SetNamespace(namespace)
	s.SetUID("set-uid")
	s.SetGeneration(1)
	if err := w.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func (w *world[S]) scale(t testing.TB, replicas int) {
	t.Helper()
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	w.api.size(s, replicas)
	if err := w.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// controller is a fresh one, as after a restart. With a handover, an earlier process may have led.
func (w *world[S]) controller() *machineset.Reconciler[S] {
	n := 0
	restart := w.uids
	return machineset.New(w.lens, machineset.Options{
		Client: w, Live: w.Client, Clock: w.clock, Recorder: &events.FakeRecorder{},
		Names:   func() string { n++; return fmt.Sprintf("%c%04d", 'a'+restart%26, n+1000*(restart/26)) },
		Creates: replicas.Sequential, Deletes: replicas.Sequential, Settled: leading.NewTenure(w.clock, w.handover).Settled,
	})
}

func (w *world[S]) reconcile(t testing.TB, r *machineset.Reconciler[S]) (reconcile.Result, error) {
	t.Helper()
	return r.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key()})
}

// rest reconciles with a cache that keeps up until nothing is asked for.
func (w *world[S]) rest(t testing.TB, r *machineset.Reconciler[S]) {
	t.Helper()
	for range 200 {
		w.land(t.Context())
		w.sync(t, true, true)
		res, err := w.reconcile(t, r)
		w.clock.SetTime(w.clock.Now().Add(max(time.Second, res.RequeueAfter)))
		if err == nil && res.RequeueAfter == 0 {
			return
		}
	}
	t.Fatal("does not come to rest")
}
