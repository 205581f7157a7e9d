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
