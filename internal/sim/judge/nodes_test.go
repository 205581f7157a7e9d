package judge

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestOwnNode: which nodes of others a machine must not take for its own.
func TestOwnNode(t *testing.T) {
	for _, c := range []struct {
		reason string
		own    Instance
		broken bool
	}{
		{"its own instance registers under another name", Instance{Place: "main", NodeName: "host-2"}, true},
		{"both register under one name", Instance{Place: "main", NodeName: "host-1"}, false},
		{"no listing shows both instances", Instance{Place: "other", NodeName: "host-2"}, false},
	} {
		s := newScene()
		s.write(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1", UID: "n"}})
		c.own.ID, c.own.UID, c.own.Name = "i-2", "m", "m"
		s.instances = []Instance{{ID: "i-1", UID: "x", Name: "x", Place: "main", NodeName: "host-1", Node: "n", Hostile: true}, c.own}
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
