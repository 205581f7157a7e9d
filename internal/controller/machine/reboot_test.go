package machine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// switchboard is the power of a cloud. It notes what it was asked for.
type switchboard struct {
	calls []string
	err   error
	// knows: it recognizes requests.
	knows bool
}

func (s *switchboard) Power(_ context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	if s.knows {
		s.calls = append(s.calls, request+" "+i.ID)
		return s.err
	}
	s.calls = append(s.calls, string(op)+" "+i.ID)
	return s.err
}

// switched gives the cloud a power of its own, which knows requests again or does not.
func (g *rig[M]) switched(knows bool) *switchboard {
	s := &switchboard{knows: knows}
	g.cloud.traits.RebootsOnce = knows
	g.cloud.offers = func(target any) bool {
		p, ok := target.(*provider.Powerer)
		if ok {
			*p = s
		}
		return ok
	}
	return s
}

const rebootRequest = "2026-01-02T03:04:05Z"

// asks lets a health check ask for a reboot.
func (g *rig[M]) asks() { g.Helper(); g.asksFor("") }

// asksFor lets it say what ails the node.
func (g *rig[M]) asksFor(ails string) {
	g.Helper()
	m := g.read()
	before := m.DeepCopyObject().(M)
	dialect.WriteRebootRequest(m, lifecycle.Rebooting{Request: rebootRequest, Until: start.Add(10 * time.Minute), For: ails}, "check")
	if err := g.control.WithWatch.Patch(g.Context(), m, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
	g.written()
}

// joined is a machine that runs on its node.
func joinedRig(t *testing.T) *rig[*machinev1.Machine] {
	g := openshiftRig(t)
	g.pass()
	g.joins()
	g.pass()
	g.told()
	return g
}

func rebootOf(g *rig[*machinev1.Machine]) lifecycle.Rebooting { return dialect.ReadRebooting(g.read()) }

// TestReboot: asked for once, it is done once, and what came of it is there to
// be read. The machine stays.
func TestReboot(t *testing.T) {
	for name, c := range map[string]struct {
		knows bool
		call  string
	}{"by a provider that knows requests": {true, rebootRequest + " i-1"}, "by power alone": {false, "Reboot i-1"}} {
		t.Run(name, func(t *testing.T) {
			g := joinedRig(t)
			s := g.switched(c.knows)
			g.asks()
			g.pass()
			if !slices.Equal(s.calls, []string{c.call}) {
				t.Errorf("calls %q", s.calls)
			}
			if r := rebootOf(g); r.Current() != lifecycle.RebootDone || r.Calls != 1 || !r.At.Equal(start) {
				t.Errorf("recorded %+v", r)
			}
			if got := g.told(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal Rebooted rebooted instance i-1") {
				t.Errorf("told %q", got)
			}
			g.pass()
			g.restart()
			g.clock.Step(time.Minute)
			g.pass()
			if len(s.calls) != 1 || g.cloud.count("Create") != 1 || g.cloud.count("Delete") != 0 {
				t.Errorf("afterwards: calls %q, %q", s.calls, g.cloud.calls)
			}
		})
	}
}

// TestRebootRecovered: a node that got well by itself, while the check did not come to
// take its request back, is not rebooted. It is when it falls ill again.
func TestRebootRecovered(t *testing.T) {
	g := joinedRig(t)
	s := g.switched(true)
	g.asksFor("Ready=Unknown")
	g.pass()
	if r := rebootOf(g); len(s.calls) != 0 || r.Current() != "" {
		t.Errorf("a node that is well: calls %q, recorded %+v", s.calls, r)
	}
	n := &corev1.Node{}
	if err := g.target.WithWatch.Get(g.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		g.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if err := g.target.WithWatch.Status().Update(g.Context(), n); err != nil {
		g.Fatal(err)
	}
	g.pass()
	if r := rebootOf(g); len(s.calls) != 1 || r.Current() != lifecycle.RebootDone {
		t.Errorf("a node that is ill again: calls %q, recorded %+v", s.calls, r)
	}
}

// TestRebootUnsupported: a provider that cannot says so at once.
func TestRebootUnsupported(t *testing.T) {
	g := joinedRig(t)
	g.asks()
	g.pass()
	if r := rebootOf(g); r.Current() != lifecycle.RebootUnsupported {
		t.Errorf("recorded %+v", r)
	}
	if got := g.told(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning RebootUnsupported") {
		t.Errorf("told %q", got)
	}
}

// TestRebootRefused: a failure that no retry can fix is not tried again.
func TestRebootRefused(t *testing.T) {
	g := joinedRig(t)
	s := g.switched(true)
	s.err = provider.Errorf(provider.Denied, "no permission to reboot")
	g.asks()
	for range 3 {
		g.pass()
		g.clock.Step(time.Minute)
	}
	if r := rebootOf(g); r.Current() != lifecycle.RebootFailed || r.Message != "no permission to reboot" || len(s.calls) != 1 {
		t.Errorf("recorded %+v, calls %q", r, s.calls)
	}
}

// TestRebootIsTriedAgain: what may pass is tried again, in good time and not
// beyond what the request allows.
func TestRebootIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		knows bool
		calls int
	}{"knowing the request": {true, 10}, "with another reboot at most": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			g := joinedRig(t)
			s := g.switched(c.knows)
			s.err = errors.New("reset by peer")
			g.asks()
			if res := g.pass(); res.RequeueAfter != lifecycle.FirstDelay {
				t.Errorf("asked again after %s", res.RequeueAfter)
			}
			for range 20 {
				g.clock.Step(time.Minute)
				g.pass()
			}
			if r := rebootOf(g); len(s.calls) != c.calls || r.Current() != lifecycle.RebootBegun || r.Message != "reset by peer" {
				t.Errorf("%d calls, recorded %+v", len(s.calls), r)
			}
		})
	}
}

// TestRebootIsStoredFirst: nothing is rebooted while it cannot be stored that it
// is, and what cannot be stored afterwards is stored later, without another call.
func TestRebootIsStoredFirst(t *testing.T) {
	for name, c := range map[string]struct{ refused, calls int }{"before": {1, 0}, "afterwards": {2, 1}} {
		t.Run(name, func(t *testing.T) {
			g := joinedRig(t)
			s := g.switched(false)
			g.asks()
			n := 0
			g.control.refuse = func(w string) error {
				if n++; n == c.refused {
					return errors.New("the API server is gone")
				}
				return nil
			}
			if _, err := g.try("m-1"); err == nil {
				t.Fatal("nobody noticed")
			}
			if len(s.calls) != c.calls {
				t.Errorf("calls %q", s.calls)
			}
			g.clock.Step(time.Minute)
			g.pass()
			if r := rebootOf(g); len(s.calls) != 1 || r.Current() != lifecycle.RebootDone {
				t.Errorf("calls %q, recorded %+v", s.calls, r)
			}
		})
	}
}

// TestRebootAfterCrash: who finds that a reboot was begun and not what came of it
// asks again, by the same name; where names mean nothing, once.
func TestRebootAfterCrash(t *testing.T) {
	g := joinedRig(t)
	s := g.switched(false)
	g.asks()
	for range 5 {
		writes := 0
		g.control.refuse = func(string) error {
			if writes++; writes > 1 {
				return errors.New("killed")
			}
			return nil
		}
		_, _ = g.try("m-1")
		g.control.refuse = nil
		g.restart()
		g.clock.Step(time.Minute)
	}
	if len(s.calls) != 2 {
		t.Errorf("calls %q", s.calls)
	}
}

// TestRebootNotOnTheWayOut: a machine under deletion is left to it.
func TestRebootNotOnTheWayOut(t *testing.T) {
	g := joinedRig(t)
	s := g.switched(true)
	g.asks()
	g.delete()
	g.pass()
	if len(s.calls) != 0 {
		t.Errorf("calls %q", s.calls)
	}
}
