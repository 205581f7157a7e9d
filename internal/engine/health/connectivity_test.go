package health

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

var watch = connectivity.Policy{Timeout: 30 * time.Second, Interval: 10 * time.Second}

// looks is the state of a process that began to probe at the first of some times before t0, with a successful
// probe at each of them.
func looks(before ...time.Duration) connectivity.State {
	s := connectivity.Begin(ago(before[0]), watch, connectivity.Target)
	for _, b := range before {
		s = s.After(connectivity.Probe{At: ago(b), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
	}
	return s
}

// steadily is the state of a process that has been connected for so long.
func steadily(since time.Duration) connectivity.State {
	var before []time.Duration
	for b := since; b > 0; b -= watch.Interval {
		before = append(before, b)
	}
	return looks(append(before, 0)...)
}

// TestTimersStandStill: every timeout counts watched time only (C26). Each machine is far beyond its timeout
// by the clock.
func TestTimersStandStill(t *testing.T) {
	own := func(o Own) func(*Target) { return func(t *Target) { t.Own = o } }
	for _, c := range []struct {
		reason string
		target Target
		// settled is how long after the reconnection the machine is unhealthy.
		settled time.Duration
	}{
		{"start, by the status", linked(unlinkedFor(3*time.Hour, 3*time.Hour)), 10 * time.Minute},
		{"start, though the status changes", linked(unlinkedFor(3*time.Hour, 0)), 10 * time.Minute},
		{"start, by the machine's own timeout", linked(unlinkedFor(3*time.Hour, 0), own(Own{Startup: ptr.To(20 * time.Minute)})), 20 * time.Minute},
		{"conditions", linked(shows("Ready", "Unknown", 3*time.Hour)), 5 * time.Minute},
		{"conditions, by the machine's own timeout", linked(shows("Ready", "Unknown", 3*time.Hour), own(Own{Health: ptr.To(8 * time.Minute)})), 8 * time.Minute},
		{"the machine's own conditions", linked(shows("Disk", "True", 3*time.Hour), own(Own{Health: ptr.To(8 * time.Minute), Conditions: []string{"Disk"}})), 8 * time.Minute},
	} {
		t.Run(c.reason, func(t *testing.T) {
			check := readyCheck()
			if v := Evaluate(t0, steadily(3*time.Hour), &check, &c.target); v.State != Unhealthy {
				t.Errorf("%s, watched: %s (%s)", c.reason, v.State, v.Message)
			}
			if v := Evaluate(t0, looks(0), &check, &c.target); v.State == Unhealthy || !v.Due.Equal(t0.Add(c.settled+margin)) {
				t.Errorf("%s, we have just begun to look: %s, due in %s, want %s", c.reason, v.State, v.Due.Sub(t0), c.settled+margin)
			}
			blind := looks(3*time.Hour, 3*time.Hour-watch.Interval).After(connectivity.Probe{At: ago(time.Second)})
			if v := Evaluate(t0, blind, &check, &c.target); v.State == Unhealthy {
				t.Errorf("%s, in an outage: %s (%s)", c.reason, v.State, v.Message)
			}
			// Almost all time was watched, then came an outage, which is over.
			late := looks(3 * time.Hour)
			for b := 3*time.Hour - watch.Interval; b > 10*time.Minute; b -= watch.Interval {
				late = late.After(connectivity.Probe{At: ago(b), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
			}
			late = late.After(connectivity.Probe{At: t0, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
			if v := Evaluate(t0, late, &check, &c.target); v.State == Unhealthy && c.reason != "start, though the status changes" || v.State == Healthy {
				t.Errorf("%s, back just now: %s (%s)", c.reason, v.State, v.Message)
			}
		})
	}
}

// Facts without a timeout count in the first observation, too; whether they are acted upon is another
// question.
func TestFactsNeedNoTime(t *testing.T) {
	check := readyCheck()
	for reason, target := range map[string]Target{"failed": linked(isFailed), "the node is gone": linked(nodeGone)} {
		if v := Evaluate(t0, looks(0), &check, &target); v.State != Unhealthy {
			t.Errorf("%s: %s", reason, v.State)
		}
	}
}

// A cohort judges again at the due time, and finds it postponed by unwatched time.
func TestWardWaitsForSight(t *testing.T) {
	w := watching(readyCheck())
	w.seen = looks(0)
	ill := linked(shows("Ready", "Unknown", time.Hour))
	w.put(t0, ill)
	due := w.machines[ill.UID].Verdict.Due
	if !due.Equal(t0.Add(5*time.Minute + margin)) {
		t.Fatalf("due %s", due)
	}
	w.tick(due)
	if v := w.machines[ill.UID].Verdict; v.State != Suspect || !v.Due.After(due) {
		t.Errorf("nobody looked since: %+v", v)
	}
}

// TestNobodyIsJudgedUnseen: for any facts, a process that has just connected fails no machine because of a
// timeout, and remediates none.
func TestNobodyIsJudgedUnseen(t *testing.T) {
	durations := rapid.Int64Range(int64(time.Second), int64(100*time.Hour))
	rapid.Check(t, func(t *rapid.T) {
		check, target := readyCheck(), linked()
		check.StartupTimeout = time.Duration(durations.Draw(t, "startup"))
		target.Created, target.Updated = ago(time.Duration(durations.Draw(t, "created"))), ago(time.Duration(durations.Draw(t, "updated")))
		if rapid.Bool().Draw(t, "linked") {
			shows("Ready", rapid.SampledFrom([]string{"False", "Unknown"}).Draw(t, "ready"), time.Duration(durations.Draw(t, "since")))(&target)
		} else {
			target.NodeName, target.Node = "", nil
		}
		if v := Evaluate(t0, looks(0), &check, &target); v.State == Unhealthy || v.Due.Before(t0) {
			t.Fatalf("%+v", v)
		}
		target.Failed = rapid.Bool().Draw(t, "failed")
		w := watching(check)
		w.seen = looks(0)
		w.put(t0, target)
		if got := done(w.plan(t0, Look(looks(0), t0), Memory{})); len(got) > 0 {
			t.Fatalf("remedied %v", got)
		}
	})
}
