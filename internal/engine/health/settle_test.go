package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

func TestLook(t *testing.T) {
	at := func(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }
	policy := connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}
	watched := func(from, to int, target connectivity.Answer) (out []connectivity.Probe) {
		for s := from; s <= to; s += 6 {
			out = append(out, connectivity.Probe{At: at(s), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable, connectivity.Target: target}})
		}
		return out
	}
	for _, c := range []struct {
		reason string
		rounds [][]connectivity.Probe
		now    int
		blind  bool
		since  int // -1: for long enough
		again  int
	}{
		{"nothing was seen yet: asked again with the next look", nil, 6, true, -1, 12},
		{"seen since a moment ago", [][]connectivity.Probe{watched(0, 30, connectivity.Reachable)}, 30, false, 0, 60},
		{"seen for not quite long enough: the last look tells, and the next one ends it", [][]connectivity.Probe{watched(0, 54, connectivity.Reachable)}, 59, false, 0, 65},
		{"seen for long enough", [][]connectivity.Probe{watched(0, 60, connectivity.Reachable)}, 60, false, -1, 66},
		{"one look was denied", [][]connectivity.Probe{watched(0, 72, connectivity.Reachable), watched(78, 78, connectivity.Denied)}, 78, true, -1, 84},
		{"silent", [][]connectivity.Probe{watched(0, 72, connectivity.Reachable), watched(78, 120, connectivity.Unreachable)}, 120, true, -1, 126},
		{"back since a moment ago", [][]connectivity.Probe{watched(0, 72, connectivity.Reachable), watched(78, 120, connectivity.Unreachable), watched(126, 150, connectivity.Reachable)}, 150, false, 126, 186},
		{"back for long enough", [][]connectivity.Probe{watched(0, 72, connectivity.Reachable), watched(78, 120, connectivity.Unreachable), watched(126, 192, connectivity.Reachable)}, 192, false, -1, 198},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := connectivity.Begin(t0, policy, connectivity.Control, connectivity.Target)
			for _, r := range slices.Concat(c.rounds...) {
				s = s.After(r)
			}
			var since time.Time
			if c.since >= 0 {
				since = at(c.since)
			}
			got := Look(s, at(c.now))
			if (got.Blind != "") != c.blind || !got.Since.Equal(since) || !got.Again.Equal(at(c.again)) {
				t.Errorf("blind %q, since %s, again %s", got.Blind, got.Since, got.Again)
			}
		})
	}
	if got := Look(connectivity.State{}, t0); got.Blind != "" || !got.Since.IsZero() {
		t.Errorf("somebody who never looks sees: %+v", got)
	}
}

// lately is the state of a process that has been connected for half a minute.
func lately() connectivity.State { return steadily(30 * time.Second) }

// TestTheFirstMinute: a process that has just connected, or reconnected, acts only upon facts that do not
// depend on the outage.
func TestTheFirstMinute(t *testing.T) {
	check := readyCheck(startup(20*time.Second), func(c *Check) {
		c.Conditions = []Condition{
			{"Terminating", "True", 0},
			{"Terminating", "Unknown", 0},
			{"Ready", "False", 0},
			{"Ready", "Unknown", 10 * time.Second},
			{"Disk", "True", 10 * time.Second},
			{"Disk", "Unknown", 10 * time.Second},
		}
	})
	failedFor := func(d time.Duration) func(*Target) { return func(t *Target) { t.Failed, t.Updated = true, ago(d) } }
	own := func(t *Target) {
		t.Own = Own{Health: ptr.To(10 * time.Second), Conditions: []string{"Kernel"}}
	}
	const before, since = time.Hour, 20 * time.Second
	for _, c := range []struct {
		reason string
		target Target
		others []Target
		acts   bool
	}{
		{"announced: who had looked before would have acted before", linked(shows("Terminating", "True", before)), nil, true},
		{"announced just now: a reclaimed instance has 30 s", linked(shows("Terminating", "True", 0)), nil, true},
		{"announced by a clock that is ahead: no time has to pass", linked(shows("Terminating", "True", -time.Minute)), nil, true},
		{"announced by a node that is silent as well: the surer counts", linked(shows("Ready", "Unknown", before), shows("Terminating", "True", since)), nil, true},
		{"announced by many: it is no matter of sight", linked(shows("Terminating", "True", since)), []Target{linked(shows("Terminating", "True", since)), linked(shows("Ready", "False", since))}, true},
		{"Unknown announces nothing", linked(shows("Terminating", "Unknown", since)), nil, false},
		{"Ready announces nothing: an outage is to be seen in it", linked(shows("Ready", "False", before)), nil, false},

		{"written to have begun since", linked(shows("Disk", "True", since)), nil, true},
		{"the kubelet itself said so since", linked(shows("Ready", "False", since)), nil, true},
		{"begun before: it may be over, and nobody could say so", linked(shows("Disk", "True", before)), nil, false},
		{"in the very moment: times are in seconds", linked(shows("Disk", "True", 30*time.Second)), nil, false},
		{"of two, the one that began since", linked(shows("Disk", "True", before), shows("Ready", "False", since)), nil, true},
		{"of two, in the other order", linked(shows("Ready", "False", before), shows("Disk", "True", since)), nil, true},
		{"silence, though begun since: the outage may have been everybody's", linked(shows("Ready", "Unknown", since)), nil, false},
		{"silence of another condition", linked(shows("Disk", "Unknown", since)), nil, false},
		{"begun since, by the machine's own timeout", linked(shows("Kernel", "True", since), own), nil, true},
		{"not the only one: the outage may still be felt", linked(shows("Disk", "True", since)), []Target{linked(shows("Ready", "False", since))}, false},
		{"not the only one, though the other's time is not over", linked(shows("Disk", "True", since)), []Target{linked(shows("Ready", "Unknown", time.Second))}, false},
		{"the only one, but for some that announced it", linked(shows("Disk", "True", since)), []Target{linked(shows("Terminating", "True", since))}, true},
		{"the only one, but for machines that start", linked(shows("Disk", "True", since)), []Target{linked(unlinkedFor(time.Second, time.Second))}, true},

		{"failed since", linked(failedFor(since)), nil, true},
		{"failed before", linked(failedFor(before)), nil, false},
		{"failed, and nobody knows when", linked(isFailed, func(t *Target) { t.Updated = time.Time{} }), nil, false},
		{"failed by a clock that is ahead", linked(failedFor(-time.Minute)), nil, false},
		{"made since, and no node in time", linked(unlinkedFor(25*time.Second, 25*time.Second)), nil, true},
		{"made before, and no node", linked(unlinkedFor(before, before)), nil, false},
		{"the node is gone: nobody wrote down since when, and nothing hurries", linked(nodeGone), nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := watching(check)
			w.seen = lately()
			c.target.UID, c.target.Name = "it", "it"
			w.put(t0, c.target)
			for i, o := range c.others {
				o.UID = types.UID(fmt.Sprint("other", i))
				o.Name = string(o.UID)
				w.put(t0, o)
			}
			if v := w.machines["it"].Verdict; v.State != Unhealthy {
				t.Fatalf("it is %s (%s): the row tests nothing", v.State, v.Message)
			}
			p := w.plan(t0, Look(lately(), t0), Memory{})
			k := p.Cases[slices.IndexFunc(p.Cases, func(k Case) bool { return k.Target.UID == "it" })]
			if acts := k.Act == Do; acts != c.acts || !k.Confirm || k.Why == "" {
				t.Errorf("acts %v, confirms %v: %s", acts, k.Confirm, k.Why)
			}
			if !c.acts && (p.Doubt == "" || p.Due.IsZero() || p.Due.After(t0.Add(connectivity.Settle))) {
				t.Errorf("waits because of %q until %s", p.Doubt, p.Due)
			}
			if told := strings.Contains(p.Sentence, "uncertain verdicts wait: the clusters have been connected only since 2026-11-21T11:59:30Z"); told == c.acts {
				t.Errorf("tells of waiting: %q", p.Sentence)
			}
			// A minute later, the same verdict is acted upon, without a confirmation.
			p = w.plan(t0, Look(steadily(time.Minute), t0), Memory{})
			k = p.Cases[slices.IndexFunc(p.Cases, func(k Case) bool { return k.Target.UID == "it" })]
			if k.Act != Do || k.Confirm || p.Doubt != "" {
				t.Errorf("settled: %+v", k)
			}
		})
	}
}

// Without a connection nothing is remediated: whether an announcement still holds is unknown.
func TestAnnouncedToTheBlind(t *testing.T) {
	check := readyCheck(func(c *Check) { c.Conditions = []Condition{{"Terminating", "True", 0}} })
	for reason, s := range map[string]connectivity.State{
		"before the first look":   connectivity.Begin(t0, watch, connectivity.Target),
		"the last look was blind": steadily(time.Hour).After(connectivity.Probe{At: t0}),
	} {
		w := watching(check)
		w.seen = s
		w.put(t0, linked(shows("Terminating", "True", time.Second)))
		p := w.plan(t0, Look(s, t0), Memory{})
		if got := done(p); len(got) > 0 || p.Blind == "" {
			t.Errorf("%s: remedied %v", reason, got)
		}
		if want := t0.Add(watch.Interval); !p.Due.Equal(want) {
			t.Errorf("%s: looks again at %s, want with the next look, at %s", reason, p.Due, want)
		}
	}
}

// TestAnOutageIsNoWave: for any nodes in the first minute, and for any timeouts: except for announced
// problems, at most one machine is remediated, and none because its node is silent.
func TestAnOutageIsNoWave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds, statuses := rapid.SampledFrom([]string{"Ready", "Disk", "Terminating"}), rapid.SampledFrom([]string{"True", "False", "Unknown"})
		seconds := func(what string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Second
		}
		check := readyCheck(mode(Off), startup(seconds("startup", 90)))
		check.Conditions = nil
		for range rapid.IntRange(1, 4).Draw(t, "conditions") {
			check.Conditions = append(check.Conditions, Condition{kinds.Draw(t, "type"), statuses.Draw(t, "status"), seconds("timeout", 90)})
		}
		sees := steadily(seconds("sight", 59))
		w := watching(check)
		w.seen = sees
		for i := range rapid.IntRange(0, 6).Draw(t, "machines") {
			m := linked()
			m.UID = types.UID(fmt.Sprint("u", i))
			m.Name, m.Failed = string(m.UID), rapid.IntRange(0, 5).Draw(t, "failed") == 0
			m.Created, m.Updated = ago(seconds("created", 120)), ago(seconds("updated", 120))
			switch rapid.IntRange(0, 5).Draw(t, "node") {
			case 0:
				m.NodeName, m.Node = "", nil
			case 1:
				m.Node = nil
			default:
				m.Node.Conditions = nil
				for _, kind := range []string{"Ready", "Disk", "Terminating"} {
					m.Node.Conditions = append(m.Node.Conditions, NodeCondition{kind, statuses.Draw(t, "shows"), ago(seconds("since", 120))})
				}
			}
			w.put(t0, m)
		}
		found := 0
		for _, k := range w.plan(t0, Look(sees, t0), Memory{}).Cases {
			if k.Act != Do {
				continue
			}
			if !k.Confirm {
				t.Fatalf("%s is not confirmed", k.Target.Name)
			}
			if announced(&check, k.Target.Node) {
				continue
			}
			if found++; found > 1 {
				t.Fatalf("%s is one of several: %s", k.Target.Name, k.Why)
			}
			if began := k.Verdict.Began; !began.After(sees.Since()) {
				t.Fatalf("%s fell ill at %s, unseen: %s", k.Target.Name, began, k.Why)
			}
		}
	})
}

// announced says, by definition, whether a node announces a condition that the check counts.
func announced(c *Check, n *Node) bool {
	return n != nil && slices.ContainsFunc(n.Conditions, func(have NodeCondition) bool {
		return have.Type != "Ready" && have.Status != "Unknown" && slices.ContainsFunc(c.Conditions, func(want Condition) bool {
			return want.Type == have.Type && want.Status == have.Status && want.Timeout == 0
		})
	})
}
