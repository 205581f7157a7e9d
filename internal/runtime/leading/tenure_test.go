package leading_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// TestTenure: requests of earlier processes have arrived soon after the tenure has begun: with its start, or
// else with its first use. If the clock is set back, this is not later than soon after that.
func TestTenure(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begins := map[string]func(*leading.Tenure){
		"with its start": func(n *leading.Tenure) {
			if err := n.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"with its first use": func(n *leading.Tenure) { n.Settled(start) },
	}
	for name, begin := range begins {
		n := leading.NewTenure(clocktesting.NewFakeClock(start), leading.Handover)
		begin(n)
		want := start.Add(leading.Handover)
		for _, later := range []time.Duration{0, time.Second, time.Hour} {
			if got := n.Settled(start.Add(later)); !got.Equal(want) {
				t.Errorf("%s: %v, %v later: want %v", name, got, later, want)
			}
		}
		back := start.Add(-time.Hour)
		if got := n.Settled(back); !got.Equal(back.Add(leading.Handover)) {
			t.Errorf("%s: %v with the clock set back to %v", name, got, back)
		}
	}
	var none *leading.Tenure
	if got := none.Settled(start); !got.IsZero() {
		t.Errorf("without an earlier process: %v", got)
	}
}
