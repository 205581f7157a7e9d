package lifecycle_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// W3: a pending change is polled soon, and then less and less often.
func TestPoll(t *testing.T) {
	for _, c := range []struct {
		pendingFor, want time.Duration
		reason           string
	}{
		{-time.Second, 250 * time.Millisecond, "a clock that went back is no reason to spin"},
		{0, 250 * time.Millisecond, "nothing is asked about more than four times a second"},
		{time.Second, 250 * time.Millisecond, "a quarter of a second is a quarter of it"},
		{4 * time.Second, time.Second, "what takes 4 s is seen at most 1 s late"},
		{40 * time.Second, 10 * time.Second, "a quarter"},
		{time.Minute, 15 * time.Second, "the longest pause begins at a minute"},
		{10 * time.Minute, 15 * time.Second, "what takes 10 minutes is seen at most 15 s late"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := lifecycle.Poll(c.pendingFor); got != c.want {
				t.Errorf("Poll(%v) = %v, want %v: %s", c.pendingFor, got, c.want, c.reason)
			}
		})
	}
}

// TestLookAgain: a machine that runs asks again about its instance.
func TestLookAgain(t *testing.T) {
	runs := machine(stage(lifecycle.StageRunning, time.Hour))
	fails := func(err error, failures int) lifecycle.World {
		return lifecycle.World{Instances: lifecycle.Instances{Err: err}, Retry: lifecycle.Retry{Step: lifecycle.Await, Err: err, Failures: failures}}
	}
	for reason, c := range map[string]struct {
		m    lifecycle.Machine
		w    lifecycle.World
		want time.Duration
	}{
		"it answered":                            {runs, lifecycle.World{Instances: lifecycle.Instances{Looked: true}}, 0},
		"nobody asked":                           {runs, lifecycle.World{}, 0},
		"once: soon":                             {runs, fails(errTransient, 1), 500 * time.Millisecond},
		"more and more rarely, unlike a new one": {runs, fails(errTransient, 8), 64 * time.Second},
		"but not for ever":                       {runs, fails(errTransient, 99), 5 * time.Minute},
		"it said when":                           {runs, fails(provider.ThrottledFor(4*time.Second, errTransient), 1), 4 * time.Second},
		"it was denied: somebody has to act":     {runs, fails(provider.Errorf(provider.Denied, "no"), 1), 5 * time.Minute},
		"its class cannot be read":               {runs, lifecycle.World{Session: lifecycle.Session{Err: errTransient}, Retry: lifecycle.Retry{Failures: 1}}, 500 * time.Millisecond},
		"it has none yet: that is a decision":    {fresh(), fails(errTransient, 1), 0},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := lifecycle.LookAgain(c.m, c.w, brisk); got != c.want {
				t.Errorf("%s: %v, want %v", reason, got, c.want)
			}
		})
	}
}

// TestDelays returns the pause after the n-th failure in a row, through the decision, as the controller does.
func TestDelays(t *testing.T) {
	seconds := func(s ...float64) (out []time.Duration) {
		for _, x := range s {
			out = append(out, time.Duration(x*float64(time.Second)))
		}
		return out
	}
	untimely := brisk
	untimely.Join.Timeout = 0
	without := untimely
	without.Delays = lifecycle.Delays{}
	for _, c := range []struct {
		name, reason string
		policy       lifecycle.Policy
		err          error
		want         []time.Duration // after 1, 2, 3 … failures
	}{
		{"transient, 5 s", "doubling from half a second up to the bound", untimely, errTransient, seconds(0.5, 1, 2, 4, 5, 5, 5)},
		{"transient, 30 s", "the same with another bound", patient, errTransient, seconds(0.5, 1, 2, 4, 8, 16, 30, 30)},
		{"exhausted", "a slow clock from the first failure on", untimely, errExhausted, seconds(600, 600, 600)},
		{"denied", "no retry can succeed until something changes", untimely, errDenied, seconds(180, 180)},
		{"throttled", "when the infrastructure asks to come back", untimely, errThrottled, seconds(7, 7)},
		{"no bounds given", "a pass that needs no pause would not end", without, errExhausted, seconds(0.5, 0.5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, want := range c.want {
				d := lifecycle.Decide(now, fresh(), world(failedAt(lifecycle.Create, c.err, 0, i+1)), c.policy)
				if d.Step != lifecycle.Await || d.After != want {
					t.Errorf("after failure %d: %s for %v, want Await for %v: %s", i+1, d.Step, d.After, want, c.reason)
				}
			}
		})
	}
}

func TestDelaysDoNotOverflow(t *testing.T) {
	w := world(failedAt(lifecycle.Create, errTransient, 0, 1<<40))
	if d := lifecycle.Decide(now, fresh(), w, patient); d.After != 30*time.Second {
		t.Errorf("after very many failures the pause is %v, not the bound", d.After)
	}
}

// TestDecideLooksAgain: in addition to its other waits, a machine that is not under deletion also waits for
// changes without an event.
func TestDecideLooksAgain(t *testing.T) {
	i := provider.Instance{ID: "i-1", ProviderID: "p://1", State: provider.Running}
	twice := world(having(i))
	twice.Instances.Duplicates = []provider.Instance{{ID: "i-2"}}
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		want   time.Duration
	}{
		{"nothing", machine(stage(lifecycle.StageRunning, time.Hour)), world(having(i)), 0},
		{"a duplicate that somebody may remove", machine(stage(lifecycle.StageRunning, time.Hour)), twice, 10 * time.Minute},
		{"a reboot that is left to rest", machine(askedFor(begunFor(0, 2))), world(having(i), powered(lifecycle.RebootsOnce)), time.Second},
		{"on its way out: that is a decision", leaving(askedFor()), world(having(i)), 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := lifecycle.Policy{Targetless: true, Delays: lifecycle.Delays{Transient: 5 * time.Second}}
			if d := lifecycle.Decide(now, c.m, c.w, p); d.After != c.want {
				t.Errorf("%s: %s after %v, want %v", c.reason, d.Reason, d.After, c.want)
			}
		})
	}
}
