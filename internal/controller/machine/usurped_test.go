package machine_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestNodeUnderAnothersID: a kubelet deletes its node and joins again under the provider ID of another
// instance (world 100314686). While that node reports, the machine is left as it is. Once the node stops
// reporting, no source reports on the machine any more, not even that its instance dies: its timeout starts
// at once, and it fails by the API server's answer about that node.
func TestNodeUnderAnothersID(t *testing.T) {
	for _, tt := range []struct {
		reason string
		node   corev1.ConditionStatus
		// dies: so does the instance, once the node is silent. unseen: the node reports again
		// after the cache has stopped.
		dies, unseen bool
		now, later   lifecycle.Stage
	}{
		{"it reports", corev1.ConditionTrue, false, false, lifecycle.StageRunning, lifecycle.StageRunning},
		{"it is silent", corev1.ConditionUnknown, false, false, lifecycle.StageLost, lifecycle.StageFailed},
		{"it is silent, and the instance dies", corev1.ConditionUnknown, true, false, lifecycle.StageLost, lifecycle.StageFailed},
		{"it reports again, unseen", corev1.ConditionUnknown, false, true, lifecycle.StageLost, lifecycle.StageRunning},
	} {
		g := gardenerRig(t)
		g.pass()
		g.joins()
		g.reports(corev1.ConditionTrue)
		g.pass()
		g.usurps("memory:///i-9")
		g.reports(tt.node)
		after := g.pass().RequeueAfter
		if got := g.lens.View(g.read()).Stage; got != tt.now {
			t.Errorf("%s: stage %q, want %q", tt.reason, got, tt.now)
		}
		if tt.now == lifecycle.StageLost && after == 0 {
			t.Errorf("%s: nobody looks again", tt.reason)
		}
		if tt.unseen {
			g.r.Nodes.Client = stopped{g.target, newRecording(t, g.stored("node-1"))}
			g.reports(corev1.ConditionTrue)
		}
		if tt.dies {
			g.cloud.instances = nil
		}
		g.clock.Step(30 * time.Minute)
		g.pass()
		if got := g.lens.View(g.read()).Stage; got != tt.later {
			t.Errorf("%s: later stage %q, want %q", tt.reason, got, tt.later)
		}
	}
}

// usurps deletes the node, and lets it join under the provider ID.
func (g *rig[M]) usurps(providerID string) {
	g.Helper()
	n := g.node()
	before := n.DeepCopy()
	n.Finalizers = nil
	if err := g.target.WithWatch.Patch(g.Context(), n, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
	if err := client.IgnoreNotFound(g.target.WithWatch.Delete(g.Context(), n)); err != nil {
		g.Fatal(err)
	}
	again := &corev1.Node{}
	again.Name, again.UID, again.Spec.ProviderID, again.Status = n.Name, "usurped", providerID, n.Status
	if err := g.target.WithWatch.Create(g.Context(), again); err != nil {
		g.Fatal(err)
	}
}
