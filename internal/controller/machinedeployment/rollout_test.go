package machinedeployment_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A change of the template replaces all machines, within bounds at every step.
func TestRollingUpdate(t *testing.T) { both(t, rollingUpdate, rollingUpdate) }

func rollingUpdate[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(5)
	r := w.controller()
	w.rest(r)
	if n := len(w.machines()); n != 5 {
		t.Fatalf("%d machines, want 5", n)
	}
	w.change(func(d D) { a.template(d, "v2") })
	w.rest(r)
	views := w.views()
	if len(views) != 2 {
		t.Fatalf("%d sets, want the old and the new", len(views))
	}
	for _, v := range views {
		want := 0
		if v.Current {
			want = 5
		}
		if v.Replicas != want {
			t.Errorf("set %s (current: %v) has %d replicas, want %d", v.Name, v.Current, v.Replicas, want)
		}
	}
	t.Log(w.recorded())
}
