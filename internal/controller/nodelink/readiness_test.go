package nodelink

import (
	"testing"
	"time"
)

func TestUnheard(t *testing.T) {
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	was := func(ready bool, stamped int) *sight { return &sight{ready, at(stamped)} }
	for _, c := range []struct {
		reason  string
		last    *sight
		now     sight
		changed time.Time
		want    bool
	}{
		{"step 5: the readiness is as it was", was(true, 0), sight{true, at(0)}, at(5), false},
		{"step 6: it became ready", was(false, 0), sight{true, at(0)}, at(5), true},
		{"step 6: it ceased to be", was(true, 0), sight{false, at(0)}, at(5), true},
		{"somebody else wrote since", was(false, 0), sight{true, at(6)}, at(5), false},
		{"somebody else wrote, but before", was(false, 0), sight{true, at(4)}, at(5), true},
		{"nobody can tell within a second", was(false, 0), sight{true, at(5)}, at(5), true},
		{"the node's clock is behind, so what it says counts for nothing", was(false, 3), sight{true, at(3)}, at(-3600), true},
		{"the node's clock is ahead: a write too many", was(false, 0), sight{true, at(6)}, at(3600), true},
		{"a new process, and all is told", nil, sight{true, at(6)}, at(5), false},
		{"a new process, within the second of the link", nil, sight{true, at(5)}, at(5).Add(time.Millisecond), false},
		{"a new process, and the change came while there was none", nil, sight{false, at(0)}, at(5), true},
		{"a node that says nothing of its readiness", nil, sight{false, at(0)}, time.Time{}, false},
		{"a machine that was linked by somebody who stamps nothing", nil, sight{true, time.Time{}}, at(5), true},
	} {
		if got := unheard(c.last, c.now, c.changed); got != c.want {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}
