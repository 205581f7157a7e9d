package orphan_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/index"
	shell "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/provider"
)

const (
	mark      = "node.machine.sapcloud.io/not-managed-by-mcm"
	finalizer = "node.machine.sapcloud.io/machine-controller"
)

// indexed adds the index of the machine controller to the world's API.
func (w *world) indexed() {
	keys := func(o client.Object) []string {
		m := o.(*v1alpha1.Machine)
		return []string{"name/" + m.Labels[v1alpha1.LabelKeyNode], index.ProviderIDKey(m.Spec.ProviderID)}
	}
	var list v1alpha1.MachineList
	if err := w.api.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	others := func(o client.Object) []string {
		return []string{index.ProviderIDKey(ptr.Deref(o.(*machinev1.Machine).Spec.ProviderID, ""))}
	}
	b := fake.NewClientBuilder().WithScheme(scheme(w.T)).WithIndex(&v1alpha1.Machine{}, index.Node, keys).
		WithIndex(&machinev1.Machine{}, index.Node, others)
	w.api = b.Build()
	for i := range list.Items {
		list.Items[i].ResourceVersion = ""
		w.create(&list.Items[i])
	}
	w.cache, w.live = w.api, &reader{Reader: w.api}
	w.served = []string{provider.Gardener}
}

// serveOpenShift makes the process one that serves both APIs.
func (w *world) serveOpenShift() {
	w.served = []string{provider.OpenShift, provider.Gardener}
}

// nodes is the reconciler of the nodes of a cluster of their own.
func (w *world) nodes(target client.Client) *shell.Nodes {
	return shell.NewNodes(shell.NodeOptions{
		Client: target, Kinds: w.kinds(), Clock: w.clock, JoinTimeout: 20 * time.Minute,
		Mark: mark, MarkValue: "1", Finalizer: finalizer, API: provider.Gardener,
	})
}

// G 5.2: nodes without machine are marked after the creation timeout and let
// go; the mark goes when a machine has the node.
func TestNodes(t *testing.T) {
	old, young := start.Add(-time.Hour), start
	tests := map[string]struct {
		reason  string
		name    string
		edit    func(*corev1.Node)
		machine func(*world)
		marked  bool
		held    bool
		again   time.Duration
	}{
		"old":            {"nobody has it", "n", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(old) }, nil, true, false, 0},
		"young":          {"its machine may not know it yet", "n", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(young) }, nil, false, true, 19 * time.Minute},
		"of a machine":   {"by name", "g-1", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(old) }, nil, false, true, 0},
		"by provider ID": {"it is called otherwise, so that nothing tells when the machine goes", "n", func(n *corev1.Node) { n.Spec.ProviderID = "example:///i-x"; n.CreationTimestamp = metav1.NewTime(old) }, func(w *world) { w.create(w.gardenerMachine("g-x", "i-x")) }, false, true, time.Minute},
		"of a lost machine": {"the machine of the name has another instance, whose kubelet cannot join", "g-1", func(n *corev1.Node) {
			n.Spec.ProviderID = "example:///i-lost"
			n.CreationTimestamp = metav1.NewTime(old)
		}, nil, true, false, 0},
		"in another spelling": {"it is the same instance", "g-x", func(n *corev1.Node) {
			n.Spec.ProviderID = "example:///zone/I-X"
			n.CreationTimestamp = metav1.NewTime(old)
		}, func(w *world) { w.create(w.gardenerMachine("g-x", "i-x")) }, false, true, 0},
		"marked too soon": {"a machine turned up", "g-1", func(n *corev1.Node) {
			n.CreationTimestamp = metav1.NewTime(old)
			n.Annotations = map[string]string{mark: "1"}
		}, nil, false, true, 0},
		"of the other API, which is not served": {
			"it has a machine, but none that would ever take the finalizer off", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(old)
				n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/o-new"}
			}, func(w *world) { w.create(w.openshiftMachine("o-new", "i-y")) }, false, false, 0,
		},
		"of the other API, in deletion": {
			"the finalizer would hold it for ever", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(old)
				n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/o-new"}
				n.DeletionTimestamp = &metav1.Time{Time: start}
			}, func(w *world) { w.create(w.openshiftMachine("o-new", "i-y")) }, false, false, 0,
		},
		"of the other API, which is served": {
			"a machine of its name had taken it before it showed its provider ID", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(old)
				n.Spec.ProviderID = "example:///i-y"
				n.Labels = map[string]string{"node.gardener.cloud/machine-name": "g-1"}
				n.DeletionTimestamp = &metav1.Time{Time: start}
			}, func(w *world) { w.serveOpenShift(); w.create(w.openshiftMachine("o-new", "i-y")) }, false, false, 0,
		},
		"of the other API, and young": {
			"a machine of ours may be about to record it", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(young)
				n.Spec.ProviderID = "example:///i-y"
			}, func(w *world) { w.serveOpenShift(); w.create(w.openshiftMachine("o-new", "i-y")) }, false, true, 19 * time.Minute,
		},
		"of both APIs": {
			"a machine of ours has it by its mark alone, which caches are not asked for", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(old)
				n.Spec.ProviderID = "example:///i-y"
				n.Labels = map[string]string{"node.gardener.cloud/machine-name": "g-new"}
			}, func(w *world) {
				w.serveOpenShift()
				w.create(w.openshiftMachine("o-new", "i-y"))
				w.create(w.gardenerMachine("g-new", ""))
			}, false, true, time.Minute,
		},
		"in deletion": {
			"the finalizer would hold it for ever", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(old)
				n.DeletionTimestamp = &metav1.Time{Time: start}
			}, nil, true, false, 0,
		},
		"of an earlier machine of the name, in deletion": {
			"the present one has a node of its own", "n", func(n *corev1.Node) {
				n.CreationTimestamp = metav1.NewTime(old)
				n.DeletionTimestamp = &metav1.Time{Time: start}
				n.Labels = map[string]string{"node.gardener.cloud/machine-name": "g-again"}
			}, func(w *world) { w.create(w.gardenerMachine("g-again", "i-z")) }, true, false, 0,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.indexed()
			if tc.machine != nil {
				tc.machine(w)
			}
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tc.name, Finalizers: []string{"other/finalizer", finalizer}}}
			tc.edit(n)
			target := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(n).Build()
			res, err := w.nodes(target).Reconcile(t.Context(), request(tc.name))
			if err != nil {
				t.Fatal(err)
			}
			if err := target.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
				t.Fatal(err)
			}
			if value, ok := n.Annotations[mark]; ok != tc.marked || ok && value != "1" {
				t.Errorf("%s: annotations %v", tc.reason, n.Annotations)
			}
			if held := slices.Contains(n.Finalizers, finalizer); held != tc.held || !slices.Contains(n.Finalizers, "other/finalizer") {
				t.Errorf("%s: finalizers %v", tc.reason, n.Finalizers)
			}
			if res.RequeueAfter != tc.again {
				t.Errorf("%s: again in %v, want %v", tc.reason, res.RequeueAfter, tc.again)
			}
		})
	}
}

// A cache that lags behind, and an API server that does not answer, cost no
// node its finalizer.
func TestNodesAreNotLetGoBlindly(t *testing.T) {
	for reason, blind := range map[string]func(*world){
		"the cache lacks the machine": func(w *world) { w.cache = emptyCache(w.T) },
		"and the server is away":      func(w *world) { w.cache = emptyCache(w.T); w.live.err = errors.New("connection refused") },
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			w.indexed()
			blind(w)
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "g-1", Finalizers: []string{finalizer}, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))}}
			target := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(n).Build()
			res, err := w.nodes(target).Reconcile(t.Context(), request("g-1"))
			if (err != nil) != (w.live.err != nil) {
				t.Errorf("error %v", err)
			}
			if err == nil && res.RequeueAfter != time.Minute {
				t.Errorf("again in %v: the cache may be right", res.RequeueAfter)
			}
			if err := target.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil || len(n.Finalizers) != 1 || len(n.Annotations) > 0 {
				t.Errorf("%+v %v", n.ObjectMeta, err)
			}
		})
	}
}

func emptyCache(t *testing.T) client.Client {
	none := func(client.Object) []string { return nil }
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithIndex(&v1alpha1.Machine{}, index.Node, none).Build()
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

// handing is an informer that hands over what is registered with it.
type handing struct {
	*controllertest.FakeInformer
	handlers chan toolscache.ResourceEventHandler
}

func (h *handing) AddEventHandlerWithOptions(e toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	h.handlers <- e
	return h.FakeInformer.AddEventHandler(e)
}

// C35: a deletion that was missed comes as a tombstone, and concerns the node
// all the same.
func TestTombstone(t *testing.T) {
	w := newWorld(t)
	gvk := schema.GroupVersionKind{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "Machine"}
	informer := &handing{FakeInformer: &controllertest.FakeInformer{}, handlers: make(chan toolscache.ResourceEventHandler, 1)}
	informers := &informertest.FakeInformers{Scheme: scheme(t), InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{gvk: informer}}
	kind := shell.Machines[*v1alpha1.Machine]{Lens: gardener.Machines{}}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := (shell.MachineSource{Cache: informers, Kind: kind}).Source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	watching := <-informer.handlers
	m := w.gardenerMachine("g-1", "i-1")
	watching.OnDelete(toolscache.DeletedFinalStateUnknown{Key: ns + "/g-1", Obj: m})
	watching.OnDelete(toolscache.DeletedFinalStateUnknown{Key: ns + "/g-2", Obj: nil})
	if got, _ := q.Get(); got.Name != "g-1" || q.Len() != 0 {
		t.Errorf("asked for %v and %d more", got, q.Len())
	}
}
