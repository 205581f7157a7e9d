package machinedeployment_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// BenchmarkPass is one pass over a deployment of 5000 machines at rest, with
// all its nodes, behind a cache that does not copy.
func BenchmarkPass(b *testing.B) {
	b.Run("machine.openshift.io", func(b *testing.B) { benchmarkPass(b, openshiftAPI) })
	b.Run("machine.sapcloud.io", func(b *testing.B) { benchmarkPass(b, gardenerAPI) })
}

func benchmarkPass[D, S client.Object](b *testing.B, a api[D, S]) {
	const n = 5000
	w := newWorld(b, a)
	w.declare(n)
	w.sync()
	r := w.controller()
	if _, err := w.reconcile(r); err != nil {
		b.Fatal(err)
	}
	w.sync()
	set := w.sets()[0]
	var machines, nodes []client.Object
	for i := range n {
		m := w.members.NewMachine(set, fmt.Sprintf("m-%d", i))
		m.SetUID(types.UID(fmt.Sprintf("m-%d", i)))
		m.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
		a.run(m, fmt.Sprintf("n-%d", i))
		machines = append(machines, m)
		nodes = append(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i), UID: types.UID(fmt.Sprintf("n-%d", i))},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		})
	}
	w.cache.show(w.lens.Sets().Lens().Traits().Machines(), machines, w.indexes())
	w.cache.show(&corev1.NodeList{}, nodes, w.indexes())
	w.cache.prepare()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	for range 3 {
		if _, err := r.Reconcile(b.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			b.Fatal(err)
		}
		w.sync("deployments", "sets")
		w.cache.prepare()
	}
	w.writes = 0
	b.ResetTimer()
	for b.Loop() {
		if _, err := r.Reconcile(b.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			b.Fatal(err)
		}
	}
	if w.writes > 0 {
		b.Errorf("%d writes at rest", w.writes)
	}
}
