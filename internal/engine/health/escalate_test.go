package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

const patience = 10 * time.Minute

func escalating(c *Check) { c.Escalation = Escalation{Reboot: true, Patience: patience} }

// asked is a machine whose reboot was requested some time ago, and the result.
func asked(since time.Duration, s lifecycle.RebootState, at time.Duration, message string) func(*Target) {
	return func(t *Target) {
		name := stamp(ago(since))
		t.Reboot = lifecycle.Rebooting{Request: name, Until: ago(since).Add(patience)}
		if s != "" {
			t.Reboot.Answered, t.Reboot.State, t.Reboot.At, t.Reboot.Message = name, s, ago(at), message
		}
	}
}

func TestEscalation(t *testing.T) {
	sick := shows("Ready", "Unknown", time.Hour)
	for _, c := range []struct {
		reason      string
		check       Check
		target      Target
		act         Act
		remediation Remediation
		// why is a part of the reason to leave it, or of the earlier attempt.
		why string
		due time.Duration
	}{
		{"without being asked for", readyCheck(), linked(sick), Do, Delete, "", 0},
		{"a reboot comes first", readyCheck(escalating), linked(sick), Do, Restart, "", 0},
		{"a reboot comes first also where nobody would replace it", readyCheck(escalating), linked(sick, func(t *Target) { t.Owner = Owner{} }), Do, Restart, "", 0},
		{"a failed machine does not recover by it", readyCheck(escalating), linked(sick, func(t *Target) { t.Failed = true }), Do, Delete, "", 0},
		{"a machine whose node is gone", readyCheck(escalating), linked(func(t *Target) { t.Node = nil }), Do, Delete, "", 0},
		{"a machine that never joined", readyCheck(escalating), linked(unlinkedFor(time.Hour, time.Hour)), Do, Delete, "", 0},
		{"a machine on its way out", readyCheck(escalating), linked(sick, func(t *Target) { t.Deleting = true }), Leave, Restart, "being deleted", 0},
		{"a machine to be left alone", readyCheck(escalating), linked(sick, func(t *Target) { t.Skip = true }), Leave, Restart, "left alone", 0},
		{"somebody else's remedy", readyCheck(escalating, remediation(Mark)), linked(sick), Do, Mark, "", 0},
		{"not carried out yet", readyCheck(escalating), linked(sick, asked(4*time.Minute, "", 0, "")), Leave, Restart, "a reboot was requested", 6*time.Minute + time.Second},
		{"begun, nobody knows more", readyCheck(escalating), linked(sick, asked(4*time.Minute, lifecycle.RebootBegun, time.Minute, "reset by peer")), Leave, Restart, "reset by peer", 6*time.Minute + time.Second},
		{"never carried out", readyCheck(escalating), linked(sick, asked(11*time.Minute, "", 0, "")), Do, Delete, "not healthy after 10m0s", 0},
		{"given up by the infrastructure", readyCheck(escalating), linked(sick, asked(11*time.Minute, lifecycle.RebootBegun, time.Minute, "reset by peer")), Do, Delete, "reset by peer", 0},
		{"it cannot", readyCheck(escalating), linked(sick, asked(time.Second, lifecycle.RebootUnsupported, 0, "")), Do, Delete, "cannot reboot", 0},
		{"it may not", readyCheck(escalating), linked(sick, asked(time.Second, lifecycle.RebootFailed, 0, "no permission")), Do, Delete, "no permission", 0},
		{"rebooted, and given time", readyCheck(escalating), linked(sick, asked(9*time.Minute, lifecycle.RebootDone, 8*time.Minute, "")), Leave, Restart, "was rebooted", 2*time.Minute + time.Second},
		{"rebooted, exactly that time", readyCheck(escalating), linked(sick, asked(11*time.Minute, lifecycle.RebootDone, 10*time.Minute, "")), Leave, Restart, "was rebooted", time.Second},
		{"rebooted in vain", readyCheck(escalating), linked(sick, asked(12*time.Minute, lifecycle.RebootDone, 10*time.Minute+time.Second, "")), Do, Delete, "was rebooted", 0},
		{
			"ill again soon after a reboot that helped", readyCheck(escalating),
			linked(shows("Ready", "Unknown", 10*time.Minute), asked(70*time.Minute, lifecycle.RebootDone, 70*time.Minute, "")), Do, Delete, "was rebooted", 0,
		},
		{
			"ill again long after a reboot that helped", readyCheck(escalating),
			linked(shows("Ready", "Unknown", 10*time.Minute), asked(3*time.Hour, lifecycle.RebootDone, 3*time.Hour, "")), Do, Restart, "", 0,
		},
		{"a request that is no time is none", readyCheck(escalating), linked(sick, func(t *Target) { t.Reboot.Request = "now" }), Do, Restart, "", 0},
		{"a paused check", readyCheck(escalating, func(c *Check) { c.Paused = true }), linked(sick), Leave, Restart, "paused", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := watching(c.check)
			w.put(t0, c.target)
			p := w.plan(t0, seen, Memory{})
			if len(p.Cases) != 1 {
				t.Errorf("%s: %d cases", c.reason, len(p.Cases))
				return
			}
			k := p.Cases[0]
			if k.Act != c.act || k.Remediation != c.remediation || !strings.Contains(k.Why+" "+k.Tried, c.why) {
				t.Errorf("%s: %s %s (why %q, tried %q), want %s %s, %q", c.reason, k.Act, k.Remediation, k.Why, k.Tried, c.act, c.remediation, c.why)
			}
			if due := p.Due.Sub(t0); c.due > 0 && due != c.due {
				t.Errorf("%s: due in %s, want %s", c.reason, due, c.due)
			}
			if k.Act == Do && k.Remediation == Restart && (!k.Request.Equal(t0) || !k.Until.Equal(t0.Add(patience))) {
				t.Errorf("%s: request %s until %s", c.reason, k.Request, k.Until)
			}
		})
	}
}

// A reboot is a remedy like others: it does not begin without a connection, nor beyond the budget or the
// rate, nor in a storm.
func TestRebootsAreRemedies(t *testing.T) {
	some := func(n int, edit ...func(*Check)) Plan {
		w := fleet(readyCheck(append(edit, escalating)...), names("m", 10), sickFirst(n))
		return w.plan(t0, seen, Memory{})
	}
	for _, c := range []struct {
		reason string
		plan   Plan
		begun  int
	}{
		{"as many as may be", some(2, limit("2")), 2},
		{"one more", some(3, limit("2")), 0},
		{"three an hour", some(5, mode(Enforce), func(c *Check) { c.Breaker.Rate = Limit{set: true, number: 3}; c.Breaker.StormShare = 100 }), 3},
		{"a storm", some(9, mode(Enforce)), 0},
		{"the blind", fleet(readyCheck(escalating), names("m", 3), sickFirst(1)).plan(t0, Connectivity{Blind: "dark"}, Memory{}), 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := done(c.plan); len(got) != c.begun || len(c.plan.Memory.Past) != c.begun {
				t.Errorf("%s: %v, remembered %v, want %d", c.reason, got, c.plan.Memory.Past, c.begun)
			}
		})
	}
}

// A reboot that was remembered but not requested, because the process crashed in between, is requested with
// the same name, and counts once.
func TestRebootIsAskedForAgain(t *testing.T) {
	c := readyCheck(escalating)
	w := fleet(c, names("m", 1), sickFirst(1))
	first := w.plan(t0, seen, Memory{})
	later := t0.Add(2 * time.Minute)
	again := w.plan(later, Connectivity{Nodes: 100, Heard: later}, first.Memory)
	if k := again.Cases[0]; k.Act != Do || !k.Request.Equal(t0) || !k.Until.Equal(t0.Add(patience)) || len(again.Memory.Past) != 1 {
		t.Errorf("%s %s until %s, remembered %v", k.Act, k.Request, k.Until, again.Memory.Past)
	}
	late := t0.Add(patience + time.Second)
	if k := w.plan(late, Connectivity{Nodes: 100, Heard: late}, first.Memory).Cases[0]; !k.Request.Equal(late) {
		t.Errorf("after its time the request is %s", k.Request)
	}
}

// A reboot deletes no machine: the check waits for no replacement.
func TestRebootLeavesNoGap(t *testing.T) {
	w := fleet(readyCheck(escalating), names("m", 2), sickFirst(1))
	p := w.plan(t0, seen, Memory{})
	if _, there := w.machines["uid-m00"]; !there {
		t.Fatal("no such machine")
	}
	delete(w.machines, "uid-m00")
	if again := w.plan(t0.Add(time.Minute), seen, p.Memory); again.Missing != 0 {
		t.Errorf("%d are missing", again.Missing)
	}
	born := linked(func(t *Target) { t.UID, t.Created = "new", t0.Add(time.Minute) })
	if n := p.Memory.chain(t0.Add(time.Minute), &born); n != 0 {
		t.Errorf("%d failed in its place", n)
	}
}

func TestRequestsOfTheHealthyAreWithdrawn(t *testing.T) {
	for _, c := range []struct {
		reason string
		edit   []func(*Target)
		want   bool
	}{
		{"not begun", []func(*Target){asked(time.Minute, "", 0, "")}, true},
		{"an attempt failed", []func(*Target){asked(time.Minute, lifecycle.RebootBegun, 0, "reset")}, true},
		{"done", []func(*Target){asked(time.Minute, lifecycle.RebootDone, 0, "")}, false},
		{"refused", []func(*Target){asked(time.Minute, lifecycle.RebootFailed, 0, "")}, false},
		{"nothing was asked for", nil, false},
		{"still ill", []func(*Target){shows("Ready", "False", time.Hour), asked(time.Minute, "", 0, "")}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := watching(readyCheck(escalating))
			w.put(t0, linked(c.edit...))
			if got := len(w.plan(t0, seen, Memory{}).Withdrawn) == 1; got != c.want {
				t.Errorf("%s: withdrawn %v", c.reason, got)
			}
		})
	}
}

// clinic is one sick machine with its check, an infrastructure with random results, and processes that crash.
type clinic struct {
	now      time.Time
	w        *watched
	m        Target
	memory   Memory
	requests []string
	began    time.Time
}

// pass computes a plan and carries it out, except for writes that a crash prevents.
func (c *clinic) pass(crash bool) (deleted bool) {
	c.w.put(c.now, c.m)
	p := c.w.plan(c.now, Connectivity{Nodes: 100, Heard: c.now}, c.memory)
	c.memory = p.Memory
	for _, k := range p.Cases {
		switch {
		case k.Act != Do || crash:
		case k.Remediation == Restart:
			c.m.Reboot.Request, c.m.Reboot.Until = stamp(k.Request), k.Until
			c.requests = append(c.requests, c.m.Reboot.Request)
		case k.Remediation == Delete:
			return true
		}
	}
	return false
}

// A machine that stays unhealthy is rebooted at most once, and replaced when the patience for the request,
// and that after the reboot, are over: for any results of the infrastructure and any crashes.
func TestWhoStaysSickIsReplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clinic{now: t0, w: watching(readyCheck(escalating, mode(Off))), m: linked(shows("Ready", "Unknown", time.Hour)), began: t0}
		crashes := rapid.IntRange(0, 3).Draw(t, "crashes")
		for range 200 {
			if c.pass(crashes > 0 && len(c.requests) == 0 && rapid.Bool().Draw(t, "crash")) {
				return
			}
			if n := len(slices.Compact(slices.Clone(c.requests))); n > 1 {
				t.Fatalf("%d reboots: %v", n, c.requests)
			}
			if c.now.Sub(c.began) > 4*patience {
				t.Fatalf("after %s it is not replaced: %+v", c.now.Sub(c.began), c.m.Reboot)
			}
			if r := &c.m.Reboot; r.Request != "" && r.Current() != lifecycle.RebootDone && c.now.Before(r.Until) {
				s := rapid.SampledFrom([]lifecycle.RebootState{"", lifecycle.RebootBegun, lifecycle.RebootDone, lifecycle.RebootFailed, lifecycle.RebootUnsupported}).Draw(t, "answer")
				if s != "" {
					r.Answered, r.State, r.At = r.Request, s, c.now
				}
			}
			c.now = c.now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
			if crashes > 0 {
				crashes--
			}
		}
		t.Fatal("never replaced")
	})
}

// With and without reboots, never more machines than the budget are in progress: unsuccessful reboots and
// deleted machines.
func TestRebootsKeepToTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, most := rapid.IntRange(1, 6).Draw(t, "machines"), rapid.IntRange(0, 3).Draw(t, "most")
		w := watching(readyCheck(escalating, limit(string(rune('0'+most))), mode(Off)))
		targets := map[types.UID]*Target{}
		for i, name := range names("m", n) {
			m := linked()
			if rapid.Bool().Draw(t, name+" is sick") {
				m = linked(shows("Ready", "Unknown", time.Hour))
			}
			m.UID, m.Name, m.Created = types.UID(name), name, ago(time.Duration(i)*time.Hour)
			targets[m.UID] = &m
			w.put(t0, m)
		}
		now, memory := t0, Memory{}
		for range rapid.IntRange(1, 20).Draw(t, "passes") {
			p := w.plan(now, Connectivity{Nodes: 100, Heard: now}, memory)
			memory = p.Memory
			for _, k := range p.Cases {
				if m := targets[k.Target.UID]; k.Act == Do && k.Remediation == Restart {
					m.Reboot = lifecycle.Rebooting{Request: stamp(k.Request), Until: k.Until}
				} else if k.Act == Do {
					m.Deleting = true
				}
			}
			inHand := 0
			for _, m := range targets {
				if m.Deleting || m.Reboot.Request != "" {
					inHand++
				}
				w.put(now, *m)
			}
			if inHand > most {
				t.Fatalf("%d are in hand, %d may be", inHand, most)
			}
			now = now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "seconds")) * time.Second)
		}
	})
}
