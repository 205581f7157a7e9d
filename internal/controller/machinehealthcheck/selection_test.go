package machinehealthcheck

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// TestNothingSelectedIsTold: a check that selects no machine says so at once in its
// condition, and once in an event when its machines have had time to be made.
func TestNothingSelectedIsTold(t *testing.T) {
	w := newWorld(t, append(pairs("a"), checkOf(func(c *lenient.MachineHealthCheck) {
		c.Spec.Selector.MatchLabels = map[string]string{"role": "wroker"}
		c.CreationTimestamp = metav1.NewTime(begin)
	}))...)
	again := w.pass().RequeueAfter
	if c := w.condition("Calm"); c.Reason != "NoMachines" || !strings.Contains(c.Message, "no machine matches the selector") {
		t.Errorf("Calm says %s: %q", c.Reason, c.Message)
	}
	if heard := w.heard(); strings.Contains(heard, "NoMachines") {
		t.Errorf("told at once: %s", heard)
	}
	if again == 0 || again > grace {
		t.Fatalf("looks again after %s, want within %s", again, grace)
	}
	w.step(again)
	w.pass()
	if heard := w.heard(); strings.Count(heard, "Warning NoMachines/HealthCheck check: The selector matches no machine") != 1 {
		t.Errorf("heard %q", heard)
	}
	w.step(time.Hour)
	w.pass()
	if heard := w.heard(); strings.Contains(heard, "NoMachines") {
		t.Errorf("told again: %s", heard)
	}
}

// TestSharedMachinesAreTold: two checks that select one machine both say so, once;
// one of machines of another API has nothing to do with it.
func TestSharedMachinesAreTold(t *testing.T) {
	named := func(name string, edit ...func(*lenient.MachineHealthCheck)) client.Object {
		return checkOf(append(edit, func(c *lenient.MachineHealthCheck) { c.Name, c.UID = name, types.UID(name) })...)
	}
	w := newWorld(t, append(pairs("a", "b"), named("check"), named("twin"), named("elsewhere", func(c *lenient.MachineHealthCheck) {
		c.Annotations = map[string]string{dialect.MachineAPIAnnotation: "machine.sapcloud.io"}
	}))...)
	pass := func() {
		for _, name := range []string{"check", "twin", "elsewhere"} {
			if _, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass()
	heard := w.heard()
	for _, want := range []string{"SharedMachines/HealthCheck check: Machines that this check selects are selected by health check twin", "SharedMachines/HealthCheck twin: Machines that this check selects are selected by health check check"} {
		if strings.Count(heard, want) != 1 {
			t.Errorf("want once %q in %q", want, heard)
		}
	}
	if strings.Count(heard, "SharedMachines") != 2 {
		t.Errorf("more than the two checks are told: %s", heard)
	}
	w.step(time.Minute)
	pass()
	if heard := w.heard(); strings.Contains(heard, "SharedMachines") {
		t.Errorf("told again: %s", heard)
	}
}

// TestDoubtfulAnnotationsAreTold: a check says of an annotation that does not exist which was
// meant, once.
func TestDoubtfulAnnotationsAreTold(t *testing.T) {
	w := newWorld(t, append(pairs("a"), checkOf(func(c *lenient.MachineHealthCheck) {
		c.Annotations = map[string]string{"millwright.dev/remediation-cool-down": "5m"}
	}))...)
	w.pass()
	if heard := w.heard(); !strings.Contains(heard, "Warning UnknownAnnotation/HealthCheck") || !strings.Contains(heard, "did you mean millwright.dev/remediation-cooldown?") {
		t.Errorf("heard %q", heard)
	}
	w.step(time.Minute)
	w.pass()
	if heard := w.heard(); strings.Contains(heard, "UnknownAnnotation") {
		t.Errorf("told again: %q", heard)
	}
}
