package machine

import (
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// TestShared: what was found out about a large fleet answers for others for a while, about a small one it hardly does, and a failure does not.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		reason   string
		machines int
		after    time.Duration
		err      error
		want     int
	}{
		{"a small fleet", 10, 2 * time.Millisecond, nil, 2},
		{"a large fleet, at once", 10_000, time.Second, nil, 1},
		{"a large fleet, later", 10_000, sharedMost, nil, 2},
		{"nothing lasts longer than that", 1_000_000, sharedMost, nil, 2},
		{"a clock that was set back", 10_000, -time.Hour, nil, 2},
		{"a failure", 10_000, 0, errors.New("no"), 2},
	} {
		clock := testingclock.NewFakePassiveClock(time.Unix(1_000_000, 0))
		var s shared[int]
		looks := 0
		look := func() (int, int, error) { looks++; return looks, c.machines, c.err }
		_, first := s.get(clock, "scope", look)
		clock.SetTime(clock.Now().Add(c.after))
		got, second := s.get(clock, "scope", look)
		if looks != c.want || got != looks || !errors.Is(first, c.err) || !errors.Is(second, c.err) {
			t.Errorf("%s: looked %d times, want %d; %v, %v", c.reason, looks, c.want, first, second)
		}
		if other, err := s.get(clock, "another", look); c.err == nil && (other != looks || err != nil) {
			t.Errorf("%s: another scope was answered %d, %v", c.reason, other, err)
		}
	}
}
