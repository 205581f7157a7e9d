package run

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// TestLeadingIsShown: a standby reports that it stands by, and no process reports that it leads when another
// one may.
func TestLeadingIsShown(t *testing.T) {
	clk := testclock.NewFakeClock(epoch)
	all := NewTerms()
	registry := prometheus.NewRegistry()
	registry.MustRegister(all)
	elected := all.of("elected", func() *leading.Term { return leading.NewTerm(15*time.Second, 10*time.Second, clk) })
	all.of("alone", func() *leading.Term { return leading.NewTerm(0, 0, clk) })
	if again := all.of("elected", func() *leading.Term { return nil }); again != elected {
		t.Error("a lease has two terms")
	}
	for _, step := range []struct {
		reason string
		do     func()
		want   float64
	}{
		{"nobody has elected it", func() {}, 0},
		{"it is elected", func() { elected.Renewed(clk.Now()) }, 1},
		{"the lease is not renewed in time", func() { clk.Step(11 * time.Second) }, 0},
		{"it is renewed after all", func() { elected.Renewed(clk.Now()) }, 1},
		{"it is given up", elected.Ended, 0},
	} {
		step.do()
		want := map[string]float64{"alone": 1, "elected": step.want}
		if got := leads(t, registry); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", step.reason, got, want)
		}
	}
}

// leads is what millwright_leading says, by lease.
func leads(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "millwright_leading" {
				out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}
