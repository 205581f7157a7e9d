package machinehealthcheck

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func escalating(c *lenient.MachineHealthCheck) {
	c.Annotations = map[string]string{dialect.EscalationAnnotation: "reboot", dialect.RebootTimeoutAnnotation: "4m"}
}

func (w *world) rebooting(name string) lifecycle.Rebooting {
	w.t.Helper()
	m := &machinev1.Machine{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: name}, m))
	return dialect.ReadRebooting(m)
}

// answers is what the machine's controller records about a request.
func (w *world) answers(name string, s lifecycle.RebootState) {
	w.t.Helper()
	m := &machinev1.Machine{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: name}, m))
	r := dialect.ReadRebooting(m)
	r.Answered, r.State, r.At = r.Request, s, w.clock.Now()
	dialect.WriteReboot(m, r)
	w.must(w.Update(w.t.Context(), m))
	w.r.MachineChanged(m)
}

// sickWorld lets a node be silent for as long as it takes.
func sickWorld(t *testing.T) *world {
	w := newWorld(t, append(pairs("a", "b", "c"), checkOf(escalating))...)
	w.pass()
	w.turns("a", "Unknown")
	w.pass()
	w.heard()
	w.wrote()
	w.step(5*time.Minute + time.Second)
	return w
}

// wakes the check for a machine and lets it look.
func (w *world) wakes(name string) {
	w.t.Helper()
	m := &machinev1.Machine{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: name}, m))
	w.r.MachineChanged(m)
	w.pass()
}

// Reboot, then replace: the request is stored after it is remembered, time is
// given from the reboot, and the replacement says what was tried.
func TestRebootThenReplace(t *testing.T) {
	w := sickWorld(t)
	w.pass()
	asked := w.clock.Now()
	if got := w.wrote(); !slices.Equal(got, []string{"patch check", "patch a", "patch status check"}) {
		t.Errorf("wrote %v", got)
	}
	if got := w.heard(); !strings.HasPrefix(got, "Normal RebootRequested/Remediate a: ") {
		t.Errorf("told %q", got)
	}
	if r := w.rebooting("a"); r.Request != asked.Format(time.RFC3339) || !r.Until.Equal(asked.Add(4*time.Minute)) || r.For != "Ready=Unknown" {
		t.Errorf("asked for %+v", r)
	}
	w.step(time.Minute)
	w.wakes("a")
	w.answers("a", lifecycle.RebootDone)
	if rest := w.pass(); rest.RequeueAfter != 4*time.Minute+time.Second || w.leaving() != nil {
		t.Errorf("comes again after %s, leaving %v", rest.RequeueAfter, w.leaving())
	}
	w.wrote()
	w.step(4 * time.Minute)
	w.pass()
	if got := w.wrote(); got != nil {
		t.Errorf("a look too early did %v", got)
	}
	w.step(time.Second)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("leaving %v", got)
	}
	if got := w.heard(); !strings.Contains(got, "Normal RebootDidNotHelp/Remediate a: ") || !strings.Contains(got, "it was rebooted at") || !strings.Contains(got, "MachineDeleted") {
		t.Errorf("told %q", got)
	}
}

// A provider that cannot reboot, or may not, costs no time.
func TestReplacedAtOnceWhereNothingReboots(t *testing.T) {
	for _, s := range []lifecycle.RebootState{lifecycle.RebootUnsupported, lifecycle.RebootFailed} {
		w := sickWorld(t)
		w.pass()
		w.answers("a", s)
		w.pass()
		if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: leaving %v", s, got)
		}
	}
}

// A machine that recovers before it is rebooted is not rebooted any more; one
// that recovers by it stays.
func TestRebootIsWithdrawn(t *testing.T) {
	w := sickWorld(t)
	w.pass()
	w.wakes("a")
	w.turns("a", "True")
	w.pass()
	if r := w.rebooting("a"); r.Request != "" {
		t.Errorf("still asked for: %+v", r)
	}
	w = sickWorld(t)
	w.pass()
	w.answers("a", lifecycle.RebootDone)
	w.turns("a", "True")
	w.step(time.Hour)
	w.pass()
	if r := w.rebooting("a"); r.Request == "" || w.leaving() != nil {
		t.Errorf("asked for %+v, leaving %v", r, w.leaving())
	}
}

// If the cache does not show the request yet, or the request could not be stored, there is still only one
// request: it has the same name.
func TestRebootIsAskedForOnce(t *testing.T) {
	w := sickWorld(t)
	w.refuses = func(verb string, o client.Object) error {
		if verb == "patch" && o.GetName() == "a" {
			return errors.New("the API server is gone")
		}
		return nil
	}
	if _, err := w.r.Reconcile(t.Context(), request("check")); err == nil {
		t.Fatal("nobody noticed")
	}
	begun := w.clock.Now()
	w.refuses = nil
	w.step(time.Minute)
	w.pass()
	if r := w.rebooting("a"); r.Request != begun.Format(time.RFC3339) {
		t.Errorf("asked for %+v, begun at %s", r, begun)
	}
	w.wrote()
	w.turns("b", "Unknown") // a plan is made by what is known of a: that it was not asked
	w.pass()
	if got := w.wrote(); slices.Contains(got, "patch a") {
		t.Errorf("asked again: %v", got)
	}
}
