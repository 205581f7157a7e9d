package node

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestEditCost: one patch for all that changes, none for nothing.
func TestEditCost(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1", withTaint("theirs", "", corev1.TaintEffectNoSchedule)))
	fence := func(n *corev1.Node) {
		withAnnotation("keep", "true")(n)
		if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "ours" }) {
			withTaint("ours", "", corev1.TaintEffectNoSchedule)(n)
		}
	}
	seen := w.read(t, "w1")
	for range 2 {
		after, err := w.Edit(t.Context(), seen, fence)
		if err != nil {
			t.Fatal(err)
		}
		seen = after
	}
	now := w.read(t, "w1")
	if len(now.Spec.Taints) != 2 || now.Annotations["keep"] != "true" || seen.ResourceVersion != now.ResourceVersion {
		t.Errorf("taints %v, annotations %v, returned version %s of %s", now.Spec.Taints, now.Annotations, seen.ResourceVersion, now.ResourceVersion)
	}
	if !slices.Equal(w.writes, []string{"patch"}) {
		t.Errorf("written by %q", w.writes)
	}
	var none *Cluster
	if n, err := none.Edit(t.Context(), seen, fence); n != seen || err != nil {
		t.Errorf("without a cluster: %v, %v", n, err)
	}
}

// TestEditOfStaleNode: what was decided on a node that has changed since is not
// written; a heartbeat is no change.
func TestEditOfStaleNode(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*corev1.Node)
		refuse bool
	}{
		"heartbeat": {"comes every few seconds", func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(start.Add(time.Minute))
		}, false},
		"annotation": {"may be the wish", withAnnotation("preserve", "false"), true},
		"taint":      {"the list would be rewritten", withTaint("theirs", "", corev1.TaintEffectNoSchedule), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, node("w1", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}))
			stale := w.read(t, "w1")
			now := stale.DeepCopy()
			tc.change(now)
			for _, patch := range []func() error{
				func() error { return w.Client.Patch(t.Context(), now.DeepCopy(), client.MergeFrom(stale)) },
				func() error { return w.Client.Status().Patch(t.Context(), now.DeepCopy(), client.MergeFrom(stale)) },
			} {
				if err := patch(); err != nil {
					t.Fatal(err)
				}
			}
			_, err := w.Edit(t.Context(), stale, withAnnotation("keep", "true"))
			if apierrors.IsConflict(err) != tc.refuse {
				t.Fatalf("%s: came to %v, want a conflict: %v", tc.reason, err, tc.refuse)
			}
			if wrote := w.read(t, "w1").Annotations["keep"] == "true"; wrote == tc.refuse {
				t.Errorf("%s: written: %v", tc.reason, wrote)
			}
		})
	}
}
