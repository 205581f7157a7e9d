package machine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// restored answers reads of machines as an API server that went back to before a deletion.
type restored struct{ client.Reader }

func (r restored) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	if m, is := o.(*v1alpha1.Machine); is {
		m.DeletionTimestamp, m.ResourceVersion = nil, "1"
	}
	return err
}

// TestForcedForALeavingMachineOnly: pods are forced off the node of a machine that is being
// deleted, as the API server itself says. It may have been restored since, to when the
// machine was wanted.
func TestForcedForALeavingMachineOnly(t *testing.T) {
	for _, tt := range []struct {
		reason string
		live   func(client.Reader) client.Reader
		forced bool
	}{
		{"the cache is right", func(r client.Reader) client.Reader { return r }, true},
		{"nobody deleted it any more", func(r client.Reader) client.Reader { return restored{r} }, false},
	} {
		g := gardenerRig(t)
		g.settle()
		g.pod("db-0", true)
		g.change(func(m *v1alpha1.Machine) {
			m.Labels = map[string]string{"force-deletion": "True"}
		})
		g.delete()
		g.r.Live = tt.live(g.r.Live)
		_, _ = g.try("m-1")
		if forced := slices.Contains(g.target.writes, "delete Pod"); forced != tt.forced {
			t.Errorf("%s: %v", tt.reason, g.target.writes)
		}
	}
}

// TestForcedWhileUnreachableOnly: pods are forced off a node that was silent for long. One
// whose kubelet reports again with the cordon is drained with patience.
func TestForcedWhileUnreachableOnly(t *testing.T) {
	for _, back := range []bool{false, true} {
		g := gardenerRig(t)
		g.settle()
		g.pod("db-0", true)
		g.reports(corev1.ConditionUnknown)
		g.clock.Step(20 * time.Minute)
		g.delete()
		g.target.refuse = func(write string) error {
			if back && write == "patch Node" {
				g.reports(corev1.ConditionTrue)
			}
			return nil
		}
		_, _ = g.try("m-1")
		if forced := slices.Contains(g.target.writes, "delete Pod"); forced == back {
			t.Errorf("back %v: %v", back, g.target.writes)
		}
	}
}

// TestForcedPastNoUnheardNode: world 100200669. The infrastructure does not list the instance
// of a machine whose deletion a person forces, and the cluster that it joined does not
// answer. The node might report under the instance: the machine is not let go for that.
func TestForcedPastNoUnheardNode(t *testing.T) {
	for _, tt := range []struct {
		reason string
		then   func(*rig[*v1alpha1.Machine])
		gone   bool
	}{
		{"it stays so", func(*rig[*v1alpha1.Machine]) {}, false},
		{"the cluster answers, and the node reports", func(g *rig[*v1alpha1.Machine]) { g.r.Nodes.Live = g.target }, false},
		{"the cluster answers, and the node is silent", func(g *rig[*v1alpha1.Machine]) {
			g.r.Nodes.Live = g.target
			g.reports(corev1.ConditionUnknown)
		}, true},
		{"the instance is listed", func(g *rig[*v1alpha1.Machine]) { g.cloud.instances = []provider.Instance{g.cloud.next} }, true},
		{"a person lets it go without its instance", func(g *rig[*v1alpha1.Machine]) {
			g.change(func(m *v1alpha1.Machine) {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, "millwright.dev/abandon-instance", "true")
			})
		}, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := gardenerRig(t, func(m *v1alpha1.Machine) { m.Labels = map[string]string{"force-deletion": "True"} })
			g.settle()
			g.cloud.next = g.cloud.instances[0]
			g.cloud.instances, g.r.Nodes.Live = nil, unreadable{errors.New("no route to host")}
			g.delete()
			for range 5 {
				g.pass()
				g.clock.Step(time.Minute)
			}
			if g.gone() {
				t.Fatal("let go although nobody can say whether it runs")
			}
			if text := g.read().Status.LastOperation.Description; !strings.Contains(text, "no route to host") || !strings.Contains(text, "millwright.dev/abandon-instance") {
				t.Errorf("the object does not say why: %q", text)
			}
			tt.then(g)
			g.some(5)
			if g.gone() != tt.gone {
				t.Errorf("gone %v, want %v", g.gone(), tt.gone)
			}
		})
	}
}
