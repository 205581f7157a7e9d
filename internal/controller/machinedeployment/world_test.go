package machinedeployment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// world is an API server with a cache that lags behind it, and replies that
// get lost. Reads go to the cache, writes to the server.
type world[D, S client.Object] struct {
	client.Client
	api[D, S]
	t     testing.TB
	cache *snapshot
	clock *clocktesting.FakePassiveClock
	uids  int
	// fate is asked before every creation of a set and every patch of sets,
	// machines and nodes.
	fate func(o client.Object) fate
	late []func() error
	// lists counts the reads of many objects.
	lists int
	// writes counts those that the reconciler asked for and got, conflicts
	// those that it computed from an older version.
	writes, conflicts int
	// meant are the preconditions of deletions; nil if there were no preconditions.
	meant []*metav1.Preconditions
	told  *events.FakeRecorder
	// alarms are the alarms of health checks; nil: no alarms.
	alarms machinedeployment.Alarms
}

type fate string

const (
	fine     fate = "fine"
	lost     fate = "lost"     // done, but the reply is lost
	dropped  fate = "dropped"  // not done, and no reply
	delayed  fate = "delayed"  // no reply now, done later
	rejected fate = "rejected" // the server says no
	beaten   fate = "beaten"   // another client writes first
)

const namespace = "ns"

var key = types.NamespacedName{Namespace: namespace, Name: "roll"}

func newWorld[D, S client.Object](t testing.TB, a api[D, S]) *world[D, S] {
	w := &world[D, S]{api: a, t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.fate = func(client.Object) fate { return fine }
	w.Client = fake.NewClientBuilder().WithScheme(scheme()).
		WithStatusSubresource(a.lens.New(), a.lens.Sets().Lens().New(), a.lens.Sets().Lens().Traits().Machine(), &corev1.Node{}).Build()
	w.cache = &snapshot{}
	w.told = events.NewFakeRecorder(10000)
	return w
}

// Get reads from the cache.
func (w *world[D, S]) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return w.cache.get(key, o)
}

// List reads from the cache.
func (w *world[D, S]) List(_ context.Context, l client.ObjectList, opts ...client.ListOption) error {
	w.lists++
	return w.cache.list(l, opts...)
}

var errLost = apierrors.NewTimeoutError("the server was too slow", 1)

// Create reaches the server or not, and its reply comes back or not.
func (w *world[D, S]) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	f := w.fate(o)
	switch f {
	case rejected:
		return apierrors.NewForbidden(schema.GroupResource{Resource: "machinesets"}, o.GetName(), errors.New("quota"))
	case dropped:
		return errLost
	case delayed:
		o = o.DeepCopyObject().(client.Object)
		w.late = append(w.late, func() error { return w.store(ctx, o) })
		return errLost
	case lost:
		o = o.DeepCopyObject().(client.Object)
	}
	if err := w.store(ctx, o); err != nil {
		return err
	}
	w.writes++
	if f == lost {
		return errLost
	}
	return nil
}

// Patch reaches the server or not, and its reply comes back or not.
func (w *world[D, S]) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	send := func(o client.Object) error { return w.Client.Patch(ctx, o, client.RawPatch(p.Type(), data)) }
	scratch := o.DeepCopyObject().(client.Object)
	switch f := w.fate(o); f {
	case rejected:
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, o.GetName(), errors.New("admission refuses it"))
	case dropped:
		return errLost
	case beaten:
		w.touch(o)
	case delayed:
		w.late = append(w.late, func() error { return send(scratch) })
		return errLost
	case lost:
		if err := send(scratch); err != nil {
			return err
		}
		return errLost
	}
	err = send(o)
	switch {
	case err == nil:
		w.writes++
	case apierrors.IsConflict(err):
		w.conflicts++
	}
	return err
}

// Delete counts, and notes what is meant.
func (w *world[D, S]) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	w.writes++
	w.meant = append(w.meant, (&client.DeleteOptions{}).ApplyOptions(opts).AsDeleteOptions().Preconditions)
	return w.Client.Delete(ctx, o, opts...)
}

// touch is a write of another client.
func (w *world[D, S]) touch(o client.Object) {
	now := o.DeepCopyObject().(client.Object)
	if err := w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
		return
	}
	before := now.DeepCopyObject().(client.Object)
	dialect.SetAnnotation(now, "somebody.else/was-here", fmt.Sprint(w.uids))
	w.uids++
	w.must(w.Client.Patch(w.t.Context(), now, client.MergeFrom(before)))
}

func (w *world[D, S]) store(ctx context.Context, o client.Object) error {
	w.uids++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
	o.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	return w.Client.Create(ctx, o)
}

func (w *world[D, S]) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// land lets what is delayed reach the server, where it may come too late.
func (w *world[D, S]) land() {
	for _, arrive := range w.late {
		if err := arrive(); err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			w.t.Fatal(err)
		}
	}
	w.late = nil
}

// sync lets the cache catch up with the server in one kind, because watches
// are independent, or in all.
func (w *world[D, S]) sync(kinds ...string) {
	w.t.Helper()
	lists := map[string]client.ObjectList{"sets": w.lens.Sets().Lens().Traits().Sets(), "machines": w.lens.Sets().Lens().Traits().Machines(), "nodes": &corev1.NodeList{}, "deployments": w.deployments(), "checks": &lenient.MachineHealthCheckList{}}
	for kind, list := range lists {
		if len(kinds) > 0 && !slices.Contains(kinds, kind) {
			continue
		}
		w.must(w.Client.List(w.t.Context(), list))
		var objects []client.Object
		w.must(meta.EachListItem(list, func(o runtime.Object) error {
			objects = append(objects, o.(client.Object))
			return nil
		}))
		w.cache.show(list, objects, w.indexes())
	}
}

func (w *world[D, S]) indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		machinedeployment.SetIndex: index.OwnerKeys, index.Owner: index.OwnerKeys,
		machinedeployment.NodeIndex: machinedeployment.New(w.lens, machinedeployment.Options{}).IndexNode,
	}
}

// controller is a fresh one, as after a restart.
func (w *world[D, S]) controller() *machinedeployment.Reconciler[D, S] {
	return machinedeployment.New(w.lens, machinedeployment.Options{
		Client: w, Live: w.Client, Nodes: w, LiveNodes: w.Client, Clock: w.clock, Recorder: w.told, Writes: replicas.Sequential, Alarms: w.alarms,
	})
}

// reconcile makes one pass, and checks that it left alone what it shares with
// the cache.
func (w *world[D, S]) reconcile(r *machinedeployment.Reconciler[D, S]) (reconcile.Result, error) {
	w.t.Helper()
	before := w.cache.copy()
	res, err := r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key})
	if !equality.Semantic.DeepEqual(before, w.cache.kinds) {
		w.t.Fatal("the pass changed an object of the cache")
	}
	return res, err
}

// rest reconciles with a cache that keeps up, while sets and machines do their
// work, until nothing is asked for and nothing changes.
func (w *world[D, S]) rest(r *machinedeployment.Reconciler[D, S]) {
	w.t.Helper()
	for range 400 {
		w.land()
		before := w.writes
		changed := w.work()
		w.sync()
		res, err := w.reconcile(r)
		w.clock.SetTime(w.clock.Now().Add(max(time.Second, min(res.RequeueAfter, time.Minute))))
		if err == nil && res.RequeueAfter == 0 && !changed && w.writes == before {
			return
		}
	}
	w.t.Fatal("does not come to rest")
}

// work is that of the controllers of sets and machines: sets make and delete
// machines until there are as many as are wanted, machines run on nodes, and
// what is deleted goes.
func (w *world[D, S]) work() (changed bool) {
	w.t.Helper()
	for _, s := range w.sets() {
		changed = w.fill(s) || changed
	}
	for _, m := range w.machines() {
		changed = w.bury(m) || w.join(m) || changed
	}
	return changed
}

func (w *world[D, S]) fill(s S) (changed bool) {
	owned := w.machinesOf(s)
	living := slices.DeleteFunc(slices.Clone(owned), func(m client.Object) bool { return m.GetDeletionTimestamp() != nil })
	want := w.setSize(s)
	if s.GetDeletionTimestamp() != nil {
		want = 0
		if len(owned) == 0 {
			s.SetFinalizers(nil)
			w.must(w.Client.Update(w.t.Context(), s))
			return true
		}
	}
	for range want - len(living) {
		w.must(w.store(w.t.Context(), w.members.NewMachine(s, fmt.Sprintf("%s-%d", s.GetName(), w.uids))))
		changed = true
	}
	slices.SortFunc(living, func(a, b client.Object) int {
		x, y := w.viewMachine(a), w.viewMachine(b)
		switch {
		case x.Asked != y.Asked && x.Asked, x.Asked == y.Asked && !x.Usable && y.Usable:
			return -1
		case x.Asked != y.Asked || x.Usable != y.Usable:
			return 1
		}
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	for i := range len(living) - want {
		w.must(w.Client.Delete(w.t.Context(), living[i]))
		changed = true
	}
	return changed
}

// bury ends a deletion.
func (w *world[D, S]) bury(m client.Object) bool {
	if m.GetDeletionTimestamp() == nil {
		return false
	}
	m.SetFinalizers(nil)
	w.must(w.Client.Update(w.t.Context(), m))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + m.GetName()}}
	w.must(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), n)))
	return true
}

// join makes a machine run.
func (w *world[D, S]) join(m client.Object) bool {
	if m.GetDeletionTimestamp() != nil || w.lens.Machines().View(m, dialect.NoNode).Node != "" {
		return false
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + m.GetName()}}
	w.must(client.IgnoreAlreadyExists(w.store(w.t.Context(), n)))
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now())}}
	w.must(w.Client.Status().Update(w.t.Context(), n))
	w.must(w.link(w.t.Context(), w.Client, m, n.Name))
	return true
}

func (w *world[D, S]) sets() []S {
	list := w.lens.Sets().Lens().Traits().Sets()
	w.must(w.Client.List(w.t.Context(), list, client.InNamespace(namespace)))
	return itemsOf[S](w.t, list)
}

func (w *world[D, S]) machines() []client.Object {
	list := w.lens.Sets().Lens().Traits().Machines()
	w.must(w.Client.List(w.t.Context(), list, client.InNamespace(namespace)))
	return itemsOf[client.Object](w.t, list)
}

func (w *world[D, S]) machinesOf(s S) []client.Object {
	return slices.DeleteFunc(w.machines(), func(m client.Object) bool {
		ref := metav1.GetControllerOf(m)
		return ref == nil || ref.UID != s.GetUID()
	})
}

// viewMachine is a machine on the server as facts.
func (w *world[D, S]) viewMachine(m client.Object) rollout.Machine {
	n := &corev1.Node{}
	if err := w.Client.Get(w.t.Context(), client.ObjectKey{Name: w.lens.Machines().View(m, dialect.NoNode).Node}, n); err != nil {
		n = nil
	}
	return w.lens.Machines().View(m, dialect.OnNode(n))
}

func (w *world[D, S]) node(name string) *corev1.Node {
	w.t.Helper()
	n := &corev1.Node{}
	w.must(w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, n))
	return n
}

func itemsOf[O client.Object](t testing.TB, list client.ObjectList) (out []O) {
	t.Helper()
	if err := meta.EachListItem(list, func(o runtime.Object) error { out = append(out, o.(O)); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// deployment is the one on the server.
func (w *world[D, S]) deployment() D {
	w.t.Helper()
	d := w.lens.New()
	w.must(w.Client.Get(w.t.Context(), key, d))
	return d
}

// facts are what the deployment on the server says.
func (w *world[D, S]) facts() rollout.Deployment {
	return w.lens.View(w.deployment(), w.clock.Now()).Deployment
}

func (w *world[D, S]) declare(replicas int, changes ...func(D)) D {
	w.t.Helper()
	d := w.api.deployment("roll", replicas)
	d.SetNamespace(namespace)
	d.SetGeneration(1)
	for _, change := range changes {
		change(d)
	}
	w.must(w.store(w.t.Context(), d))
	return d
}

// change edits the deployment on the server, as its author does.
func (w *world[D, S]) change(edit func(D)) {
	w.t.Helper()
	d := w.deployment()
	edit(d)
	d.SetGeneration(d.GetGeneration() + 1)
	w.must(w.Client.Update(w.t.Context(), d))
}

// viewOf are the sets on the server that the deployment controls.
func (w *world[D, S]) views() (out []rollout.Set) {
	d := w.deployment()
	for _, s := range w.sets() {
		if ref := metav1.GetControllerOf(s); ref != nil && ref.UID == d.GetUID() {
			out = append(out, w.lens.Sets().View(d, s))
		}
	}
	return out
}

// recorded drains the recorded events.
func (w *world[D, S]) recorded() (out []string) {
	for {
		select {
		case e := <-w.told.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{lenient.AddToScheme, v1beta1.AddToScheme, v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}
