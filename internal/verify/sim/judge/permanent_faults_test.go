package judge

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestSilence: a machine that is being deleted must report the reason for which it still exists, until only foreign finalizers
// hold it.
func TestSilence(t *testing.T) {
	const others, ours = "example.com/backup", v1alpha1.FinalizerMachine
	for reason, tc := range map[string]struct {
		finalizers []string
		left, says bool
		// double: it lists an instance that it has not recorded.
		double, want bool
	}{
		"it lists an instance besides its own":          {left: true, double: true},
		"only others hold it: the object names them":    {finalizers: []string{others}},
		"we hold it as well":                            {finalizers: []string{others, ours}, want: true},
		"nobody holds it, and it is not said":           {want: true},
		"its instance is left, whoever holds it":        {finalizers: []string{others}, left: true, want: true},
		"its instance is left, and it says what of it":  {finalizers: []string{others, ours}, left: true, says: true},
		"we hold it, and it says what it is waiting on": {finalizers: []string{ours}, says: true},
	} {
		s := newScene()
		s.judge.Foreign = others
		m := gardenerMachine("a", func(m *v1alpha1.Machine) {
			m.Finalizers, m.DeletionTimestamp = tc.finalizers, &metav1.Time{Time: s.now}
			if tc.double {
				m.Annotations = map[string]string{unrecorded: `["i-2"]`}
			}
			if tc.says {
				m.Status.LastOperation.Description = "internal error in zone 1"
			}
		})
		if tc.left {
			s.instances = []Instance{{ID: "i-1", UID: "a", Name: "a", Created: s.now}}
		}
		if got := s.judge.Silent(m); got != tc.want {
			t.Errorf("%s: silent %v, want %v", reason, got, tc.want)
		}
	}
}

// TestNodeOfNobody: nodes that count as nodes without a machine if no machine reports their name.
func TestNodeOfNobody(t *testing.T) {
	failed := func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed }
	for _, tc := range []struct {
		reason                               string
		gone, hopeless, remade, instanceGone bool
		edit                                 func(*v1alpha1.Machine)
		stray                                bool
	}{
		{reason: "its machine was deleted before it joined, and cannot go", hopeless: true},
		{reason: "its machine could know it", stray: true},
		{reason: "its machine is gone", gone: true, hopeless: true, stray: true},
		{reason: "its instance is gone", hopeless: true, instanceGone: true, stray: true},
		{reason: "somebody else made it anew", hopeless: true, remade: true, stray: true},
		{reason: "its machine was given up unseen", edit: failed},
		{reason: "its machine was given up unseen, and its instance is gone", edit: failed, instanceGone: true},
		{reason: "its machine was given up, and knows its instance", edit: func(m *v1alpha1.Machine) { failed(m); m.Spec.ProviderID = "p-1" }, stray: true},
		{reason: "its machine was given up, and has another node", edit: func(m *v1alpha1.Machine) { failed(m); m.Labels = map[string]string{"node": "host-2"} }, stray: true},
		{reason: "its machine was given up, and is to be replaced", edit: func(m *v1alpha1.Machine) {
			failed(m)
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "set1", UID: "s", Controller: ptr.To(true)}}
		}, stray: true},
	} {
		s := newScene()
		s.judge.Hopeless = func(client.Object) bool { return tc.hopeless }
		m := gardenerMachine("m", func(m *v1alpha1.Machine) {
			m.Labels, m.Spec.ProviderID = nil, ""
			if tc.edit != nil {
				tc.edit(m)
			}
		})
		s.write(nil, m)
		if tc.gone {
			s.remove(nil, m)
		}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1", UID: "n"}}
		if tc.remade {
			n.UID = "another"
		}
		s.write(nil, n)
		i := Instance{ID: "i-1", UID: "m", Name: "m", NodeName: "host-1", Node: "n"}
		if tc.instanceGone {
			i.Gone = s.now.Add(-time.Second)
		}
		if !tc.gone {
			s.instances = []Instance{i}
		}
		if why := s.judge.Stray(); (why != "") != tc.stray {
			t.Errorf("%s: %q", tc.reason, why)
		}
	}
}
