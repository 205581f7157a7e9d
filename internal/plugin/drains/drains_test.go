package drains

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

func machine() *machinev1.Machine {
	return &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "mill-a", UID: "uid-a", Labels: map[string]string{"pool": "mill"}}}
}

func nodeOf(change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-1", UID: "uid-n"}}
	for _, c := range change {
		c(n)
	}
	return n
}

func pod(name, owner string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.PodSpec{NodeName: "n-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "x", UID: "o", Controller: ptr.To(true)}}
	}
	return p
}

// world is a cluster whose API server refuses evictions while a budget is full.
type world struct {
	client.Client
	mu   sync.Mutex
	full bool
	log  []string
}

func (w *world) refuses() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.full
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{}
	c := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(append(objects, machine())...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	w.Client = interceptor.NewClient(c, interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
			if w.refuses() {
				err := apierrors.NewTooManyRequests("the budget allows none", 0)
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
				return err
			}
			return c.SubResource(name).Create(ctx, o, sub, opts...)
		},
	})
	return w
}

// order starts the drain of the node.
func (w *world) order(t *testing.T) (*Manager, Order) {
	t.Helper()
	m := New(t.Context(), clock.RealClock{}, func(client.Object) {})
	return m, Order{Machine: machine(), Node: nodeOf(), Control: w.Client, Target: w.Client, Log: func(outcome string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, outcome)
	}}
}

// started is a drain that only the test drives.
func (w *world) started(t *testing.T) *task {
	t.Helper()
	m, o := w.order(t)
	return newTask(m, o, func() {})
}

func (w *world) pods(t *testing.T) (names string) {
	t.Helper()
	var list corev1.PodList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		names += p.Name + " "
	}
	return names
}

func (w *world) cordoned(t *testing.T) bool {
	t.Helper()
	n := &corev1.Node{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: "n-1"}, n); err != nil {
		t.Fatal(err)
	}
	return n.Spec.Unschedulable
}

// TestDrain: the node is cordoned, pods of controllers leave, those of DaemonSets stay, and the progress names each pod.
func TestDrain(t *testing.T) {
	w := newWorld(t, nodeOf(), pod("web-a", "ReplicaSet"), pod("log-a", "DaemonSet"))
	w.full = true
	r := w.started(t)
	p, _ := r.pass(t.Context())
	if p.State != Draining || !w.cordoned(t) || len(p.Pods) != 1 || p.Pods[0].Name != "web-a" || p.Pods[0].Reason == "" || w.pods(t) != "log-a web-a " {
		t.Fatalf("while a budget is full: %+v, pods %s", p, w.pods(t))
	}
	w.full = false
	r.cluster.Clock = later{}
	p, _ = r.pass(t.Context())
	if w.pods(t) != "log-a " {
		t.Fatalf("%+v, pods %s", p, w.pods(t))
	}
	p, _ = r.pass(t.Context())
	if p.State != Done || p.Message != "1 pod has left the node" || len(p.Pods) != 1 || p.Pods[0].Reason != "" {
		t.Errorf("in the end: %+v", p)
	}
}

// later is a clock on which the next request is due.
type later struct{ clock.RealClock }

func (later) Now() time.Time { return time.Now().Add(time.Hour) }

// TestNoDrain: what forbids a drain leaves the pods where they are.
func TestNoDrain(t *testing.T) {
	limit := func(nodes string, change func(*v1alpha1.MachineDisruptionBudget)) *v1alpha1.MachineDisruptionBudget {
		b := &v1alpha1.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
		b.Spec.Budgets = []v1alpha1.Budget{{Nodes: intstr.Parse(nodes)}}
		if change != nil {
			change(b)
		}
		return b
	}
	for _, c := range []struct {
		reason   string
		objects  []client.Object
		change   func(*task)
		state    State
		message  string
		cordoned bool
	}{
		{"an emergency stop", []client.Object{nodeOf(), disruption.NewStop("storage is down")}, nil, Waiting, "waits for machine disruption budget emergency-stop, which is paused (storage is down)", false},
		{"a limit", []client.Object{nodeOf(), limit("0", nil)}, nil, Waiting, "waits for machine disruption budget b, which permits no manual disruption", false},
		{"a pod that is lost", []client.Object{nodeOf(), pod("alone", "")}, nil, Failed, "no controller creates web/alone again", true},
		{"another node of the name", []client.Object{nodeOf(func(n *corev1.Node) { n.UID = "other" })}, nil, Ended, "the node does not exist any more", false},
		{"another machine of the name", []client.Object{nodeOf()}, func(r *task) {
			m := machine()
			m.UID = "other"
			r.Machine = m
		}, Ended, "the machine does not exist any more", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t, append(c.objects, pod("web-a", "ReplicaSet"))...)
			r := w.started(t)
			if c.change != nil {
				c.change(r)
			}
			p, _ := r.pass(t.Context())
			if p.State != c.state || !strings.Contains(p.Message, c.message) || w.cordoned(t) != c.cordoned || !strings.Contains(w.pods(t), "web-a") {
				t.Errorf("%+v, cordoned %v, pods %s", p, w.cordoned(t), w.pods(t))
			}
		})
	}
}

// TestABudgetIsAskedOnce: a drain that has begun continues in an emergency stop, as those of machine controllers do.
func TestABudgetIsAskedOnce(t *testing.T) {
	w := newWorld(t, nodeOf(), pod("web-a", "ReplicaSet"))
	r := w.started(t)
	if p, _ := r.pass(t.Context()); p.State.Over() {
		t.Fatalf("%+v", p)
	}
	if err := w.Create(t.Context(), disruption.NewStop("")); err != nil {
		t.Fatal(err)
	}
	if p, _ := r.pass(t.Context()); p.State != Done {
		t.Errorf("%+v", p)
	}
}

// TestDenied: a denied request ends the drain, another failure does not.
func TestDenied(t *testing.T) {
	for failure, want := range map[error]State{
		apierrors.NewForbidden(corev1.Resource("nodes"), "n-1", nil): Failed,
		apierrors.NewInternalError(context.DeadlineExceeded):         Waiting,
	} {
		w := newWorld(t, nodeOf(), pod("web-a", "ReplicaSet"))
		w.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return failure
		}})
		if p, _ := w.started(t).pass(t.Context()); p.State != want || w.pods(t) != "web-a " {
			t.Errorf("%v: %+v", failure, p)
		}
	}
}

// TestManager: one drain for a machine at a time; it ends when the user ends it, and its end is logged.
func TestManager(t *testing.T) {
	w := newWorld(t, nodeOf(), disruption.NewStop(""))
	m, o := w.order(t)
	if m.Of("uid-a") != nil || m.End("uid-a") || (*Manager)(nil).Underway("uid-a") {
		t.Error("a drain that nobody ordered")
	}
	if err := m.Start(o); err != nil {
		t.Fatal(err)
	}
	if err := m.Start(o); !errors.Is(err, ErrUnderway) {
		t.Errorf("a second drain: %v", err)
	}
	if !m.Underway("uid-a") || !m.End("uid-a") || m.Underway("uid-a") || m.Of("uid-a").State != Ended {
		t.Errorf("%+v", m.Of("uid-a"))
	}
	w.mu.Lock()
	if len(w.log) != 1 || w.log[0] != "ended, by the user" {
		t.Errorf("log %q", w.log)
	}
	w.mu.Unlock()
	if err := m.Start(o); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestAny: a server that drains a node must not end.
func TestAny(t *testing.T) {
	w := newWorld(t)
	r := w.started(t)
	m := r.manager
	if m.Any() {
		t.Error("a drain is underway before any begins")
	}
	m.all[r.Machine.GetUID()] = r
	if !m.Any() {
		t.Error("the drain is not underway")
	}
	if r.set(Progress{State: Ended}); m.Any() {
		t.Error("the drain has ended, and is underway")
	}
}
