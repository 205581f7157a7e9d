package machine_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestNodeOfANamesakeOfTheOtherAPI: a machine of the other API has the same name, and
// its node, which shows no provider ID yet, carries the mark of that API. A machine that
// has none of its own and goes lets it be.
func TestNodeOfANamesakeOfTheOtherAPI(t *testing.T) {
	label := func(n *corev1.Node) { n.Labels = map[string]string{"node.gardener.cloud/machine-name": "m-1"} }
	annotation := func(n *corev1.Node) {
		n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/m-1"}
	}
	t.Run("openshift", func(t *testing.T) {
		nodeOfANamesake(t, openshiftRig, label, false)
		nodeOfANamesake(t, openshiftRig, annotation, true)
	})
	t.Run("gardener", func(t *testing.T) {
		nodeOfANamesake(t, gardenerRig, annotation, false)
		nodeOfANamesake(t, gardenerRig, label, true)
	})
}

func nodeOfANamesake[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M], mark func(*corev1.Node), own bool) {
	g := rigged(t)
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m-1", UID: "namesake"}}
	mark(n)
	if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.cloud.createErr = errors.New("connection reset")
	g.pass()
	g.delete()
	g.some(3)
	err := g.target.Get(t.Context(), client.ObjectKey{Name: "m-1"}, n)
	if gone := err != nil; gone != own || !g.gone() {
		t.Errorf("own mark %v: node gone %v, machine gone %v", own, gone, g.gone())
	}
}
