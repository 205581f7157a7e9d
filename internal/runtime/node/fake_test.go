package node

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster over a fake API server whose writes are counted.
type world struct {
	*Cluster
	clock  *clocktesting.FakePassiveClock
	noting sync.Mutex
	writes []string
}

func newWorld(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	b := fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.Node{})
	for _, i := range Indexes() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	w := &world{clock: clocktesting.NewFakePassiveClock(start)}
	c := interceptor.NewClient(b.Build(), w.counting(funcs))
	w.Cluster = New(c, c, w.clock)
	return w
}

func node(name string, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	for _, e := range edits {
		e(n)
	}
	return n
}

func withProviderID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.ProviderID = id }
}

func withIPs(ips ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, ip := range ips {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
		}
	}
}

func withAnnotation(k, v string) func(*corev1.Node) {
	return func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, k, v) }
}

func withLabel(k, v string) func(*corev1.Node) {
	return func(n *corev1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, k, v) }
}

func withTaint(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }
