package machinehealthcheck

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// reclaimed has a controller that has just begun to look, and a node of which
// it is said that it goes.
func reclaimed(t *testing.T) (*world, *corev1.Node) {
	m, n := pair("a")
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "Terminating", Status: "True", LastTransitionTime: metav1.NewTime(begin.Add(-5 * time.Second))})
	w := newWorld(t, m, n, checkOf(func(c *lenient.MachineHealthCheck) {
		c.Spec.NodeStartupTimeout = new(string)
		*c.Spec.NodeStartupTimeout = "0"
		c.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{{Type: "Terminating", Status: "True", Timeout: "0s"}}
	}))
	w.seen = connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Target)
	return w, n
}

// A reclaimed instance has 30 s: its machine is replaced as soon as it is seen.
func TestReclaimedInTheFirstMinute(t *testing.T) {
	w, _ := reclaimed(t)
	if rest := w.pass(); w.leaving() != nil || rest.RequeueAfter > 6*time.Second {
		t.Errorf("before the first look: leaving %v, comes again after %s", w.leaving(), rest.RequeueAfter)
	}
	w.step(6 * time.Second)
	w.look(0)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("with the first look: leaving %v, %s", got, w.condition("Calm").Message)
	}
}

// A cache that has not caught up with what was not seen shows what was
// announced, and the API server that it was taken back.
func TestTakenBackUnseen(t *testing.T) {
	w, n := reclaimed(t)
	live := n.DeepCopy()
	live.Status.Conditions[1].Status = "False"
	w.r.LiveNodes = newWorld(t, live).Client
	w.look(0)
	w.pass()
	if got := w.leaving(); got != nil {
		t.Errorf("leaving %v", got)
	}
	w.look(time.Minute)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("caches have caught up by now, and the node still says so: leaving %v", got)
	}
}

// Not to hear the truth is not to have heard it.
func TestUnconfirmed(t *testing.T) {
	w, _ := reclaimed(t)
	w.look(0)
	sealed := newWorld(t)
	sealed.refuses = func(string, client.Object) error { return errors.New("connection refused") }
	w.r.LiveNodes = sealed
	_, err := w.r.Reconcile(t.Context(), request("check"))
	if err == nil || !strings.Contains(err.Error(), "connection refused") || w.leaving() != nil {
		t.Errorf("leaving %v, %v", w.leaving(), err)
	}
	w.r.LiveNodes = w
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("asked again: leaving %v", got)
	}
}
