package stop

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// TestStopAndResume: stop creates or updates one budget that selects all machines, and resume deletes it.
func TestStopAndResume(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	narrow := &v1alpha1.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "emergency-stop"}}
	narrow.Spec.Selector.MatchLabels = map[string]string{"pool": "blue"}
	for _, c := range []struct {
		reason   string
		before   []client.Object
		message  string
		says     string
		afterEnd string
	}{
		{"no budget", nil, "storage is down", "no voluntary disruption of machines begins until you run 'kubectl machine resume'", "deleted after"},
		{"a budget that selects some machines", []client.Object{narrow}, "again", "no voluntary disruption", "deleted after"},
	} {
		k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.before...).Build()
		var out bytes.Buffer
		s := newCommand("kubectl machine", genericiooptions.IOStreams{Out: &out, ErrOut: &out})
		s.connect, s.message = func() (client.Client, error) { return k, nil }, c.message
		if err := s.stop(t.Context()); err != nil || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: stop: error %v, output %q", c.reason, err, out.String())
		}
		var b v1alpha1.MachineDisruptionBudget
		if err := k.Get(t.Context(), client.ObjectKey{Name: "emergency-stop"}, &b); err != nil || !b.Spec.Paused || b.Spec.Message != c.message || len(b.Spec.Selector.MatchLabels) > 0 {
			t.Errorf("%s: get the budget: error %v, spec %+v", c.reason, err, b.Spec)
		}
		for _, want := range []string{c.afterEnd, "does not exist"} {
			out.Reset()
			if err := s.resume(t.Context()); err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("%s: resume: error %v, output %q, want %q", c.reason, err, out.String(), want)
			}
		}
	}
}

func TestUnserved(t *testing.T) {
	err := unserved(&apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "millwright.dev", Kind: "MachineDisruptionBudget"}})
	if !strings.Contains(err.Error(), "config/disruption-budgets") {
		t.Error(err)
	}
	if err := unserved(errors.New("forbidden")); strings.Contains(err.Error(), "kubectl apply") {
		t.Error(err)
	}
}
