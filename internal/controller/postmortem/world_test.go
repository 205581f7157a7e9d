package postmortem_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	shell "github.com/millwright-dev/millwright/internal/controller/postmortem"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	ns       = "blue"
	password = "open-sesame-42"
)

// chatty is a provider whose instances have a console.
type chatty struct {
	provider.Provider
	output string
	err    error
	opened int
}

func (p *chatty) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	p.opened++
	s, err := p.Provider.Open(ctx, c)
	return chattySession{s, p}, err
}

type chattySession struct {
	provider.Session
	p *chatty
}

func (s chattySession) Console(context.Context, provider.Ref, provider.Instance, int) (string, error) {
	return s.p.output, s.p.err
}

// world is a keeper of one API over a fake API server.
type world[M client.Object] struct {
	*testing.T
	api      client.WithWatch
	clock    *clocktesting.FakeClock
	cloud    *providertest.Cloud
	provider *chatty
	requests []postmortem.Request
	asked    []string
	policy   postmortem.Policy
	// refuse is asked before each call ("list events"); nil lets it pass.
	refuse  func(call string) error
	calls   map[string]int
	lens    dialect.Machines[M]
	keeper  *shell.Recorder[M]
	handler handler.EventHandler
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func newWorld[M client.Object](t *testing.T, lens dialect.Machines[M], objects ...client.Object) *world[M] {
	t.Helper()
	w := &world[M]{T: t, clock: clocktesting.NewFakeClock(start), lens: lens, policy: postmortem.DefaultPolicy(), calls: map[string]int{}}
	w.cloud = providertest.NewCloud(w.clock)
	credentials := map[string][]byte{"userData": []byte("#cloud-config"), "key": []byte(password)}
	maps.Copy(credentials, w.cloud.Class(lens.API(), ns).Credentials)
	w.provider = &chatty{Provider: w.cloud.Provider(), output: "boot\njoin abc123.0123456789abcdef with " + password + "\nkubelet: no route to host\n"}
	b := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithObjects(
		&v1alpha1.MachineClass{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "small"}, ProviderSpec: runtime.RawExtension{Raw: []byte(`{"size":"small","zone":"a"}`)},
			SecretRef: &corev1.SecretReference{Namespace: ns, Name: "cloud"},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cloud"}, Data: credentials},
	).WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} })
	for name, get := range map[string]client.IndexerFunc{
		node.ProviderIDIndex: func(o client.Object) []string { return []string{provider.Tail(o.(*corev1.Node).Spec.ProviderID)} },
		node.InternalIPIndex: func(client.Object) []string { return nil },
		node.MarkIndex:       func(client.Object) []string { return nil },
	} {
		b = b.WithIndex(&corev1.Node{}, name, get)
	}
	w.api = interceptor.NewClient(b.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := w.call(fmt.Sprintf("get %T", o)); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := w.call(fmt.Sprintf("list %T", l)); err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.call(fmt.Sprintf("create %T", o)); err != nil {
				return err
			}
			if created := o.GetCreationTimestamp(); created.IsZero() {
				o.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := w.call(fmt.Sprintf("update %T", o)); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
	})
	w.restart()
	return w
}

func (w *world[M]) call(what string) error {
	w.calls[what]++
	if w.refuse == nil {
		return nil
	}
	return w.refuse(what)
}

// restart is a new process.
func (w *world[M]) restart() {
	w.keeper = shell.New(shell.Options[M]{
		Dialect: w.lens, Resolver: resolver(w.lens, w.api), Client: w.api, Live: w.api, Provider: w.provider, Nodes: node.New(w.api, w.api, w.clock),
		Requests: func(_ context.Context, uid string, nodes ...string) ([]postmortem.Request, error) {
			w.asked = append([]string{uid}, nodes...)
			return w.requests, nil
		},
		Clock: w.clock, Policy: w.policy, Namespace: ns,
	})
	w.handler = w.keeper.Handler()
	w.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
}

// pass reconciles all that the handler has queued.
func (w *world[M]) pass() {
	w.Helper()
	for w.queue.Len() > 0 {
		req, _ := w.queue.Get()
		if _, err := w.keeper.Reconcile(w.Context(), req); err != nil {
			w.Fatal(err)
		}
		w.queue.Done(req)
	}
}

func (w *world[M]) seen(m M) {
	w.handler.Create(w.Context(), event.CreateEvent{Object: m}, w.queue)
	w.pass()
}

func (w *world[M]) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.api.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}

// update changes m and tells the keeper, as a watch does.
func (w *world[M]) update(m M, change func(M)) {
	w.Helper()
	before := m.DeepCopyObject().(M)
	change(m)
	if err := w.api.Update(w.Context(), m); err != nil {
		w.Fatal(err)
	}
	w.handler.Update(w.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: m}, w.queue)
	w.pass()
}

// delete begins the deletion of m, which has a finalizer.
func (w *world[M]) delete(m M) {
	w.Helper()
	before := m.DeepCopyObject().(M)
	if err := w.api.Delete(w.Context(), m); err != nil {
		w.Fatal(err)
	}
	if err := w.api.Get(w.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		w.Fatal(err)
	}
	w.handler.Update(w.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: m}, w.queue)
	w.pass()
}

func (w *world[M]) stored() []corev1.ConfigMap {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.api.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// only is the one record there is.
func (w *world[M]) only() (corev1.ConfigMap, postmortem.Record) {
	w.Helper()
	all := w.stored()
	if len(all) != 1 {
		w.Fatalf("%d records are kept, want 1", len(all))
	}
	r, err := postmortem.Decode([]byte(all[0].Data[status.Key]))
	if err != nil {
		w.Fatal(err)
	}
	return all[0], r
}

func gardenerWorld(t *testing.T, objects ...client.Object) *world[*v1alpha1.Machine] {
	return newWorld[*v1alpha1.Machine](t, gardener.Machines{Defaults: gardener.StandardDefaults()}, objects...)
}

func gardenerMachine(name string, phase v1alpha1.MachinePhase, age time.Duration) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID("uid-" + name), Finalizers: []string{v1alpha1.FinalizerMachine},
		CreationTimestamp: metav1.NewTime(start.Add(-age)), Labels: map[string]string{v1alpha1.LabelKeyNode: "n-" + name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "MachineSet", Name: "set", UID: "s", Controller: ptr.To(true)}},
	}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "small"}
	m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: phase, LastUpdateTime: metav1.NewTime(start.Add(-time.Minute))}
	return m
}

func aNode(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: ready, Reason: "KubeletStopped", Message: "Kubelet stopped posting node status.",
		}}},
	}
}

// instance makes the machine's instance and records it.
func (w *world[M]) instance(uid, name string) provider.Instance {
	w.Helper()
	s, err := w.provider.Open(w.Context(), w.cloud.Class(w.lens.API(), ns))
	if err != nil {
		w.Fatal(err)
	}
	i, err := s.Create(w.Context(), provider.Ref{UID: uid, Namespace: ns, Name: name}, provider.Want{})
	if err != nil {
		w.Fatal(err)
	}
	return i
}

// resolver reads what the machines of a lens are made from.
func resolver[M client.Object](lens dialect.Machines[M], r client.Reader) dialect.Resolver[M] {
	var of any = openshift.Resolver{Reader: r}
	if lens.API() == provider.Gardener {
		of = gardener.Resolver{Reader: r, Defaults: gardener.StandardDefaults()}
	}
	return of.(dialect.Resolver[M])
}
