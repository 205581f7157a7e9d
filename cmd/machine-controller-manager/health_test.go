package main

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/sight"
)

func TestBlind(t *testing.T) {
	begin := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	policy := sight.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	watched := func(from, to int, target sight.Answer) (out []sight.Round) {
		for s := from; s <= to; s += 6 {
			out = append(out, sight.Round{At: at(s), Answers: map[sight.Cluster]sight.Answer{sight.Control: sight.Seen, sight.Target: target}})
		}
		return out
	}
	for _, c := range []struct {
		reason string
		rounds [][]sight.Round
		now    int
		blind  bool
	}{
		{"nothing was seen yet", nil, 6, true},
		{"seen since a moment ago", [][]sight.Round{watched(0, 30, sight.Seen)}, 30, true},
		{"seen for long enough", [][]sight.Round{watched(0, 72, sight.Seen)}, 72, false},
		{"one look was denied", [][]sight.Round{watched(0, 72, sight.Seen), watched(78, 78, sight.Denied)}, 78, true},
		{"silent", [][]sight.Round{watched(0, 72, sight.Seen), watched(78, 120, sight.Down)}, 120, true},
		{"back since a moment ago", [][]sight.Round{watched(0, 72, sight.Seen), watched(78, 120, sight.Down), watched(126, 150, sight.Seen)}, 150, true},
		{"back for long enough", [][]sight.Round{watched(0, 72, sight.Seen), watched(78, 120, sight.Down), watched(126, 192, sight.Seen)}, 192, false},
	} {
		s := sight.Begin(begin, policy, sight.Control, sight.Target)
		for _, list := range c.rounds {
			for _, r := range list {
				s = s.After(r)
			}
		}
		if why := blind(s, at(c.now)); (why != "") != c.blind {
			t.Errorf("%s: %q", c.reason, why)
		}
	}
	if why := blind(sight.State{}, begin); why != "" {
		t.Errorf("somebody who never looks sees: %q", why)
	}
}
