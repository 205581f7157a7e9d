package replicas

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTelling(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type step struct {
		at          time.Duration
		n           int
		named, more int
		again       time.Duration
	}
	for reason, steps := range map[string][]step{
		"few":                       {{0, 3, 3, 0, 0}, {time.Second, 2, 2, 0, 0}},
		"many at once":              {{0, 25, 10, 15, 0}},
		"as many as may be named":   {{0, 11, 11, 0, 0}},
		"a roll":                    {{0, 10, 10, 0, 0}, {time.Second, 4, 0, 4, 0}, {2 * time.Second, 3, 0, 0, 4 * time.Second}, {3 * time.Second, 2, 0, 0, 3 * time.Second}, {6 * time.Second, 0, 0, 5, 0}},
		"one after the other":       {{0, 11, 11, 0, 0}, {6 * time.Second, 1, 1, 0, 0}, {12 * time.Second, 1, 1, 0, 0}},
		"a quiet time":              {{0, 25, 10, 15, 0}, {time.Hour, 11, 11, 0, 0}},
		"a clock that was set back": {{time.Minute, 11, 11, 0, 0}, {0, 2, 0, 0, 6 * time.Second}, {6 * time.Second, 0, 0, 2, 0}},
		"nothing":                   {{0, 0, 0, 0, 0}, {time.Second, 0, 0, 0, 0}},
	} {
		var all Telling
		for _, s := range steps {
			named, more, again := all.Take(start.Add(s.at), s.n)
			if named != s.named || more != s.more || again != s.again {
				t.Errorf("%s, after %s: %d named, %d more, again after %s; want %+v", reason, s.at, named, more, again, s)
			}
		}
	}
}

// Each machine is reported once, by its name or in a number, and there are no more events than the bound.
func TestTellingReportsEachMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all Telling
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		start, machines, reported, events := now, 0, 0, 0
		take := func(n int) (again time.Duration) {
			named, more, again := all.Take(now, n)
			machines, reported, events = machines+n, reported+named+more, events+named
			if more > 0 {
				events++
			}
			return again
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond)
			take(rapid.IntRange(0, 30).Draw(t, "n"))
			if most := tellBurst + int(now.Sub(start)/tellEvery); events > most {
				t.Fatalf("%d events after %s, at most %d", events, now.Sub(start), most)
			}
		}
		if again := take(0); again > 0 {
			if now = now.Add(again); take(0) > 0 {
				t.Fatalf("%d of %d machines are reported after the time to wait", reported, machines)
			}
		}
		if reported != machines {
			t.Fatalf("%d of %d machines are reported", reported, machines)
		}
	})
}
