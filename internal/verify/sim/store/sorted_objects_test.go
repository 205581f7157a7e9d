package store

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPileIsInOrder compares a pile with a map whose keys are sorted each time.
func TestPileIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, want := newSortedObjects(), map[string]client.Object{}
		for range rapid.IntRange(0, 40).Draw(t, "changes") {
			space, name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), rapid.StringMatching("[a-c]{1,2}").Draw(t, "name")
			key := client.ObjectKey{Namespace: space, Name: name}
			if rapid.Bool().Draw(t, "drop") {
				p.drop(key)
				delete(want, key.String())
				continue
			}
			o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name}}
			p.put(o)
			want[key.String()] = o
		}
		var keys []string
		for _, o := range p.all() {
			key := client.ObjectKeyFromObject(o)
			keys = append(keys, key.String())
			if p.get(key) != o || want[key.String()] != o {
				t.Fatalf("%s is not what was put last", key)
			}
		}
		if len(keys) != len(want) || !slices.IsSorted(keys) {
			t.Fatalf("%v, want %d in order", keys, len(want))
		}
	})
}
