package sim

import (
	"testing"
	"time"
)

// TestClocksGiveBoth: readings of a process are compared by the monotonic clock and formatted by the wall clock.
func TestClocksGiveBoth(t *testing.T) {
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, time.Second} {
		first := reading(epoch, 0)
		second := reading(epoch.Add(time.Minute+by), time.Minute)
		if d := second.Sub(first); d != time.Minute {
			t.Errorf("set by %v: %v have passed, want 1m0s", by, d)
		}
		if d := second.Sub(epoch); d != time.Minute+by {
			t.Errorf("set by %v: by the wall clock %v have passed", by, d)
		}
		if d := second.Round(0).Sub(first); d != time.Minute+by {
			t.Errorf("set by %v: between what was written down and what is read %v have passed", by, d)
		}
	}
}
