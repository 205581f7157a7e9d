package replicas

import (
	"testing"
	"time"
)

func TestStatusPause(t *testing.T) {
	for _, c := range []struct {
		reason   string
		machines int
		want     time.Duration
	}{
		{"few machines: their events are gathered", 0, 400 * time.Millisecond},
		{"the least pause still suffices", 133, 400 * time.Millisecond},
		{"it follows their number", 500, 1500 * time.Millisecond},
		{"people wait for the last counters", 5000, 3 * time.Second},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := StatusPause(c.machines); got != c.want {
				t.Errorf("%s: %s", c.reason, got)
			}
		})
	}
}

func TestRest(t *testing.T) {
	for _, c := range []struct {
		reason   string
		machines int
		acted    bool
		want     time.Duration
	}{
		{"a small set acts at once", 200, false, 0},
		{"a pass over a thousand takes 10 ms, garbage included", 1000, false, 200 * time.Millisecond},
		{"ten thousand", 10_000, false, 2 * time.Second},
		{"people wait for no more than two seconds", 100_000, false, 2 * time.Second},
		{"a thousand, which are being created", 1000, true, 50 * time.Millisecond},
		{"ten thousand, which are being created", 10_000, true, 500 * time.Millisecond},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := Rest(c.machines, c.acted); got != c.want {
				t.Errorf("%s: %s, want %s", c.reason, got, c.want)
			}
		})
	}
}
