package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// placed sets the location and template of machine i.
type placed struct {
	zone, rack, template string
	sick                 bool
}

func ward(c Check, machines ...placed) *watched {
	w := watching(c)
	for i, m := range machines {
		t := linked()
		t.UID, t.Name = types.UID(fmt.Sprintf("u%03d", i)), fmt.Sprintf("m%03d", i)
		t.Template, t.Node.Zone, t.Node.Rack = m.template, m.zone, m.rack
		if m.sick {
			shows("Ready", "Unknown", time.Hour)(&t)
		}
		w.put(t0, t)
	}
	return w
}

func many(n int, p placed) []placed { return slices.Repeat([]placed{p}, n) }

func TestStorms(t *testing.T) {
	for _, c := range []struct {
		reason   string
		machines []placed
		want     []string
	}{
		{"two are no storm", slices.Concat(many(2, placed{zone: "a", sick: true}), many(1, placed{zone: "b"})), nil},
		{
			"a zone is out: neither the fleet nor the only template", slices.Concat(
				many(10, placed{zone: "a", template: "t", sick: true}), many(4, placed{zone: "b", template: "t"}), many(1, placed{zone: "b", template: "t", sick: true})),
			[]string{"10 of 10 zone a"},
		},
		{
			"one rack of a zone", slices.Concat(many(3, placed{zone: "a", rack: "1", sick: true}), many(3, placed{zone: "a", rack: "2"})),
			[]string{"3 of 3 rack 1"},
		},
		{
			"all racks of a zone: it is the zone", slices.Concat(
				many(3, placed{zone: "a", rack: "1", sick: true}), many(3, placed{zone: "a", rack: "2", sick: true}), many(6, placed{zone: "b", rack: "3"})),
			[]string{"6 of 6 zone a"},
		},
		{
			"a bad image across zones", slices.Concat(
				many(2, placed{zone: "a", template: "new", sick: true}), many(2, placed{zone: "b", template: "new", sick: true}),
				many(8, placed{zone: "a", template: "old"}), many(8, placed{zone: "b", template: "old"})),
			[]string{"4 of 4 template new"},
		},
		{"the same share: the narrower of equals", many(3, placed{zone: "a", rack: "1", template: "t", sick: true}), []string{"3 of 3 rack 1"}},
		{
			"two zones at once", slices.Concat(many(3, placed{zone: "a", sick: true}), many(3, placed{zone: "b", sick: true}), many(9, placed{zone: "c"})),
			[]string{"3 of 3 zone a", "3 of 3 zone b"},
		},
		{"everywhere", slices.Concat(many(6, placed{sick: true}), many(4, placed{})), []string{"6 of 10 fleet "}},
		{"54 % are below the share", slices.Concat(many(54, placed{sick: true}), many(46, placed{})), nil},
		{"55 % are the share", slices.Concat(many(55, placed{sick: true}), many(45, placed{})), []string{"55 of 100 fleet "}},
		{"three here and there among many", slices.Concat(many(3, placed{zone: "a", template: "t", sick: true}), many(97, placed{zone: "a", template: "t"})), nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var got []string
			for _, s := range ward(readyCheck(), c.machines...).storms(1000) {
				got = append(got, fmt.Sprintf("%d of %d %s %s", s.Sick, s.Total, s.Kind, s.Name))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func TestStartingIsNoStorm(t *testing.T) {
	w := fleet(readyCheck(), names("m", 10), func(_ int, t *Target) { unlinkedFor(time.Minute, time.Minute)(t) })
	if got := w.storms(1000); got != nil {
		t.Errorf("a fleet that is being made: %v", got)
	}
}

// A zone with 10 of 20 machines fails, and one machine elsewhere is sick for its own reasons.
func outage(m Mode) *watched {
	return ward(readyCheck(mode(m)), slices.Concat(
		many(10, placed{zone: "a", template: "t", sick: true}), many(1, placed{zone: "b", template: "t", sick: true}), many(9, placed{zone: "b", template: "t"}))...)
}

func TestOutageOfAZone(t *testing.T) {
	p := outage(Enforce).plan(t0, seen, Memory{})
	if got := done(p); !slices.Equal(got, []string{"Delete m010"}) {
		t.Errorf("enforcing: %v", got)
	}
	p = outage(Report).plan(t0, seen, Memory{})
	if got := done(p); len(got) != 11 {
		t.Errorf("reporting stops nothing: %v", got)
	}
	held := 0
	for _, c := range p.Cases {
		if c.Hold != "" {
			held++
		}
	}
	if held != 10 {
		t.Errorf("reporting tells of %d", held)
	}
	p = outage(Off).plan(t0, seen, Memory{Storms: []Storm{{Group: Group{Kind: Fleet}}}})
	if got := done(p); len(got) != 11 || p.Storms != nil || p.Memory.Storms != nil {
		t.Errorf("off: %v, %v", got, p.Storms)
	}
}

// If nodes do not exist there is nothing to wait for: they count for no storm, and no storm holds them. The
// rate still applies.
func TestGoneIsNoStorm(t *testing.T) {
	w := ward(readyCheck(mode(Enforce)), slices.Concat(many(10, placed{zone: "a", sick: true}), many(10, placed{zone: "b"}))...)
	for i := range 5 {
		gone := linked(nodeGone)
		gone.UID, gone.Name, gone.Zone = types.UID(fmt.Sprint("g", i)), fmt.Sprint("g", i), "a"
		gone.Failed = i == 0
		w.put(t0, gone)
	}
	p := w.plan(t0, seen, Memory{})
	if got := done(p); len(got) != 5 || got[0] != "Delete g0" {
		t.Errorf("remedied %v", got)
	}
	if s := p.Storms[0]; s.Sick != 10 || s.Total != 10 || s.Group != (Group{Zone, "a"}) {
		t.Errorf("counted %+v", s)
	}
	failing := fleet(readyCheck(mode(Enforce)), names("m", 10), func(_ int, t *Target) { t.Failed = true })
	if p := failing.plan(t0, seen, Memory{}); len(done(p)) > 0 {
		t.Errorf("nodes of failed machines are there: %v", done(p))
	}
	failing = fleet(readyCheck(mode(Enforce)), names("m", 10), func(_ int, t *Target) { unlinkedFor(time.Hour, time.Hour)(t); t.Failed = true })
	if p := failing.plan(t0, seen, Memory{}); len(done(p)) > 0 {
		t.Errorf("failed machines never had a node: %v", done(p))
	}
	all := fleet(readyCheck(mode(Enforce)), names("m", 10), func(_ int, t *Target) { t.Node = nil })
	if p := all.plan(t0, seen, Memory{}); len(done(p)) != 3 {
		t.Errorf("3 within the hour: %v", done(p))
	}
}

// More sick machines than the budget are a storm, so that the last ones to recover are not remediated the
// moment that few enough are sick.
func TestMoreThanMayBeIsAStorm(t *testing.T) {
	w := ward(readyCheck(mode(Enforce), limit("40%")), slices.Concat(many(5, placed{sick: true}), many(5, placed{}))...)
	p := w.plan(t0, seen, Memory{})
	if len(p.Storms) != 1 || p.Storms[0].Kind != Fleet || p.Storms[0].Sick != 5 {
		t.Fatalf("storms %+v", p.Storms)
	}
	well := linked()
	well.UID, well.Name = "u000", "m000"
	w.put(t0, well)
	p = w.plan(t0.Add(time.Minute), seen, p.Memory)
	if !p.Allowed || len(done(p)) > 0 {
		t.Errorf("one of five came back: allowed %v, remedied %v", p.Allowed, done(p))
	}
	p = w.plan(t0.Add(11*time.Minute), Connectivity{}, p.Memory)
	if len(done(p)) != 3 {
		t.Errorf("after the cooldown, as the rate has it: %v", done(p))
	}
	few := ward(readyCheck(mode(Enforce), limit("40%")), slices.Concat(many(4, placed{sick: true}), many(6, placed{}))...)
	if p := few.plan(t0, seen, Memory{}); p.Storms != nil {
		t.Errorf("as many as may be: %+v", p.Storms)
	}
}

func TestCooldown(t *testing.T) {
	// The zone came back, one machine of it did not.
	w := ward(readyCheck(mode(Enforce)), slices.Concat(many(9, placed{zone: "a"}), many(1, placed{zone: "a", sick: true}), many(10, placed{zone: "b"}))...)
	under := Memory{Storms: []Storm{{Group: Group{Zone, "a"}, Sick: 10, Total: 10}}}
	p := w.plan(t0, seen, under)
	end := t0.Add(10 * time.Minute)
	if len(done(p)) > 0 || !p.Due.Equal(end) {
		t.Fatalf("right after the storm: %v, due %s", done(p), p.Due)
	}
	if p = w.plan(end.Add(-1), seen, p.Memory); len(done(p)) > 0 || !p.Due.Equal(end) {
		t.Errorf("the cooldown began anew: due %s", p.Due)
	}
	if p = w.plan(end, seen, p.Memory); len(done(p)) != 1 || p.Memory.Storms != nil {
		t.Errorf("after the cooldown: %v, %v", done(p), p.Memory.Storms)
	}
}

func TestRate(t *testing.T) {
	var past []Past
	for i := range 5 {
		past = append(past, Past{Machine: types.UID(fmt.Sprint("gone", i)), Owner: "other", At: ago(time.Duration(50-i) * time.Minute), Settled: true})
	}
	c := readyCheck(mode(Enforce))
	c.Breaker.StormMin = 1000
	w := fleet(c, names("m", 30), sickFirst(3))
	p := w.plan(t0, seen, Memory{Past: past})
	if got := done(p); !slices.Equal(got, []string{"Delete m00"}) {
		t.Errorf("6 of 30 within the hour: %v", got)
	}
	if want := ago(50 * time.Minute).Add(time.Hour); !p.Due.Equal(want) {
		t.Errorf("due %s, want %s", p.Due, want)
	}
	again := w.plan(t0, seen, p.Memory)
	if got := done(again); !slices.Equal(got, []string{"Delete m00"}) {
		t.Errorf("what was begun goes on: %v", got)
	}
	for text, want := range map[string]int{"2": 2, "0": 0, "50%": 15, "1%": 3} {
		t.Run(text, func(t *testing.T) {
			b := DefaultBreaker()
			b.Rate, _ = ParseLimit(text)
			if got := b.rate(30); got != want {
				t.Errorf("rate %s of 30 is %d, want %d", text, got, want)
			}
		})
	}
}

// TestReclaimedMachinesAreNotHeld: many reclaimed instances are not a storm, do not use up the rate, and are
// not rebooted, in every mode of the breaker. The budget applies to them as to others.
func TestReclaimedMachinesAreNotHeld(t *testing.T) {
	reclaimed := func(kind, status string, n int) func(int, *Target) {
		return func(i int, t *Target) {
			switch {
			case i < n:
				shows(kind, status, time.Second)(t)
			case i == n:
				shows("Ready", "Unknown", time.Hour)(t)
			}
		}
	}
	notice := func(c *Check) {
		c.Conditions = append(c.Conditions, Condition{"Terminating", "True", 0}, Condition{"Terminating", "False", 0}, Condition{"Bad", "True", 0})
	}
	for _, c := range []struct {
		reason string
		edit   []func(*Check)
		ill    func(int, *Target)
		done   int
		storms int
	}{
		{"all of them, and the one that is sick besides", []func(*Check){mode(Enforce)}, reclaimed("Terminating", "True", 12), 13, 0},
		{"all of the fleet but two", []func(*Check){mode(Enforce)}, reclaimed("Terminating", "True", 28), 29, 0},
		{"more than the budget", []func(*Check){mode(Enforce), limit("5")}, reclaimed("Terminating", "True", 12), 0, 0},
		{"another condition announces nothing of the kind", []func(*Check){mode(Enforce)}, reclaimed("Bad", "True", 17), 0, 1},
		{"nor does its absence", []func(*Check){mode(Enforce)}, reclaimed("Terminating", "False", 17), 0, 1},
		{"without a reboot", []func(*Check){mode(Enforce), escalating}, reclaimed("Terminating", "True", 12), 13, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := fleet(readyCheck(append(c.edit, notice)...), names("m", 30), c.ill)
			p := w.plan(t0, seen, Memory{})
			if len(done(p)) != c.done || len(p.Memory.Storms) != c.storms {
				t.Errorf("%s: %d remedied, want %d; storms %v", c.reason, len(done(p)), c.done, p.Memory.Storms)
			}
			for _, what := range done(p) {
				if machine := strings.TrimPrefix(what, "Restart "); machine != what && machine < "m12" {
					t.Errorf("%s: %s", c.reason, what)
				}
			}
			if n, _ := p.Memory.within(t0); c.done > 0 && n != 1 {
				t.Errorf("%s: %d count against the rate, want the one that is sick", c.reason, n)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	chained := func(again int) Memory {
		return Memory{Past: []Past{{Machine: "before", Owner: "set", At: ago(20 * time.Minute), Again: again, Settled: true}}}
	}
	for _, c := range []struct {
		reason  string
		memory  Memory
		created time.Duration
		delay   time.Duration
		again   int
	}{
		{"a first failure", Memory{}, 15 * time.Minute, 0, 0},
		{"made in the place of a failed one", chained(0), 15 * time.Minute, time.Minute, 1},
		{"the fourth", chained(2), 15 * time.Minute, 4 * time.Minute, 3},
		{"bounded", chained(30), 15 * time.Minute, time.Hour, 31},
		{"there before the other failed", chained(3), time.Hour, 0, 0},
		{"too long ago", Memory{Past: []Past{{Machine: "before", Owner: "set", At: ago(7 * time.Hour), Again: 3}}}, time.Hour, 0, 0},
		{"of another set", Memory{Past: []Past{{Machine: "before", Owner: "other", At: ago(20 * time.Minute), Settled: true}}}, 15 * time.Minute, 0, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := fleet(readyCheck(mode(Enforce)), names("m", 5), func(i int, t *Target) {
				if i == 0 {
					shows("Ready", "Unknown", 6*time.Minute)(t)
					t.Created = ago(c.created)
				}
			})
			p := w.plan(t0, seen, c.memory)
			if c.delay > 0 {
				if len(done(p)) > 0 || !p.Due.Equal(t0.Add(c.delay)) {
					t.Errorf("%s: %v, due %s", c.reason, done(p), p.Due)
				}
				p = w.plan(t0.Add(c.delay-1), Connectivity{}, p.Memory)
				if len(done(p)) > 0 {
					t.Errorf("%s: %v too early", c.reason, done(p))
				}
				p = w.plan(t0.Add(c.delay), Connectivity{}, p.Memory)
			}
			if len(done(p)) != 1 {
				t.Errorf("%s: %v after %s (%s)", c.reason, done(p), c.delay, p.Sentence)
				return
			}
			if got := p.Memory.Past[len(p.Memory.Past)-1].Again; got != c.again {
				t.Errorf("%s: again %d, want %d", c.reason, got, c.again)
			}
		})
	}
}

func TestMemoryForgets(t *testing.T) {
	m := Memory{Past: []Past{
		{Machine: "a", Owner: "set", At: ago(7 * time.Hour)},
		{Machine: "b", Owner: "set", At: ago(3 * time.Hour)},
		{Machine: "c", Owner: "set", At: ago(2 * time.Hour)},
		{Machine: "d", Owner: "set2", At: ago(10 * time.Minute)},
	}}
	var got []types.UID
	for _, p := range m.at(t0).Past {
		got = append(got, p.Machine)
	}
	if want := []types.UID{"c", "d"}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	for i := range 300 {
		m.Past = append(m.Past, Past{Machine: types.UID(fmt.Sprint(i)), Owner: "set", At: ago(time.Duration(300-i) * time.Second), Settled: i > 20})
	}
	now := m.at(t0)
	kept := now.Past
	if len(kept) != maxPast || kept[1].Machine != "0" || kept[len(kept)-1].Machine != "299" {
		t.Errorf("kept %d, from %s to %s, want those that are not settled and the newest", len(kept), kept[1].Machine, kept[len(kept)-1].Machine)
	}
	if n, until := now.within(t0); n != 301 || !until.After(t0) || until.After(t0.Add(rateWindow)) {
		t.Errorf("%d began within the hour, until %s, want 301", n, until)
	}
	if n, _ := now.at(t0.Add(2 * time.Hour)).within(t0.Add(2 * time.Hour)); n != 0 {
		t.Errorf("two hours later %d began within the hour", n)
	}
}

func TestSentence(t *testing.T) {
	for _, c := range []struct {
		reason string
		plan   Plan
		want   string
	}{
		{
			"nothing to tell", fleet(readyCheck(limit("40%")), names("m", 5), nil).plan(t0, seen, Memory{}),
			"0 of 5 machines are unhealthy, and maxUnhealthy allows 2 (40%)",
		},
		{
			"a zone is out, enforcing", outage(Enforce).plan(t0, seen, Memory{}),
			"11 of 20 machines are unhealthy; 10 of 10 machines of zone a are sick; 1 remediated within the hour, of at most 4; now: 1 remediated, 10 left alone",
		},
		{
			"a zone is out, reporting", outage(Report).plan(t0, seen, Memory{}),
			"11 of 20 machines are unhealthy; 10 of 10 machines of zone a are sick, which the breaker only reports; 11 remediated within the hour, of at most 4; now: 11 remediated, 0 left alone; 10 of the remediated would have been left alone if the breaker were enforcing",
		},
		{
			"blind", outage(Off).plan(t0, Connectivity{Blind: "the API server does not answer"}, Memory{}),
			"11 of 20 machines are unhealthy; nothing is remediated: the API server does not answer; now: 0 remediated, 11 left alone",
		},
		{
			"waiting for another", fleet(readyCheck(limit("1"), mode(Off)), names("m", 2), nil).plan(t0, seen, Memory{Past: []Past{{Machine: "x", Owner: "set", At: ago(time.Minute)}}}),
			"1 of 3 machines is unhealthy, and maxUnhealthy allows 1, counting 1 deleted and not replaced yet",
		},
		{
			"after a storm", fleet(readyCheck(), names("m", 2), nil).plan(t0, seen, Memory{Storms: []Storm{{Group: Group{Zone, "a"}, Over: ago(time.Minute)}}}),
			"0 of 2 machines are unhealthy; zone a is left alone until 2026-11-21T12:09:00Z, after a storm, which the breaker only reports",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if c.plan.Sentence != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.reason, c.plan.Sentence, c.want)
			}
		})
	}
}

// A node's label is written by its kubelet: three compromised kubelets that set another zone on their nodes
// and fall silent would stop the remediation of that zone. If a machine knows its zone, that zone counts.
func TestStormsGoByTheZoneOfTheMachine(t *testing.T) {
	w := ward(readyCheck(mode(Enforce)), slices.Concat(many(3, placed{zone: "b", sick: true}), many(17, placed{zone: "a"}), many(1, placed{zone: "b", sick: true}), many(2, placed{zone: "b"}))...)
	for i, b := range []string{"u000", "u001", "u002"} {
		liar := w.machines[types.UID(b)].Target
		liar.Zone = "a" // where its instance runs
		w.put(t0, liar)
		if got := liar.zone(); got != "a" {
			t.Errorf("liar %d is counted in zone %s", i, got)
		}
	}
	p := w.plan(t0, seen, Memory{})
	if len(p.Storms) > 0 {
		t.Errorf("storms: %+v", p.Storms)
	}
	if got := done(p); !slices.Contains(got, "Delete m020") {
		t.Errorf("the ill machine of the zone is left: %v", got)
	}
}
