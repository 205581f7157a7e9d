package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func made(ago time.Duration) func(*Machine) {
	return func(m *Machine) { m.Created = now.Add(-ago) }
}

func noted(names ...string) func(*Set) { return func(s *Set) { s.Notes.Failed = names } }

func TestFailures(t *testing.T) {
	const x = "x~2026-01-02T03:00:00Z"
	within := func(d *Deployment) { d.Guard.ReadyWithin = 10 * time.Minute }
	back := func(d *Deployment) { d.Guard.RollBack = true }
	atRest := func(d *Deployment) { d.Last.Progress.Reason = SetAvailable }
	d := rolls(4, "2", "0").by(stopsAfter(2))
	a := old("a", 4)
	tests := map[string]struct {
		reason   string
		d        Deployment
		sets     []Set
		notes    []string
		stopped  string
		after    time.Duration
		rollback string
	}{
		"given up": {
			reason: "1 of 2", d: d, sets: []Set{a, current("b", 2, first(1, broken), last(1, pending))}, notes: []string{"b1~2026-01-02T02:04:05Z"},
		},
		"given up, two": {
			reason: "that is enough", d: d, sets: []Set{a, current("b", 2, first(2, broken))}, notes: []string{"b1~2026-01-02T02:04:05Z", "b2~2026-01-02T02:04:05Z"},
			stopped: "2 machines of set b did not become ready (b1, b2); keeping what there is",
		},
		"given up, and gone by now": {
			reason: "it is remembered", d: d, sets: []Set{a, current("b", 1, noted(x), first(1, broken))}, notes: []string{"b1~2026-01-02T02:04:05Z", x},
			stopped: "2 machines of set b did not become ready (b1, x); keeping what there is",
		},
		"one that was made later works": {
			reason: "not in a row", d: d, sets: []Set{a, current("b", 2, noted(x), first(1, broken), last(1, made(time.Minute)))},
		},
		"one that was made before works": {
			reason: "those after it did not", d: d, sets: []Set{a, current("b", 2, noted(x), first(1, broken, made(3*time.Minute)), last(1, made(10*time.Minute)))},
			notes:   []string{"b1~2026-01-02T03:01:05Z", x},
			stopped: "2 machines of set b did not become ready (b1, x); keeping what there is",
		},
		"a failure that came right": {
			reason: "it works after all", d: d, sets: []Set{a, current("b", 1, noted("b1~2026-01-02T02:04:05Z"))},
		},
		"left before it joined": {
			reason: "it failed between two looks", d: d.by(stopsAfter(3)), sets: []Set{a, current("b", 0, more(1, pending, leaving))}, notes: []string{"b1~2026-01-02T02:04:05Z"},
		},
		"left before it joined, as somebody asked": {
			reason: "no failure", d: d, sets: []Set{a, current("b", 0, more(1, pending, leaving, asked))},
		},
		"left after it joined": {
			reason: "no failure", d: d, sets: []Set{a, current("b", 0, more(1, leaving))},
		},
		"left before its time was up": {
			reason: "scaled down again", d: d.by(within), sets: []Set{a, current("b", 0, more(1, pending, leaving, made(time.Minute)))},
		},
		"on its way": {
			reason: "looked at again when its time is up", d: d.by(within), sets: []Set{a, current("b", 1, first(1, pending, made(7*time.Minute)))}, after: 3 * time.Minute,
		},
		"a moment before its time is up": {
			reason: "which may stand still until the cluster is looked at again", d: d.by(within),
			sets: []Set{a, current("b", 1, first(1, pending, made(10*time.Minute-time.Millisecond)))}, after: time.Second,
		},
		"too slow": {
			reason: "its time is up", d: d.by(within, stopsAfter(1)), sets: []Set{a, current("b", 1, first(1, pending, made(10*time.Minute)))},
			notes: []string{"b1~2026-01-02T02:54:05Z"}, stopped: "1 machine of set b did not become ready (b1); keeping what there is",
		},
		"took too long, in an outage of ours": {
			reason: "it may have joined long ago, and has what is left of its time", d: d.by(within, stopsAfter(1), seen(time.Hour, 20*time.Minute)),
			sets: []Set{a, current("b", 1, first(1, pending, made(25*time.Minute)))}, after: 4 * time.Minute,
		},
		"joined but never ready": {
			reason: "no better", d: d.by(within, stopsAfter(1)), sets: []Set{a, current("b", 1, first(1, unready, made(10*time.Minute)))},
			notes: []string{"b1~2026-01-02T02:54:05Z"}, stopped: "1 machine of set b did not become ready (b1); keeping what there is",
		},
		"many": {
			reason: "three are named", d: d.by(stopsAfter(4)), sets: []Set{a, current("b", 1, noted("v", "w", "x", "y"), first(1, pending))},
			notes: []string{"v", "w", "x", "y"}, stopped: "4 machines of set b did not become ready (v, w, x and 1 more); keeping what there is",
		},
		"updates in place": {
			reason: "those that failed count, wherever they are",
			d:      d.by(strategy(InPlace)), sets: []Set{old("a", 4, held, first(4, selected), first(2, updateFailed)), current("b", 0)},
			notes: []string{"a1", "a2"}, stopped: "2 machines of set b did not become ready (a1, a2); keeping what there is",
		},
		"the first rollout of all": {
			reason: "stops, too, and has nothing to go back to",
			d:      d.by(back), sets: []Set{current("b", 4, first(2, broken), last(2, pending))}, notes: []string{"b1~2026-01-02T02:04:05Z", "b2~2026-01-02T02:04:05Z"},
			stopped: "2 machines of set b did not become ready (b1, b2); keeping what there is",
		},
		"going back": {
			reason: "to the newest before", d: d.by(back), sets: []Set{old("a", 0), old("b", 4), current("c", 2, first(2, broken))},
			stopped: "2 machines of set c did not become ready (c1, c2); keeping what there is", rollback: "b",
		},
		"going back, Recreate": {
			reason: "nothing of the old set is left but its template",
			d:      d.by(back, strategy(Recreate)), sets: []Set{old("a", 0), current("c", 2, first(2, broken))},
			stopped: "2 machines of set c did not become ready (c1, c2); keeping what there is", rollback: "a",
		},
		"at rest": {
			reason: "what happens to machines later on is no rollout", d: d.by(atRest), sets: []Set{old("a", 0), current("b", 4, noted(x), first(2, broken))},
		},
		"paused": {
			reason: "who resumes wants another attempt", d: d.by(paused), sets: []Set{a, current("b", 2, noted(x, "y"), first(2, broken))},
		},
		"not asked for": {
			reason: "nothing is noted", d: rolls(4, "2", "0"), sets: []Set{a, current("b", 2, noted(x), first(2, broken))},
		},
		"an old set's notes": {
			reason: "are about a rollout that is over", d: d, sets: []Set{old("a", 4, noted(x, "y")), current("b", 0)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, tt.d, tt.sets, counting)
			if tt.stopped != "" && (p.Status.Waiting != tt.stopped || p.Status.Progress.Reason != Stopped || p.Status.Progress.Status != False) {
				t.Errorf("waits for %q, %+v: %s", p.Status.Waiting, p.Status.Progress, tt.reason)
			}
			if tt.stopped == "" && p.Status.Progress.Reason == Stopped {
				t.Errorf("stopped: %s", tt.reason)
			}
			if p.After != tt.after {
				t.Errorf("looks again after %s, expected %s: %s", p.After, tt.after, tt.reason)
			}
			if got := p.RollBack() != nil && p.RollBack().Automatic; got != (tt.rollback != "") || got && p.RollBack().To.Name != tt.rollback {
				t.Errorf("rolls back %+v, expected to %q: %s", p.RollBack(), tt.rollback, tt.reason)
			}
			for _, w := range p.Sets() {
				if diff := cmp.Diff(tt.notes, w.Notes.Failed, cmpopts.EquateEmpty()); w.Current && diff != "" {
					t.Errorf("%s (-want +got)\n%s", tt.reason, diff)
				}
				if w.Current && w.NoGrowth != (tt.stopped != "") || !w.Current && len(w.Notes.Failed) > 0 {
					t.Errorf("set %s is held %v, notes %v: %s", w.Name, w.NoGrowth, w.Notes, tt.reason)
				}
			}
		})
	}
}

func unready(m *Machine) { m.Ready, m.Usable, m.ReadySince = false, false, time.Time{} }

func TestAStoppedRolloutKeepsWhatThereIs(t *testing.T) {
	checkRows(t, map[string]row{
		"stopped": {
			reason: "there would be room for 2 new ones, and budget for 1 old one",
			d:      rolls(4, "3", "1").by(stopsAfter(1)), sets: []Set{old("a", 4), current("b", 1, first(1, broken))},
		},
		"stopped in place": {
			reason: "no other is chosen", d: rolls(4, "0", "3").by(strategy(InPlace), stopsAfter(1)),
			sets: []Set{old("a", 4, held, first(4, selected), first(4, candidate), first(1, updateFailed), last(3, plain), last(3, candidate)), current("b", 0)},
		},
		"stopped with all old ones gone": {
			reason: "replicas 1 without surge: the new one is not joined by others", d: rolls(1, "0", "1").by(stopsAfter(1)),
			sets: []Set{old("a", 0), current("b", 0, noted("b1", "b2"))},
		},
		"going on": {
			reason: "more failures are allowed now", d: rolls(4, "3", "1").by(stopsAfter(2)), sets: []Set{old("a", 4), current("b", 1, held, first(1, broken))},
			plan: []string{"a 4->3", "b 1->3"},
		},
	})
}

func TestCanary(t *testing.T) {
	approved := func(n int64) func(*Deployment) { return func(d *Deployment) { d.Guard.Approved = n } }
	soaks := func(d *Deployment) { d.Guard.Soak = 30 * time.Minute }
	since := func(ago time.Duration) func(*Set) {
		return func(s *Set) { s.Notes.CanarySince = now.Add(-ago) }
	}
	d := rolls(10, "3", "2").by(canaryOf("1"))
	const approve = `the canary of 1 machine is available; approve it with the annotation millwright.dev/rollout-approved: "2"`
	checkRows(t, map[string]row{
		"begins": {
			reason: "with the canary, whatever the surge", d: d, sets: []Set{old("a", 10)}, plan: []string{"create with 1 as revision 2"},
		},
		"a percentage": {
			reason: "is rounded up, and of replicas", d: d.by(canaryOf("11%")), sets: []Set{old("a", 10)}, plan: []string{"create with 2 as revision 2"},
		},
		"0": {
			reason: "counts as 1", d: d.by(canaryOf("0")), sets: []Set{old("a", 10)}, plan: []string{"create with 1 as revision 2"},
		},
		"more than there are": {
			reason: "no step", d: d.by(canaryOf("20")), sets: []Set{old("a", 10)}, plan: []string{"create with 3 as revision 2"},
		},
		"not available yet": {
			reason: "old ones stay but for the one it replaces, and that may be unavailable",
			d:      d, sets: []Set{old("a", 10), current("b", 1, first(1, pending))}, plan: []string{"a 10->9"},
		},
		"available, needs approval": {
			reason: "nothing moves", d: d, sets: []Set{old("a", 9), current("b", 1, since(time.Hour))}, waiting: approve,
		},
		"another revision was approved": {
			reason: "not this one", d: d.by(approved(1)), sets: []Set{old("a", 9), current("b", 1)}, waiting: approve,
		},
		"approved": {
			reason: "the rest follows", d: d.by(approved(2)), sets: []Set{old("a", 9), current("b", 1)}, plan: []string{"a 9->7", "b 1->4"},
		},
		"soaking": {
			reason: "not long enough", d: d.by(soaks), sets: []Set{old("a", 9), current("b", 1, since(29*time.Minute))},
			waiting: "the canary of 1 machine is available and has to stay so until 2026-01-02T03:05:05Z",
		},
		"soaked unseen": {
			reason: "nobody has looked at it for as long", d: d.by(soaks, seen(40*time.Minute, 20*time.Minute)), sets: []Set{old("a", 9), current("b", 1, since(35*time.Minute))},
			waiting: "the canary of 1 machine is available and has to stay so until 2026-01-02T03:18:05Z",
		},
		"soaked": {
			reason: "the rest follows", d: d.by(soaks), sets: []Set{old("a", 9), current("b", 1, since(30*time.Minute))}, plan: []string{"a 9->7", "b 1->4"},
		},
		"passed before": {
			reason: "more new ones than the canary are there", d: d.by(soaks), sets: []Set{old("a", 6), current("b", 4)}, plan: []string{"a 6->4", "b 4->7"},
		},
		"no old machine is left": {
			reason: "nothing to tell the difference from", d: d, sets: []Set{old("a", 0), current("b", 1)}, plan: []string{"b 1->10"},
		},
		"Recreate": {
			reason: "knows no steps", d: d.by(strategy(Recreate)), sets: []Set{old("a", 0), current("b", 0)}, plan: []string{"b 0->10"},
		},
	})
	p := Decide(now, d.by(soaks), []Set{old("a", 9), current("b", 1)}, counting)
	if w := want(t, p, "b"); !w.Notes.CanarySince.Equal(now) || p.After != 30*time.Minute {
		t.Errorf("available since %v, looks again after %v: it soaks from now on, for 30m", w.Notes.CanarySince, p.After)
	}
	p = Decide(now, d.by(soaks), []Set{old("a", 9), current("b", 1, since(time.Minute), first(1, unready))}, counting)
	if w := want(t, p, "b"); !w.Notes.CanarySince.IsZero() {
		t.Error("it was not available for a moment, and soaks anew")
	}
}
