package kubemark

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestLimitersAreForgotten: limiters of deleted clusters are dropped, and a limiter in use is kept.
func TestLimitersAreForgotten(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p, err := New(Config{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		cluster := fmt.Sprint(n)
		if p.throttle(cluster, 1) != nil || p.throttle(cluster, 1) == nil || p.throttle("other", 5) == nil && p.throttle(cluster, 1) == nil {
			t.Fatalf("cluster %d: one call a second", n)
		}
		clk.Step(time.Second)
	}
	if n := len(p.limiters); n > 5 {
		t.Errorf("%d limits are remembered", n)
	}
}
