package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/fleet"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// wrote is a write that was answered so many seconds after the beginning.
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

func TestDeniedEvictionsDisturbNobodysQuiet(t *testing.T) {
	l := auditLog{writes: []write{
		wrote(1, fleet.Machines, "patch", "machines", "a", 200), wrote(2, fleet.Machines, "create", "pods/eviction", "p", 429),
		wrote(3, fleet.Machines, "create", "pods/eviction", "q", 201), wrote(4, fleet.Machines, "create", "pods/eviction", "r", 500),
	}}
	if got := l.last(); got.Name != "a" {
		t.Errorf("the last write is %+v, want that of the machine", got)
	}
	if got := denied(l.writes); len(got) != 1 || got[0].Name != "p" {
		t.Errorf("denied: %+v, want that of p alone", got)
	}
}

func TestLossIsThatOfThroughput(t *testing.T) {
	b := Blocked{Before: Round{Create: 2, Delete: 2}, With: Round{Create: 3, Delete: 2}, After: Round{Create: 2, Delete: 2}}
	b.compare()
	if b.Ratio != 1.25 || b.Loss != 20 {
		t.Errorf("5 s instead of 4: ratio %v, loss %v %%, want 1.25 and 20", b.Ratio, b.Loss)
	}
	var out strings.Builder
	if err := (&Report{Blocked: []Blocked{b}}).Print(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "20.0      <= 10.0  EXCEEDED") {
		t.Errorf("the loss is not marked:\n%s", out.String())
	}
}
