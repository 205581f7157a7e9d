package nodelink

import (
	"context"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// world is an API server with one reconciler, which reads what it wrote.
type world struct {
	client.Client
	*testing.T
	r      *Reconciler[*machinev1.Machine]
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
	// hidden are nodes that the cache does not show yet.
	hidden map[string]bool
	// fail, where it is set, answers the next write in place of the server.
	fail error
	// before happens on the server before the next write.
	before func()
	writes int
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{T: t, clock: clocktesting.NewFakePassiveClock(start.Add(time.Hour)), hidden: map[string]bool{}}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, corev1.AddToScheme} {
		w.must(add(scheme))
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&machinev1.Machine{}, &corev1.Node{}).
		WithIndex(&machinev1.Machine{}, index.Node, index.NodeKeys(openshift.Machines{}))
	for _, i := range node.NodeIndexes() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	w.Client = b.Build()
	w.restart()
	return w
}

// restart begins with a new process.
func (w *world) restart() {
	w.events = events.NewFakeRecorder(100)
	watching := w.Client.(client.WithWatch)
	var err error
	w.r, err = New(openshift.Machines{}, Options{
		Client: interceptor.NewClient(watching, w.cache()), Live: w.Client, Clock: w.clock, Recorder: w.events,
	})
	w.must(err)
}

// cache counts writes, fails those that are to fail, and does not show what is hidden.
func (w *world) cache() interceptor.Funcs {
	write := func(do func() error) error {
		w.writes++
		if before := w.before; before != nil {
			w.before = nil
			before()
		}
		if err := w.fail; err != nil {
			w.fail = nil
			return err
		}
		return do()
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Node); is && w.hidden[key.Name] {
				key.Name = "nobody's"
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if nodes, is := list.(*corev1.NodeList); is {
				shown := nodes.Items[:0]
				for _, n := range nodes.Items {
					if !w.hidden[n.Name] {
						shown = append(shown, n)
					}
				}
				nodes.Items = shown
			}
			return err
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pass makes one over the node and expects as many writes.
func (w *world) pass(reason, name string, writes int) reconcile.Result {
	w.Helper()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.writes = 0
	result, err := w.r.Reconcile(w.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	if err != nil {
		w.Errorf("%s: %v", reason, err)
	}
	if w.writes != writes {
		w.Errorf("%s: %d writes, want %d", reason, w.writes, writes)
	}
	return result
}

func (w *world) machine(name string) *machinev1.Machine {
	w.Helper()
	m := &machinev1.Machine{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: "ns", Name: name}, m))
	return m
}

func (w *world) node(name string) *corev1.Node {
	w.Helper()
	n := &corev1.Node{}
	w.must(w.Get(w.Context(), client.ObjectKey{Name: name}, n))
	return n
}

// edit changes a machine or a node as another client would.
func edit[O client.Object](w *world, o O, change func(O)) {
	w.Helper()
	before := o.DeepCopyObject().(client.Object)
	change(o)
	w.must(w.Patch(w.Context(), o, client.MergeFrom(before)))
	change(o)
	w.must(w.Status().Patch(w.Context(), o, client.MergeFrom(before)))
}

// told are the events since it was asked last.
func (w *world) told() (out []string) {
	for len(w.events.Events) > 0 {
		out = append(out, <-w.events.Events)
	}
	return out
}

// machine is one of the name with a provider ID and what its node is to carry.
func machine(name, providerID string, changes ...func(*machinev1.Machine)) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(start)}}
	if providerID != "" {
		m.Spec.ProviderID = ptr.To(providerID)
	}
	m.Spec.ObjectMeta.Labels = map[string]string{"pool": "a"}
	m.Spec.ObjectMeta.Annotations = map[string]string{"note": "x"}
	m.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	m.Status.Phase = ptr.To(machinev1.PhaseProvisioned)
	for _, change := range changes {
		change(m)
	}
	return m
}

func readied(n *corev1.Node, status corev1.ConditionStatus, at time.Time) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(at)}}
}
