package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

func alarm(s AlarmState, template string) func(*Set) {
	return func(set *Set) {
		set.Alarm = Alarm{State: s, Template: template, Text: "check c says so", Until: now.Add(7 * time.Minute)}
	}
}

var looks = connectivity.Policy{Timeout: time.Hour, Interval: 20 * time.Second}

func wasStopped(d *Deployment) { d.Last.Progress = Progress{Status: False, Reason: Stopped} }

// TestAlarm: a health check's alarm about the set of the current template stops its rollout like the guard,
// and an alarm about other sets does not.
func TestAlarm(t *testing.T) {
	d := rolls(4, "3", "1")
	rest := func(d *Deployment) { d.Last.Progress.Reason = SetAvailable }
	back := func(d *Deployment) { d.Guard.RollBack = true }
	guarded := func(d *Deployment) { d.Guard = Guard{MaxFailures: 1} }
	number := func(n int) func(*Deployment) { return func(d *Deployment) { d.Replicas = n } }
	blind := func(d *Deployment) {
		d.Connectivity = connectivity.Begin(now.Add(-time.Hour), looks, connectivity.Target)
	}
	began := func(ago time.Duration, then connectivity.Answer) func(*Deployment) {
		s := connectivity.Begin(now.Add(-time.Hour), looks, connectivity.Target)
		for at := ago; at > 0; at -= 20 * time.Second {
			s = s.After(connectivity.Probe{At: now.Add(-at), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
		}
		s = s.After(connectivity.Probe{At: now, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: then}})
		return func(d *Deployment) { d.Connectivity = s }
	}
	storm, cool := alarm(AlarmStops, "b"), alarm(AlarmWaits, "b")
	a := old("a", 4, alarm(AlarmNone, ""))
	const says = "check c says so; keeping what there is"
	checkAlarms(t, map[string]alarmRow{
		"none": {
			reason: "there would be room for 2 new ones, and budget for 1 old one", d: d, sets: []Set{a, current("b", 1)}, plan: []string{"a 4->2", "b 1->3"},
		},
		"a storm": {reason: "nothing moves", d: d, sets: []Set{a, current("b", 1, storm)}, stopped: says},
		"after a storm": {
			reason: "nor for a while after it", d: d, sets: []Set{a, current("b", 1, cool)}, stopped: says, after: 7 * time.Minute,
		},
		"a check that only reports": {
			reason: "changes nothing", d: d, sets: []Set{a, current("b", 1, alarm(AlarmTold, "b"))}, plan: []string{"a 4->2", "b 1->3"},
		},
		"nobody could ask": {
			reason: "what goes on goes on", d: d, sets: []Set{a, current("b", 1, alarm(AlarmUnsure, ""))}, plan: []string{"a 4->2", "b 1->3"},
		},
		"nobody could ask of what is stopped": {
			reason: "no answer is not an all-clear", d: d.by(wasStopped), sets: []Set{a, current("b", 1, held, alarm(AlarmUnsure, ""))}, stopped: says,
		},
		"nobody could ask of what is stopped, and would go back": {
			reason: "nothing is known to go back from", d: d.by(wasStopped, back), sets: []Set{a, current("b", 1, held, alarm(AlarmUnsure, ""))}, stopped: says,
		},
		"it is over": {
			reason: "the rollout goes on by itself", d: d.by(wasStopped), sets: []Set{a, current("b", 1, held)}, plan: []string{"a 4->2", "b 1->3"},
		},
		"of an old template": {
			reason: "the rollout is the cure", d: d, sets: []Set{old("a", 4, alarm(AlarmStops, "a")), current("b", 1)}, plan: []string{"a 4->2", "b 1->3"},
		},
		"of another old one than is in use": {
			reason: "an emptied set with the same name for its machines tells nothing",
			d:      d, sets: []Set{old("a", 0, storm), current("b", 1, storm)}, stopped: says,
		},
		"of both": {
			reason: "what they share is not what changes", d: d, sets: []Set{old("a", 4, storm), current("b", 1, storm)}, plan: []string{"a 4->2", "b 1->3"},
		},
		"of both, told apart": {
			reason: "two storms", d: d, sets: []Set{old("a", 4, alarm(AlarmStops, "a")), current("b", 1, storm)}, stopped: says,
		},
		"a new template": {
			reason: "nothing is said of it", d: d.by(wasStopped), sets: []Set{a, old("b", 1, held, storm)}, plan: []string{"create with 2 as revision 3"},
		},
		"at rest": {
			reason: "what happens to machines later on is no rollout", d: d.by(rest), sets: []Set{old("a", 0), current("b", 4, storm)},
		},
		"paused": {
			reason: "nothing to stop", d: d.by(paused), sets: []Set{a, current("b", 1, storm)},
		},
		"more are wanted": {
			reason: "old ones follow the number", d: d.by(number(6)), sets: []Set{old("a", 4, scaledFor(5, 8)), current("b", 1, scaledFor(5, 8), storm)},
			plan: []string{"a 4->5"}, stopped: says,
		},
		"machines that failed, too": {
			reason: "these are named", d: d.by(guarded), sets: []Set{a, current("b", 1, storm, first(1, broken))},
			stopped: "1 machine of set b did not become ready (b1); keeping what there is",
		},
		"Recreate": {
			reason: "no more are made", d: d.by(strategy(Recreate)), sets: []Set{old("a", 0), current("b", 3, storm)}, stopped: says,
		},
		"in place": {
			reason: "no other is chosen", d: d.by(strategy(InPlace)),
			sets: []Set{old("a", 3, held, first(3, candidate)), current("b", 1, storm)}, stopped: says,
		},
		"going back": {
			reason: "as the guard would", d: d.by(back), sets: []Set{old("a", 4), current("b", 1, storm)}, stopped: says, plan: []string{"roll back to a"},
		},
		"going back, but for a storm there": {
			reason: "to the newest of which nothing is said", d: d.by(back),
			sets: []Set{old("a", 0), old("b", 4, alarm(AlarmWaits, "b")), current("c", 1, alarm(AlarmStops, "c"))}, stopped: says, plan: []string{"roll back to a"},
		},
		"going back after a storm": {
			reason: "they came back by themselves", d: d.by(back), sets: []Set{a, current("b", 1, cool)}, stopped: says, after: 7 * time.Minute,
		},
		"going back without sight": {
			reason: "stopped, but nobody knows that the machines are bad", d: d.by(back, blind), sets: []Set{a, current("b", 1, storm)}, stopped: says, after: time.Minute,
		},
		"going back when sight was just lost": {
			reason: "who knows since when", d: d.by(back, began(2*time.Minute, connectivity.Unreachable)), sets: []Set{a, current("b", 1, storm)}, stopped: says, after: time.Minute,
		},
		"going back in good sight": {
			reason: "as the guard would", d: d.by(back, began(2*time.Minute, connectivity.Reachable)), sets: []Set{a, current("b", 1, storm)}, stopped: says, plan: []string{"roll back to a"},
		},
		"going back when sight is new": {
			reason: "not before it has settled", d: d.by(back, began(40*time.Second, connectivity.Reachable)), sets: []Set{a, current("b", 1, storm)}, stopped: says, after: 20 * time.Second,
		},
	})
}

type alarmRow struct {
	reason  string
	d       Deployment
	sets    []Set
	plan    []string
	stopped string
	after   time.Duration
}

func checkAlarms(t *testing.T, rows map[string]alarmRow) {
	t.Helper()
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, r.d, r.sets, counting)
			if got := strings.Join(brief(r.sets, p), ", "); got != strings.Join(r.plan, ", ") {
				t.Errorf("plans %q, expected %q: %s", got, r.plan, r.reason)
			}
			if is := p.Status.Progress.Reason == Stopped; is != (r.stopped != "") {
				t.Errorf("stopped %v, %+v: %s", is, p.Status.Progress, r.reason)
			}
			if r.stopped != "" && (p.Status.Progress.Message != r.stopped || p.Status.Waiting != r.stopped || p.Status.Progress.Status != False) {
				t.Errorf("says %+v and %q, expected %q: %s", p.Status.Progress, p.Status.Waiting, r.stopped, r.reason)
			}
			if p.After != r.after {
				t.Errorf("looks again after %s, expected %s: %s", p.After, r.after, r.reason)
			}
			for _, w := range p.Sets() {
				if w.Current && w.NoGrowth != (r.stopped != "") {
					t.Errorf("set %s is held %v: %s", w.Name, w.NoGrowth, r.reason)
				}
			}
		})
	}
}

// An alarm that is only reported appears with the progress of the rollout.
func TestAlarmIsTold(t *testing.T) {
	told := alarm(AlarmTold, "b")
	shared := alarm(AlarmStops, "b")
	for name, tc := range map[string]struct {
		sets []Set
		tell bool
	}{
		"nothing to tell": {[]Set{old("a", 4), current("b", 1)}, false},
		"told":            {[]Set{old("a", 4), current("b", 1, told)}, true},
		"of both":         {[]Set{old("a", 4, shared), current("b", 1, shared)}, true},
		"of an old one":   {[]Set{old("a", 4, told), current("b", 1)}, false},
		"nobody asked":    {[]Set{old("a", 4), current("b", 1, alarm(AlarmUnsure, ""))}, false},
		"no current set":  {[]Set{old("a", 4, told)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := rolls(4, "3", "1")
			p := Decide(now, d, tc.sets, counting).Status.Progress
			if got := strings.HasSuffix(p.Message, "; check c says so"); got != tc.tell {
				t.Errorf("%s: tells %q", name, p.Message)
			}
		})
	}
}

// A canary that was in a storm has to soak again.
func TestACanaryInAStormIsNotPassed(t *testing.T) {
	d := rolls(10, "3", "2").by(canaryOf("1"), func(d *Deployment) { d.Guard.Soak = 30 * time.Minute })
	soaked := func(s *Set) { s.Notes.CanarySince = now.Add(-time.Hour) }
	for s, stood := range map[AlarmState]bool{AlarmNone: true, AlarmTold: true, AlarmUnsure: true, AlarmWaits: false, AlarmStops: false} {
		w := want(t, Decide(now, d, []Set{old("a", 9), current("b", 1, soaked, alarm(s, "b"))}, counting), "b")
		if w.Scales() != stood || w.Notes.CanarySince.IsZero() == stood {
			t.Errorf("%q: grows to %d, available since %s", s, w.Replicas, w.Notes.CanarySince)
		}
	}
}

// During an alarm, for any other events, the current set does not grow, no old set deletes a machine, and
// there is no rollback without a request. Afterwards the rollout becomes complete by itself.
func TestAnAlarmStopsARolloutForAsLongAsItLasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, Rolling, Recreate)
		if rapid.Bool().Draw(t, "guarded") {
			m.d.Guard = Guard{MaxFailures: rapid.IntRange(0, 2).Draw(t, "most failures"), Canary: bound("1"), Soak: time.Minute}
		}
		m.template = "b"
		m.wander(rapid.IntRange(0, 20).Draw(t, "steps before"), m.mishap)
		m.deliver()
		for range rapid.IntRange(1, 30).Draw(t, "steps in the storm") {
			m.storms("b")
			m.deliver()
			sets := m.view()
			m.quiet(sets, Decide(m.now, m.d, sets, m.p))
			m.pass()
			if m.chance("mishap at all", 5) == 0 {
				m.mishap()
			}
			for _, s := range slices.Clone(m.sets) {
				m.hear(s)
				m.runSet(s)
			}
			m.tick(30 * time.Second)
		}
		m.storms("")
		m.calm()
		if !m.settle(400) {
			m.fail("does not go on")
		}
		m.clean()
	})
}

// storms raises the alarm for the sets of one template, and for no others.
func (m *model) storms(template string) {
	for _, s := range m.sets {
		s.Alarm = Alarm{}
		if s.template == template {
			s.Alarm = Alarm{State: AlarmStops, Template: template, Text: "storm"}
		}
	}
}

// quiet fails if p changes what an alarm protects.
func (m *model) quiet(sets []Set, p Plan) {
	c := m.current()
	if c == nil || p.RollBack() != nil {
		if p.RollBack() != nil {
			m.fail("goes back: %+v", p.RollBack())
		}
		return
	}
	ongoing := m.inUse() || m.d.Last.Progress.Reason != SetAvailable
	if ongoing != (p.Status.Progress.Reason == Stopped) && !m.leftovers(sets) {
		m.fail("stopped: %s, although a rollout is under way: %v", p.Status.Progress.Reason, ongoing)
	}
	for _, w := range p.Sets() {
		switch {
		case p.Status.Progress.Reason != Stopped:
		case w.UID == c.UID && w.Replicas > w.Was:
			m.fail("the current set grows: %s", w.Note)
		case w.UID != c.UID && w.Replicas < w.Was:
			m.fail("%s gives up machines: %s", w.Name, w.Note)
		case w.NoGrowth != (w.UID == c.UID):
			m.fail("%s held %v", w.Name, w.NoGrowth)
		}
	}
}

// leftovers reports whether an old set with a wanted size of 0 still has machines.
func (m *model) leftovers(sets []Set) bool {
	for _, s := range sets {
		for _, x := range s.Machines {
			if !s.Current && !x.Leaving {
				return true
			}
		}
	}
	return false
}
