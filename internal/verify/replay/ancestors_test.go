package replay

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

// begins is when a rule begins its first replacement, and how many it has begun
// an hour later.
func begins(t *testing.T, r rule, troubles string) (first time.Duration, n int) {
	t.Helper()
	o := outage(t, "24h", troubles)
	w := newWorld(&o)
	for first = never; w.now < 3*time.Hour && (first == never || w.now < first+time.Hour); {
		w.step()
		if w.blind {
			r.dark(w)
		} else {
			r.look(w)
		}
		if n = len(w.removed); n > 0 && first == never {
			first = w.now
		}
	}
	return first, n
}

// The rules of the ancestors, as their specifications have them.
func TestAncestors(t *testing.T) {
	some := func() rule { return allAtOnce{limit(t, "40%")} }
	all := func() rule { return allAtOnce{health.Limit{}} }
	permits := func() rule { return newOneAtATime() }
	for _, c := range []struct {
		reason   string
		rule     func() rule
		troubles string
		first    time.Duration
		n        int
	}{
		{"4.3.7: after the timeout of the condition", all, "{kind: notready, at: 10m, first: 1}", 15*time.Minute + tick, 1},
		{"4.3.7: silence is seen later", all, "{kind: silent, at: 10m, first: 1}", 15*time.Minute + grace + tick, 1},
		{"4.3.6: a node that is gone at once", all, "{kind: gone, at: 10m, first: 1}", 10 * time.Minute, 1},
		{"4.2.9: all at once", all, "{kind: notready, at: 10m, first: 10}", 15*time.Minute + tick, 10},
		{"4.3.7: not when it is over before", all, "{kind: notready, at: 10m, for: 5m}", never, 0},
		{"4.3.4: and 10 minutes after its creation what does not join, again and again", all, "{kind: notready, at: 10m, first: 1}, {kind: barred, at: 10m}", 15*time.Minute + tick, 6},
		{"4.4: as many as may be", some, "{kind: notready, at: 10m, first: 4}", 15*time.Minute + tick, 4},
		{"4.4: one more", some, "{kind: notready, at: 10m, first: 5}", never, 0},
		{"2.4: Unknown, and after the timeout Failed", permits, "{kind: notready, at: 10m, first: 1}", 20*time.Minute + tick, 1},
		{"2.4: that has been Running meanwhile", permits, "{kind: notready, at: 10m, for: 2h, down: 9m, up: 1m, first: 1}", never, 0},
		{"2.1: a node that is gone at once, and all of them", permits, "{kind: gone, at: 10m, for: 1m}", 10 * time.Minute, 10},
		{"2.5: one at a time, until another is Running", permits, "{kind: notready, at: 10m, first: 10}", 20*time.Minute + tick, 10},
		{"2.5: and nobody joins: the next one after the creation timeout", permits, "{kind: notready, at: 10m, first: 10}, {kind: barred, at: 10m}", 20*time.Minute + tick, 3},
		{"2.4: those that do not join, without a permit", permits, "{kind: gone, at: 10m, for: 1m}, {kind: barred, at: 10m}", 10 * time.Minute, 30},
		{"5.3: timers begin anew when the API server is back", permits, "{kind: notready, at: 10m, first: 1}, {kind: blind, at: 15m, for: 5m}", 30*time.Minute + pause + tick, 1},
	} {
		first, n := begins(t, c.rule(), c.troubles)
		if first != c.first || n != c.n {
			t.Errorf("%s: the first after %s, %d within the hour; want %s and %d", c.reason, first, n, c.first, c.n)
		}
	}
}
