package machinehealthcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

var begin = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const ns = "openshift-machine-api"

// world is a cluster with a check.
type world struct {
	t     *testing.T
	clock *testclock.FakePassiveClock
	client.Client
	r       *Reconciler[*lenient.MachineHealthCheck]
	old     *Reconciler[*v1alpha1.MachineHealthCheck]
	told    []string
	mu      sync.Mutex
	writes  []string
	refuses func(verb string, o client.Object) error
	seen    connectivity.State
}

// State implements connectivity.Source.
func (w *world) State() connectivity.State { return w.seen }

// Eventf implements events.EventRecorder.
func (w *world) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	o := regarding.(client.Object)
	w.told = append(w.told, fmt.Sprintf("%s %s/%s %s: %s", kind, reason, action, o.GetName(), fmt.Sprintf(note, args...)))
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(lenient.AddToScheme(s), v1alpha1.AddToScheme(s), corev1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: testclock.NewFakePassiveClock(begin)}
	note := func(verb string, o client.Object) error {
		if w.refuses != nil {
			if err := w.refuses(verb, o); err != nil {
				return err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if verb != "get" {
			w.writes = append(w.writes, verb+" "+o.GetName())
		}
		return nil
	}
	w.Client = fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).
		WithStatusSubresource(&lenient.MachineHealthCheck{}, &v1alpha1.MachineHealthCheck{}, &machinev1.Machine{}, &corev1.Node{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				o.SetName(key.Name)
				if err := note("get", o); err != nil {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := note("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := note("create", o); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := note("patch", o); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := note("patch status", o); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	o := Options{
		Client: w, Live: w, Nodes: w, LiveNodes: w, Recorder: w, Clock: w.clock, Connectivity: w,
		Patients: []dialect.Patients{openshift.Patients{}}, Namespace: ns, Common: openshift.ParseConditions,
	}
	w.r, w.old = New[*lenient.MachineHealthCheck](openshift.HealthChecks{}, o), New[*v1alpha1.MachineHealthCheck](openshift.OldHealthChecks{}, o)
	return w
}

func checkOf(edit ...func(*lenient.MachineHealthCheck)) *lenient.MachineHealthCheck {
	c := &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "check", UID: "check"}}
	c.Spec.Selector.MatchLabels = map[string]string{"role": "worker"}
	c.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{{Type: "Ready", Status: "Unknown", Timeout: "5m"}}
	for _, e := range edit {
		e(c)
	}
	return c
}

// pair is a machine of a set with its node.
func pair(name string) (*machinev1.Machine, *corev1.Node) {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(begin.Add(-time.Hour)), Labels: map[string]string{"role": "worker"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "set", UID: "set", Controller: ptr.To(true)}},
		Finalizers:      []string{"machine.machine.openshift.io"},
	}}
	m.Status.NodeRef = &corev1.ObjectReference{Name: "node-" + name}
	m.Status.LastUpdated = ptr.To(metav1.NewTime(begin.Add(-time.Hour)))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name, UID: types.UID("node-" + name)}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(begin.Add(-time.Hour))}}
	return m, n
}

func pairs(names ...string) (out []client.Object) {
	for _, name := range names {
		m, n := pair(name)
		out = append(out, m, n)
	}
	return out
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pass() reconcile.Result {
	w.t.Helper()
	result, err := w.r.Reconcile(w.t.Context(), request("check"))
	w.must(err)
	return result
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}}
}

// turns gives a node's Ready another status, now, and tells the reconcilers; it
// returns how many checks that wakes.
func (w *world) turns(name string, status corev1.ConditionStatus) int {
	w.t.Helper()
	var n corev1.Node
	w.must(w.Get(w.t.Context(), client.ObjectKey{Name: "node-" + name}, &n))
	before := n.DeepCopy()
	n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = status, metav1.NewTime(w.clock.Now())
	w.must(w.Status().Update(w.t.Context(), &n))
	return len(w.r.NodeChanged(before, &n)) + len(w.old.NodeChanged(before, &n))
}

func (w *world) step(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// leaving are the machines that were asked to go.
func (w *world) leaving() (out []string) {
	var list machinev1.MachineList
	w.must(w.List(w.t.Context(), &list))
	for _, m := range list.Items {
		if m.DeletionTimestamp != nil {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) status() lenient.MachineHealthCheckStatus {
	var c lenient.MachineHealthCheck
	w.must(w.Get(w.t.Context(), request("check").NamespacedName, &c))
	return c.Status
}

func (w *world) condition(kind string) (out machinev1.Condition) {
	for _, c := range w.status().Conditions {
		if string(c.Type) == kind {
			return c
		}
	}
	return out
}

// heard takes the events since it was last asked.
func (w *world) heard() string {
	out := strings.Join(w.told, "\n")
	w.told = nil
	return out
}

// wrote takes the writes since it was last asked.
func (w *world) wrote() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.writes
	w.writes = nil
	return out
}
