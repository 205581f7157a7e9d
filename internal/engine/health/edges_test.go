package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

func TestVerdictsSayWhy(t *testing.T) {
	check := readyCheck()
	old := readyCheck(nodesOnly)
	for _, c := range []struct {
		check  *Check
		target Target
		want   string
		gone   bool
	}{
		{&check, linked(unlinkedFor(time.Hour, time.Hour)), "no node has joined within 10m0s", false},
		{&check, linked(nodeGone), "node n does not exist any more", true},
		{&check, linked(isFailed), "the machine failed", false},
		{&check, linked(isFailed, nodeGone), "the machine failed", true},
		{&check, linked(isFailed, unlinkedFor(time.Hour, time.Hour)), "the machine failed", false},
		{&old, linked(nodeGone), "node n does not exist", false},
		{&check, linked(shows("Ready", "False", time.Hour)), "Ready has been False for more than 5m0s", false},
		{&check, linked(shows("Ready", "False", time.Minute)), "Ready is False, which may last until 2026-11-21T12:04:00Z", false},
	} {
		if v := Evaluate(t0, connectivity.State{}, c.check, &c.target); v.Message != c.want || v.Gone != c.gone {
			t.Errorf("%q, gone %v; want %q, %v", v.Message, v.Gone, c.want, c.gone)
		}
	}
}

func TestRages(t *testing.T) {
	m := Memory{Storms: []Storm{{Group: Group{Zone, "a"}}, {Group: Group{Zone, "b"}, Over: t0}}}
	for g, want := range map[Group]bool{{Zone, "a"}: true, {Zone, "b"}: false, {Zone, "c"}: false, {Rack, "a"}: false} {
		if got := m.Rages(g); got != want {
			t.Errorf("%s: %v", g, got)
		}
	}
	if (Memory{Storms: m.Storms[1:]}).Rages(Group{Zone, "a"}) {
		t.Error("another storm that is over is none of zone a")
	}
}

// Memory holds for just less than its windows.
func TestMemoryEnds(t *testing.T) {
	kept := func(age time.Duration, later ...Past) int {
		m := Memory{Past: append([]Past{{Machine: "x", Owner: "set", At: ago(age)}}, later...)}
		return len(m.at(t0).Past)
	}
	newer := Past{Machine: "y", Owner: "set", At: ago(time.Minute)}
	for _, c := range []struct {
		reason string
		got    int
		want   int
	}{
		{"the last of an owner, to 6 hours", kept(chainWindow - 1), 1},
		{"not longer", kept(chainWindow), 0},
		{"another, to an hour", kept(rateWindow-1, newer), 2},
		{"not longer", kept(rateWindow, newer), 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%s: %d kept, want %d", c.reason, c.got, c.want)
			}
		})
	}
	for age, want := range map[time.Duration]int{rateWindow - 1: 1, rateWindow: 0} {
		if n, _ := (Memory{Past: []Past{{At: ago(age)}}}).within(t0); n != want {
			t.Errorf("%s ago: %d within the hour", age, n)
		}
	}
	made := linked()
	made.Created = t0
	for age, want := range map[time.Duration]int{chainWindow - 1: 1, chainWindow: 0} {
		if n := (Memory{Past: []Past{{Machine: "x", Owner: "set", At: ago(age)}}}).chain(t0, &made); n != want {
			t.Errorf("%s ago: chain of %d", age, n)
		}
	}
}

func TestMemoryEqual(t *testing.T) {
	base := Memory{Past: []Past{{Machine: "x", Owner: "set", At: t0}}, Storms: []Storm{{Group: Group{Zone, "a"}, Over: t0, Sick: 3}}}
	with := func(edit func(*Memory)) Memory {
		m := Memory{Past: slices.Clone(base.Past), Storms: slices.Clone(base.Storms)}
		edit(&m)
		return m
	}
	for _, c := range []struct {
		reason string
		m      Memory
		want   bool
	}{
		{"the same", with(func(*Memory) {}), true},
		{"the same moment in another zone of time", with(func(m *Memory) { m.Past[0].At = t0.In(time.FixedZone("x", 3600)) }), true},
		{"how many were sick is not kept", with(func(m *Memory) { m.Storms[0].Sick = 9 }), true},
		{"another machine", with(func(m *Memory) { m.Past[0].Machine = "y" }), false},
		{"another moment", with(func(m *Memory) { m.Past[0].At = ago(1) }), false},
		{"after another machine", with(func(m *Memory) { m.Past[0].After = t0 }), false},
		{"settled", with(func(m *Memory) { m.Past[0].Settled = true }), false},
		{"replaced", with(func(m *Memory) { m.Past[0].By = "z" }), false},
		{"one more", with(func(m *Memory) { m.Past = append(m.Past, Past{}) }), false},
		{"another group", with(func(m *Memory) { m.Storms[0].Name = "b" }), false},
		{"another end", with(func(m *Memory) { m.Storms[0].Over = ago(1) }), false},
		{"no storm", with(func(m *Memory) { m.Storms = nil }), false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if base.Equal(c.m) != c.want || c.m.Equal(base) != c.want {
				t.Errorf("%s: equal %v", c.reason, !c.want)
			}
		})
	}
}

func TestBackoffOfNone(t *testing.T) {
	b := DefaultBreaker()
	for failed, want := range map[int]time.Duration{-1: 0, 0: 0, 1: time.Minute, 2: 2 * time.Minute, 7: time.Hour, 1000: time.Hour} {
		if got := b.backoff(failed); got != want {
			t.Errorf("after %d: %s, want %s", failed, got, want)
		}
	}
	if b.Backoff = 0; b.backoff(3) != 0 {
		t.Error("there is none")
	}
}

func TestSilenceHasToBeLonger(t *testing.T) {
	if why := (Connectivity{Nodes: 3, Heard: ago(silence)}).blind(t0, 0); why != "" {
		t.Errorf("just as long: %s", why)
	}
	if why := (Connectivity{Nodes: 3, Heard: ago(silence + 1)}).blind(t0, 0); why == "" {
		t.Error("longer")
	}
}

// Each machine is compared with all storms, not only with the first.
func TestTwoStorms(t *testing.T) {
	machines := slices.Concat(many(4, placed{zone: "a", sick: true}), many(3, placed{zone: "b", sick: true}), many(20, placed{zone: "c"}))
	if p := ward(readyCheck(mode(Enforce)), machines...).plan(t0, seen, Memory{}); len(p.Storms) != 2 || len(done(p)) > 0 {
		t.Errorf("storms %v, remedied %v", p.Storms, done(p))
	}
}

func TestWeather(t *testing.T) {
	a, b, c := Group{Zone, "a"}, Group{Zone, "b"}, Group{Zone, "c"}
	over := ago(time.Minute)
	for _, k := range []struct {
		reason       string
		was, present []Storm
		want         []Storm
		cooldown     time.Duration
	}{
		{"goes on", []Storm{{Group: a}}, []Storm{{Group: a, Sick: 3, Total: 3}}, []Storm{{Group: a, Sick: 3, Total: 3}}, time.Hour},
		{"begins again", []Storm{{Group: a, Over: over}}, []Storm{{Group: a, Sick: 3, Total: 3}}, []Storm{{Group: a, Sick: 3, Total: 3}}, time.Hour},
		{
			"one goes on, one ends, one is over",
			[]Storm{{Group: a}, {Group: b, Sick: 3, Total: 3}, {Group: c, Over: over}},
			[]Storm{{Group: a, Sick: 3, Total: 3}},
			[]Storm{{Group: a, Sick: 3, Total: 3}, {Group: b, Over: t0}, {Group: c, Over: over}},
			time.Hour,
		},
		{"over for long enough", []Storm{{Group: a, Over: over}}, nil, nil, time.Minute},
		{"over for not quite", []Storm{{Group: a, Over: over}}, nil, []Storm{{Group: a, Over: over}}, time.Minute + 1},
	} {
		t.Run(k.reason, func(t *testing.T) {
			if got := (Memory{Storms: k.was}).weather(t0, k.present, k.cooldown).Storms; !slices.Equal(got, k.want) {
				t.Errorf("%s: %v, want %v", k.reason, got, k.want)
			}
		})
	}
}

// A plan is due when a cooldown ends, in every mode of the breaker; the end of a current storm is unknown.
func TestDueAfterAStorm(t *testing.T) {
	w := fleet(readyCheck(mode(Report)), names("m", 5), nil)
	p := w.plan(t0, seen, Memory{Storms: []Storm{{Group: Group{Zone, "a"}, Over: ago(time.Minute)}}})
	if want := t0.Add(9 * time.Minute); !p.Due.Equal(want) {
		t.Errorf("due %s, want %s", p.Due, want)
	}
	if p := outage(Report).plan(t0, seen, Memory{}); !p.Due.IsZero() {
		t.Errorf("in a storm: due %s", p.Due)
	}
}

// The rate is a share of the whole fleet, including machines that are deleted and not replaced yet: 20 % of
// 20 are 4.
func TestRateIsOfTheWholeFleet(t *testing.T) {
	c := readyCheck(mode(Enforce))
	c.Breaker.StormMin = 1000
	w := fleet(c, names("m", 18), sickFirst(5))
	var past []Past
	for i := range 2 {
		past = append(past, Past{Machine: types.UID(fmt.Sprint("gone", i)), Owner: "set", At: ago(time.Minute)})
	}
	if p := w.plan(t0, seen, Memory{Past: past}); len(done(p)) != 2 {
		t.Errorf("2 of 4 have begun: %v, %s", done(p), p.Sentence)
	}
}

func TestNodesAreCompared(t *testing.T) {
	n := &Node{Name: "n"}
	for _, c := range []struct {
		a, b *Node
		want bool
	}{{nil, nil, true}, {n, nil, false}, {nil, n, false}, {n, &Node{Name: "n"}, true}} {
		if c.a.equal(c.b) != c.want {
			t.Errorf("%v and %v: equal %v", c.a, c.b, !c.want)
		}
	}
}

// A view with different facts is judged; one with equal facts in other memory is not.
func TestEveryFactIsNews(t *testing.T) {
	full := func() Target {
		m := linked()
		startup, health := time.Minute, time.Hour
		m.Own = Own{Startup: &startup, Health: &health, Conditions: []string{"Disk"}}
		return m
	}
	a, b := full(), full()
	if !a.equal(&b) {
		t.Error("the same, twice")
	}
	other := 2 * time.Minute
	for reason, edit := range map[string]func(*Target){
		"machine": func(t *Target) { t.UID = "v" }, "name": func(t *Target) { t.Name = "x" }, "namespace": func(t *Target) { t.Namespace = "x" },
		"created": func(t *Target) { t.Created = t0 }, "updated": func(t *Target) { t.Updated = t0 }, "owner": func(t *Target) { t.Owner.Name = "x" },
		"failed": isFailed, "deleting": isDeleting, "marked": isMarked, "skip": func(t *Target) { t.Skip = true },
		"template": func(t *Target) { t.Template = "x" }, "zone": func(t *Target) { t.Zone = "x" }, "node name": func(t *Target) { t.NodeName = "x" },
		"node": nodeGone, "condition": shows("Ready", "False", 0), "own startup": func(t *Target) { t.Own.Startup = &other },
		"own health": func(t *Target) { t.Own.Health = &other }, "no own startup": func(t *Target) { t.Own.Startup = nil },
		"no own health": func(t *Target) { t.Own.Health = nil }, "own conditions": func(t *Target) { t.Own.Conditions = nil },
	} {
		edited := full()
		edit(&edited)
		if a.equal(&edited) || edited.equal(&a) {
			t.Errorf("another %s is no news", reason)
		}
	}
}
