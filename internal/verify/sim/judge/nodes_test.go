package judge

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestOwnNode: nodes of other machines that a machine must not take for its own.
func TestOwnNode(t *testing.T) {
	for _, c := range []struct {
		reason string
		own    Instance
		// foretold, gone are properties of the other instance: its node name was predicted, it has ended.
		foretold, gone bool
		broken         bool
	}{
		{"its own instance registers under another name", Instance{Place: "main", NodeName: "host-2"}, true, false, true},
		{"both register under one name", Instance{Place: "main", NodeName: "host-1"}, true, false, false},
		{"no listing shows both instances", Instance{Place: "other", NodeName: "host-2"}, true, false, false},
		{"the other has gone, and its own is foretold another name", Instance{Place: "main", NodeName: "host-2"}, true, true, true},
		{"the other is listed", Instance{Place: "main", NodeName: "host-2"}, false, false, true},
		{"the other has gone, and nothing is foretold", Instance{Place: "main", NodeName: "host-2"}, false, true, false},
	} {
		s := newScene()
		s.write(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1", UID: "n"}})
		c.own.ID, c.own.UID, c.own.Name = "i-2", "m", "m"
		other := Instance{ID: "i-1", UID: "x", Name: "x", Place: "main", NodeName: "host-1", Node: "n", Hostile: true, Foretold: c.foretold}
		if c.gone {
			other.Gone = s.now.Add(-time.Minute)
		}
		s.instances = []Instance{other, c.own}
		was := gardenerMachine("m", func(m *v1alpha1.Machine) { m.Labels = nil })
		now := gardenerMachine("m", func(m *v1alpha1.Machine) {
			m.Labels["node"], m.Status.CurrentStatus.Phase = "host-1", v1alpha1.MachineRunning
		})
		s.judge.judgeOwnNode(readMachine(was), readMachine(now))
		if got := slices.Contains(s.broken, OwnNode); got != c.broken {
			t.Errorf("%s: %q", c.reason, s.broken)
		}
	}
}

// TestHeldInVain: finalizers on a node that must be removed before the world is at rest.
func TestHeldInVain(t *testing.T) {
	ours := gardenerMachine("m", func(m *v1alpha1.Machine) { m.Labels, m.Spec.ProviderID = map[string]string{"node": "n"}, "sim:///i-1" })
	for _, c := range []struct {
		reason, provider string
		finalizers       []string
		machines         []machine
		want             bool
	}{
		{"its machine has it", "sim:///i-1", []string{v1alpha1.FinalizerNode}, []machine{readMachine(ours)}, false},
		{"it may be its machine's", "", []string{v1alpha1.FinalizerNode}, []machine{readMachine(ours)}, false},
		{"it is of another instance", "sim:///i-2", []string{v1alpha1.FinalizerNode}, []machine{readMachine(ours)}, true},
		{"there is no machine of that API", "", []string{v1alpha1.FinalizerNode}, nil, true},
		{"nothing holds it", "sim:///i-2", []string{"another/finalizer"}, nil, false},
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Finalizers: c.finalizers}, Spec: corev1.NodeSpec{ProviderID: c.provider}}
		if got := keepsUnneededFinalizer(n, c.machines); got != c.want {
			t.Errorf("held in vain: %v, want %v: %s", got, c.want, c.reason)
		}
	}
}
