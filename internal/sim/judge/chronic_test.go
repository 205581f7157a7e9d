package judge

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestSilence: a machine on its way out has to say why it is still there, until nothing
// is left of it but the finalizer of others.
func TestSilence(t *testing.T) {
	const others, ours = "example.com/backup", v1alpha1.FinalizerMachine
	for reason, tc := range map[string]struct {
		finalizers []string
		left, says bool
		want       bool
	}{
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
