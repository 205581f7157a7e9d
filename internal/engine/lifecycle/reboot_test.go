package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

const rebootAt = "2026-01-02T03:09:00Z"

// askedFor is a machine with a node that is to be rebooted.
func askedFor(edits ...func(*lifecycle.Rebooting)) machineEdit {
	return func(m *lifecycle.Machine) {
		m.Stage = lifecycle.StageRunning
		m.Reboot = lifecycle.Rebooting{Request: rebootAt, Until: now.Add(time.Minute)}
		for _, e := range edits {
			e(&m.Reboot)
		}
	}
}

func begunFor(since time.Duration, calls int) func(*lifecycle.Rebooting) {
	return func(r *lifecycle.Rebooting) {
		r.Answered, r.State, r.At, r.Calls = rebootAt, lifecycle.RebootBegun, now.Add(-since), calls
	}
}

func came(s lifecycle.RebootState) func(*lifecycle.Rebooting) {
	return func(r *lifecycle.Rebooting) { r.Answered, r.State, r.At, r.Calls = rebootAt, s, now, 1 }
}

func askedBecause(ails string) func(*lifecycle.Rebooting) {
	return func(r *lifecycle.Rebooting) { r.For = ails }
}

func powered(p lifecycle.RebootPower) worldEdit {
	return func(w *lifecycle.World) { w.Session.RebootPower = p }
}

func TestReboot(t *testing.T) {
	ill, well := runningOn(node("Unknown")), runningOn(node("True"))
	full := runningOn(node("True", "DiskFull", "True"))
	once, each := powered(lifecycle.RebootsOnce), powered(lifecycle.RebootsEachTime)
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		want   bool
	}{
		{"nobody asked", machine(askedFor(func(r *lifecycle.Rebooting) { *r = lifecycle.Rebooting{} })), world(ill, once), false},
		{"a health check asked", machine(askedFor()), world(ill, once), true},
		{"the answer that it cannot is given too", machine(askedFor()), world(ill), true},
		{"too late", machine(askedFor(func(r *lifecycle.Rebooting) { r.Until = now })), world(ill, once), false},
		{"done before", machine(askedFor(came(lifecycle.RebootDone))), world(ill, once), false},
		{"refused before", machine(askedFor(came(lifecycle.RebootFailed))), world(ill, once), false},
		{"another request was answered", machine(askedFor(came(lifecycle.RebootDone), func(r *lifecycle.Rebooting) { r.Answered = "2026-01-01T03:09:00Z" })), world(ill, each), true},
		{"a failed attempt rests", machine(askedFor(begunFor(0, 1))), world(ill, once), false},
		{"and is made again", machine(askedFor(begunFor(time.Minute, 1))), world(ill, once), true},
		{"as often as it takes", machine(askedFor(begunFor(time.Minute, 50))), world(ill, once), true},
		{"once more where each call is another reboot", machine(askedFor(begunFor(time.Minute, 1))), world(ill, each), true},
		{"and no more", machine(askedFor(begunFor(time.Minute, 2))), world(ill, each), false},
		{"on its way out", leaving(askedFor()), world(ill, once), false},
		{"our finalizer is not in place", machine(askedFor(), func(m *lifecycle.Machine) { m.HasFinalizer = false }), world(ill, once), false},
		{"given up", machine(askedFor(), stage(lifecycle.StageFailed, 0)), world(ill, once), false},
		{"its node's agent is at work", machine(askedFor(), stage(lifecycle.StageUpdating, 0)), world(ill, once), false},
		{"it is drained for an update", machine(askedFor()), world(ill, once, func(w *lifecycle.World) { w.Node.Update.Request = inplace.RequestSelected }), false},
		{"the infrastructure does not answer", machine(askedFor()), world(ill, once, blind(errTransient)), false},
		{"the instance is gone", machine(askedFor()), world(ill, once, func(w *lifecycle.World) { w.Instances.Own = nil }), false},
		{"another instance stands in for it", machine(askedFor()), world(ill, once, func(w *lifecycle.World) { w.Instances.Substitute = true }), false},
		{"the instance is on its way out", machine(askedFor()), world(ill, once, having(instance(provider.Stopping))), false},
		{"one that is off is started by it", machine(askedFor()), world(ill, once, having(instance(provider.Stopped))), true},
		{"what ails the node is there still", machine(askedFor(askedBecause("Ready=Unknown"))), world(ill, once), true},
		{"the node fell silent, and now says that it is not ready", machine(askedFor(askedBecause("Ready=False"))), world(ill, once), true},
		{"the node got well by itself", machine(askedFor(askedBecause("Ready=Unknown"))), world(well, once), false},
		{"it got well after a call that failed", machine(askedFor(askedBecause("Ready=Unknown"), begunFor(time.Minute, 1))), world(well, once), false},
		{"what else ailed it is there still", machine(askedFor(askedBecause("Ready=Unknown,DiskFull=True"))), world(full, once), true},
		{"what only the check minds is there still", machine(askedFor(askedBecause("DiskFull=True"))), world(full, once), true},
		{"what only the check minds is over", machine(askedFor(askedBecause("DiskFull=True"))), world(well, once), false},
		{"who asks without a word about the node is obeyed", machine(askedFor()), world(well, once), true},
		{"nobody knows how the node is", machine(askedFor(askedBecause("Ready=Unknown"))), world(well, once, func(w *lifecycle.World) { w.Node.Looked = false }), true},
		{"the node is gone", machine(askedFor(askedBecause("Ready=Unknown"))), world(well, once, func(w *lifecycle.World) { w.Node.Object = nil }), true},
		{"we do not see", machine(askedFor()), world(ill, once, func(w *lifecycle.World) {
			w.Connectivity = connectivity.Begin(now, connectivity.Policy{Timeout: time.Minute, Interval: 10 * time.Second}, connectivity.Target)
		}), false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := lifecycle.Decide(now, c.m, c.w, lifecycle.Policy{Delays: lifecycle.Delays{Transient: 5 * time.Second}})
			if got := d.Step == lifecycle.Reboot; got != c.want {
				t.Errorf("%s: %s (%s)", c.reason, d.Step, d.Reason)
			}
		})
	}
}

func TestRebootAnswers(t *testing.T) {
	for _, c := range []struct {
		reason string
		err    error
		want   lifecycle.RebootState
	}{
		{"it went well", nil, lifecycle.RebootDone},
		{"nobody knows", errTransient, lifecycle.RebootBegun},
		{"later", errThrottled, lifecycle.RebootBegun},
		{"not with these credentials", errDenied, lifecycle.RebootFailed},
		{"not at all", errInvalid, lifecycle.RebootFailed},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r, call := lifecycle.Rebooting{Request: rebootAt, Until: now.Add(time.Minute)}.Begin(now, lifecycle.RebootsEachTime)
			if !call || r.Current() != lifecycle.RebootBegun || r.Calls != 1 {
				t.Fatalf("%s: begun as %+v, call %v", c.reason, r, call)
			}
			later := now.Add(time.Second)
			if r = r.End(later, c.err); r.Current() != c.want || !r.At.Equal(later) || (r.Message == "") != (c.err == nil) {
				t.Errorf("%s: %+v", c.reason, r)
			}
		})
	}
	if r, call := (lifecycle.Rebooting{Request: rebootAt}).Begin(now, ""); call || r.Current() != lifecycle.RebootUnsupported {
		t.Errorf("without the power: %+v, call %v", r, call)
	}
}

func TestRebootAgain(t *testing.T) {
	p := lifecycle.Policy{Delays: lifecycle.Delays{Transient: 5 * time.Second}}
	w := world(powered(lifecycle.RebootsOnce))
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		want   time.Duration
	}{
		{"nothing to do", machine(), 0},
		{"done", machine(askedFor(came(lifecycle.RebootDone))), 0},
		{"what it takes is not seen", machine(askedFor()), 5 * time.Second},
		{"an attempt rests", machine(askedFor(begunFor(0, 2))), time.Second},
		{"it is too late", machine(askedFor(func(r *lifecycle.Rebooting) { r.Until = now })), 0},
	} {
		if got := lifecycle.RebootAgain(now, c.m, w, p); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

// For one request, an infrastructure that does not recognize a repeated request is called at most twice, and
// one that reports that it is done, or cannot reboot, never again: for any results of the calls, and any
// crashes after them.
func TestNeverTwoRebootsForARequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		power := rapid.SampledFrom([]lifecycle.RebootPower{lifecycle.RebootsOnce, lifecycle.RebootsEachTime}).Draw(t, "power")
		m := machine(askedFor(func(r *lifecycle.Rebooting) { r.Until = now.Add(10 * time.Minute) }))
		w := world(runningOn(node("Unknown")), powered(power))
		at, calls, final := now, 0, false
		for range 50 {
			d := lifecycle.Decide(at, m, w, lifecycle.Policy{Delays: lifecycle.Delays{Transient: 5 * time.Second}})
			if d.Step == lifecycle.Reboot {
				r, call := m.Reboot.Begin(at, power)
				if m.Reboot = r; call {
					calls++
				}
				err := drawError(t, "the call")
				if final || power == lifecycle.RebootsEachTime && calls > 2 || !at.Before(m.Reboot.Until) {
					t.Fatalf("called %d times, final %v, at %s", calls, final, at)
				}
				if !rapid.Bool().Draw(t, "crash") {
					m.Reboot = m.Reboot.End(at, err)
					final = m.Reboot.Current() != lifecycle.RebootBegun
				}
			}
			at = at.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
		}
	})
}

// TestRebootSaw: this process's observation of the present request counts before the stored one, and keeps
// the time limit of that request.
func TestRebootSaw(t *testing.T) {
	stored := askedFor(begunFor(time.Minute, 1), askedBecause("Ready=False"))
	for _, c := range []struct {
		reason string
		saw    lifecycle.Rebooting
		want   lifecycle.RebootState
	}{
		{"nothing was seen", lifecycle.Rebooting{}, lifecycle.RebootBegun},
		{"it was done, and could not be stored", lifecycle.Rebooting{Answered: rebootAt, State: lifecycle.RebootDone}, lifecycle.RebootDone},
		{"another one was done", lifecycle.Rebooting{Answered: "2026-01-01T03:09:00Z", State: lifecycle.RebootDone}, lifecycle.RebootBegun},
	} {
		m := machine(stored)
		got := m.Reboot.Saw(c.saw)
		if got.Current() != c.want || got.Request != rebootAt || got.Until != m.Reboot.Until || got.For != "Ready=False" {
			t.Errorf("%s: %+v", c.reason, got)
		}
		w := world(powered(lifecycle.RebootsOnce), func(w *lifecycle.World) { w.Reboot = c.saw })
		if again := lifecycle.RebootAgain(now, m, w, lifecycle.Policy{}) > 0; again != (c.want == lifecycle.RebootBegun) {
			t.Errorf("%s: it is looked at again: %v", c.reason, again)
		}
	}
}
