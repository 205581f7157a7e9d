package machine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// TestCopyLeavesTheNodeAlone: a person makes a machine from the manifest of another one, with its
// provider ID and what names its node, while the infrastructure denies to say whose the instance is.
// The node stays the older machine's: it gets no mark of the copy, and no drain with its deletion.
func TestCopyLeavesTheNodeAlone(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { copyOfAMachine(t, openshiftRig) })
	t.Run("gardener", func(t *testing.T) { copyOfAMachine(t, gardenerRig) })
}

func copyOfAMachine[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M]) {
	for _, deleted := range []bool{false, true} {
		g := rigged(t)
		g.some(2)
		copied := g.read().DeepCopyObject().(M)
		copied.SetName("m-2")
		copied.SetUID("uid-2")
		copied.SetResourceVersion("")
		copied.SetCreationTimestamp(metav1.NewTime(start.Add(time.Hour)))
		g.others(copied)
		g.joins()
		g.cloud.findErr = provider.Errorf(provider.Denied, "not authorized to list")
		if deleted {
			if err := g.control.WithWatch.Delete(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
		}
		g.written()
		for range 4 {
			_, _ = g.try("m-2")
			g.clock.Step(time.Minute)
		}
		if w := g.written(); slices.ContainsFunc(w, func(s string) bool { return strings.HasSuffix(s, " Node") }) {
			t.Errorf("copy deleted %v: the node is written: %q", deleted, w)
		}
		g.cloud.findErr = nil
		g.some(3)
		if v := g.lens.View(g.read()); v.Recorded.NodeName != "node-1" {
			t.Errorf("copy deleted %v: the node of the older machine is %q", deleted, v.Recorded.NodeName)
		}
	}
}
