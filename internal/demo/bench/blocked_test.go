package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// wrote is a write that was answered a number of seconds after the beginning.
func wrote(seconds int, program, verb, resource, name string, code int) write {
	return write{Done: zero.Add(time.Duration(seconds) * time.Second), Agent: program + "/v0", Verb: verb, Resource: resource, Name: name, Code: code}
}

func TestRoundsEndWithTheirOwnMachines(t *testing.T) {
	came := []write{
		wrote(1, fleet.Sets, "create", "machines", "a", 201), wrote(1, fleet.Sets, "create", "machines", "b", 201),
		wrote(2, "kwok", "patch", "nodes/status", "a", 200), wrote(3, fleet.Machines, "patch", "machines/status", "a", 200),
		wrote(4, fleet.Machines, "patch", "machines/status", "b", 200),
		wrote(8, fleet.Machines, "patch", "machines/status", "blocked", 200), wrote(9, "kwok", "patch", "nodes/status", "blocked", 200),
	}
	went := []write{
		wrote(1, fleet.Sets, "delete", "machines", "a", 200),
		wrote(2, fleet.Machines, "delete", "nodes", "a", 200), wrote(3, fleet.Machines, "patch", "machines", "a", 200),
		wrote(9, fleet.Machines, "patch", "machines", "blocked", 200),
	}
	for name, c := range map[string]struct {
		got, want time.Time
	}{
		"the last machine Running":                 {spanOfCreate(came), zero.Add(4 * time.Second)},
		"the last node Ready":                      {spanOfCreate(append(came, wrote(6, "kwok", "patch", "nodes/status", "b", 200))), zero.Add(6 * time.Second)},
		"the last machine gone":                    {spanOfRemove(went), zero.Add(3 * time.Second)},
		"the last node gone":                       {spanOfRemove(append(went, wrote(5, fleet.Machines, "delete", "nodes", "a", 200))), zero.Add(5 * time.Second)},
		"nobody came, whatever blocked ones write": {spanOfCreate(came[5:]), time.Time{}},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, c.got, c.want)
		}
	}
}

func TestWhatGoesOnDisturbsNobodysQuiet(t *testing.T) {
	l := auditLog{writes: []write{
		wrote(1, fleet.Machines, "patch", "machines", "a", 200), wrote(2, fleet.Machines, "create", "pods/eviction", "p", 429),
		wrote(3, fleet.Machines, "create", "pods/eviction", "q", 201), wrote(4, fleet.Machines, "create", "pods/eviction", "r", 500),
		wrote(5, heart, "patch", "nodes/status", "n", 200),
	}}
	if got := l.last(); got.Name != "a" {
		t.Errorf("the last write is %+v, want that of the machine", got)
	}
	if got := denied(l.writes); len(got) != 1 || got[0].Name != "p" {
		t.Errorf("denied: %+v, want that of p alone", got)
	}
}

// turnOf is a turn of rounds that take this many seconds, of which the deletion takes a third.
func turnOf(totals ...float64) (t turn) {
	for _, seconds := range totals {
		t = append(t, Round{Create: seconds * 2 / 3, Delete: seconds / 3})
	}
	return t
}

func TestCompareBlocked(t *testing.T) {
	for _, c := range []struct {
		reason        string
		without, with []turn
		want          Blocked
	}{
		{
			"the loss is that of throughput: 5 s instead of 4 do a fifth less",
			[]turn{turnOf(4), turnOf(4)},
			[]turn{turnOf(5)},
			Blocked{Ratio: Spread{1.25, 1.25, 1.25}, Loss: Spread{20, 20, 20}},
		},
		{
			"all rounds of a turn count: blocked drains need not disturb each of them",
			[]turn{turnOf(1, 1, 2), turnOf(2, 1, 1)},
			[]turn{turnOf(1, 1, 3)},
			Blocked{Ratio: Spread{1.25, 1.25, 1.25}, Loss: Spread{20, 20, 20}},
		},
		{
			"a machine that slows down steadily loses nothing by drains",
			[]turn{turnOf(4), turnOf(6), turnOf(8), turnOf(10)},
			[]turn{turnOf(5), turnOf(7), turnOf(9)},
			Blocked{Ratio: Spread{1, 1, 1}, Noise: 33.333},
		},
		{
			"the median of the turns counts, so that a hiccup changes nothing, and the others show",
			[]turn{turnOf(4), turnOf(4), turnOf(4), turnOf(4)},
			[]turn{turnOf(8), turnOf(5), turnOf(4)},
			Blocked{Ratio: Spread{1.25, 1, 2}, Loss: Spread{20, 0, 50}},
		},
		{
			"faster beside blocked drains: the loss is below zero",
			[]turn{turnOf(5), turnOf(5)},
			[]turn{turnOf(4)},
			Blocked{Ratio: Spread{0.8, 0.8, 0.8}, Loss: Spread{-25, -25, -25}},
		},
	} {
		got := compareBlocked(c.without, c.with)
		got.With, got.Without = Round{}, Round{}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestTypicalRoundsAreMediansOfAllTurns(t *testing.T) {
	got := compareBlocked([]turn{turnOf(3, 6), turnOf(9)}, []turn{turnOf(12, 15, 18)})
	if diff := cmp.Diff(Round{Create: 4, Delete: 2}, got.Without); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Round{Create: 10, Delete: 5}, got.With); diff != "" {
		t.Errorf("with (-want +got):\n%s", diff)
	}
}

func TestPrintMarksTheMedianLoss(t *testing.T) {
	for _, c := range []struct {
		loss Spread
		want string
	}{{Spread{20, -5, 30}, "throughput lost, median, %"}, {Spread{10, -5, 30}, ""}} {
		if got := exceeded(t, &Report{Blocked: []Blocked{{Loss: c.loss}}}); got != c.want {
			t.Errorf("loss %v: exceeded %q, want %q", c.loss, got, c.want)
		}
	}
}
