package sim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestKubeletFindsANodeOfItsName: a kubelet takes over the Node of a former instance of its name, unless the Node
// shows that instance's provider ID.
func TestKubeletFindsANodeOfItsName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(w *World, before *kubelet)
		takes  bool
	}{
		"left without a provider ID": {"a real kubelet does not mind who made it", func(*World, *kubelet) {}, true},
		"of an instance that exists": {"two kubelets would report there in turn", func(w *World, _ *kubelet) { w.now = epoch }, false},
		"with a provider ID": {"it is the node of that instance", func(w *World, _ *kubelet) {
			w.edit(w.node("twin"), "", func(o client.Object) { o.(*corev1.Node).Spec.ProviderID = "sim:///i-1" })
		}, false},
		"in deletion": {"it goes when its finalizer does", func(w *World, _ *kubelet) {
			w.edit(w.node("twin"), "", func(o client.Object) { o.SetFinalizers([]string{"some/finalizer"}) })
			w.must("delete a node", w.target.Delete(w.node("twin"), client.DeleteOptions{}))
		}, false},
		"where certificates are needed": {"nobody approves one for a node that exists", func(w *World, _ *kubelet) { w.profile.certified = true }, false},
		"left by a hostile kubelet":     {"people clear it away", func(_ *World, before *kubelet) { before.hostile = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, Options{Dialect: OpenShift})
			defer w.shutdown()
			w.calm, w.profile.ccm, w.profile.certified, w.profile.permanent, w.cloud.Hosts, w.cloud.Lag = true, true, false, "", false, 0
			before := w.kubelet(w.cloud.Add(home, "uid-1", "twin"))
			w.join(before)
			made := w.node("twin")
			metav1.SetMetaDataLabel(&made.ObjectMeta, "left", "behind")
			w.edit(made, "", func(o client.Object) { o.SetLabels(made.Labels) })
			w.now = epoch.Add(unknownAfter)
			w.cloud.Kill(before.on)
			after := w.kubelet(w.cloud.Add(home, "uid-2", "twin"))
			tc.change(w, before)
			if w.mayRegister(after) != tc.takes {
				t.Fatalf("may register %v, want %v: %s", !tc.takes, tc.takes, tc.reason)
			}
			if !tc.takes {
				return
			}
			w.join(after)
			n := w.node("twin")
			if n.UID != made.UID || n.Labels["left"] == "" || n.Status.Addresses[0].Address != after.on.IP || w.nodeOf(before) != nil || w.nodeOf(after) == nil {
				t.Errorf("it is not the same node, or not the kubelet's: %+v", n)
			}
			if w.instance(after.on).Node != "" {
				t.Error("nobody can know whose it is while it shows no provider ID")
			}
			w.edit(n, "", func(o client.Object) { o.(*corev1.Node).Spec.ProviderID = after.on.ProviderID() })
			if w.instance(after.on).Node != made.UID || w.instance(before.on).Node != "" {
				t.Error("it is the node of the instance whose provider ID it shows, and of no other")
			}
		})
	}
}
