package node

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// blinded is a world whose cache has only what it is given.
func blinded(t *testing.T, cached []client.Object, there ...client.Object) *world {
	t.Helper()
	w, cache := newWorld(t, interceptor.Funcs{}, there...), newWorld(t, interceptor.Funcs{}, cached...)
	w.Client = readsFrom{w.Client, cache.Client}
	return w
}

// TestVacantIsBelievedOfTheServerOnly: a node with a pod that no cache has seen is
// not vacant. What is taken for vacant loses its finalizer with the cordon.
func TestVacantIsBelievedOfTheServerOnly(t *testing.T) {
	n := node("w1")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "db-0", UID: "pod-uid"}, Spec: corev1.PodSpec{NodeName: "w1"}}
	for _, tt := range []struct {
		reason string
		w      *world
		want   bool
	}{
		{"the cache has not seen the pod", blinded(t, nil, n.DeepCopy(), pod.DeepCopy()), false},
		{"the cache has not seen it go", blinded(t, []client.Object{pod.DeepCopy()}, n.DeepCopy()), false},
		{"there is none", blinded(t, nil, n.DeepCopy()), true},
	} {
		if got, err := tt.w.Vacant(t.Context(), n, drain.Policy{}); got != tt.want || err != nil {
			t.Errorf("%s: vacant %v, %v", tt.reason, got, err)
		}
	}
}

// TestFindUnseen: a node that joined since the cache has stopped.
func TestFindUnseen(t *testing.T) {
	query := Query{ProviderID: "sim:///a/1", InternalIPs: []string{"10.0.0.1"}, MachineKey: "ns/m1", Instance: true, Sure: true, Search: true}
	lists := func(edit func(*Query)) Query { q := query; edit(&q); return q }
	many := []client.Object{node("w1", withProviderID("sim:///a/1"))}
	for i := range 1200 {
		many = append(many, node(fmt.Sprintf("other-%04d", i), withProviderID(fmt.Sprintf("sim:///b/%d", i))))
	}
	for _, tt := range []struct {
		reason string
		query  Query
		nodes  []client.Object
		want   string
		err    string
	}{
		{"by its provider ID", query, []client.Object{node("w1", withProviderID("sim:///a/1")), node("w2")}, "w1", ""},
		{"in a large cluster", query, many, "w1", ""},
		{"by its address, as long as it shows no provider ID", query, []client.Object{node("w1", withIPs("10.0.0.1"))}, "w1", ""},
		{"not by an address that another instance has now", query, []client.Object{node("w1", withIPs("10.0.0.1"), withProviderID("sim:///a/2"))}, "", ""},
		{"not one that is marked as another machine's", query, []client.Object{node("w1", withProviderID("sim:///a/1"), withLabel(MachineNameLabel, "m2"))}, "", ""},
		{"two are one too many", query, []client.Object{node("w1", withProviderID("sim:///a/1")), node("w2", withProviderID("sim:///a/1"))}, "", "found 2: w1, w2"},
		{"nobody reads all nodes who is not asked to", lists(func(q *Query) { q.Search = false }), []client.Object{node("w1", withProviderID("sim:///a/1"))}, "", ""},
		{"nor where the name is known", lists(func(q *Query) { q.Name = "w9" }), []client.Object{node("w1", withProviderID("sim:///a/1"))}, "", ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := blinded(t, nil, tt.nodes...).Find(t.Context(), tt.query)
			name := ""
			if got != nil {
				name = got.Name
			}
			if name != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %q, %v", tt.reason, name, err)
			}
		})
	}
}
