package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// The latency is the time from the answer to the deletion until the finalizer is removed,
// whatever writes to the machine come in between.
func TestLeaving(t *testing.T) {
	writes := []write{
		done(100, fleet.Sets, "delete", "machines", "a"),
		done(110, agent, "delete", "machines", "raw"),
		done(120, fleet.Machines, "patch", "machines", "a"),
		done(130, fleet.Machines, "patch", "machines/status", "a"),
		refused(done(900, fleet.Machines, "patch", "machines", "a"), 409),
		done(140, fleet.Machines, "patch", "machines", "a"),
		done(117, agent, "patch", "machines", "raw"),
	}
	if diff := cmp.Diff(&Latency{P50: 0.04, P99: 0.04}, leaving(writes, fleet.Sets, fleet.Machines)); diff != "" {
		t.Errorf("the controllers' (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Latency{P50: 0.007, P99: 0.007}, leaving(writes, agent, agent)); diff != "" {
		t.Errorf("the raw client's (-want +got):\n%s", diff)
	}
	if got := leaving(nil, agent, agent); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	if got := downFrom(3); !slices.Equal(got, []int{2, 1, 0}) {
		t.Errorf("one after another: %v", got)
	}
}

func TestAloneIsPrintedWithItsCeiling(t *testing.T) {
	for p99, exceeded := range map[float64]bool{0.9: false, 1.1: true} {
		m := Measured{Subject: Subject{Phase: remove, Machines: 10}, Alone: &Alone{Latency: Latency{P50: 0.01, P99: p99 + 0.0001}, Ceiling: Latency{P50: 0.004, P99: 0.005}}}
		m.round()
		var out strings.Builder
		if err := (&Report{Runs: []Measured{m}}).Print(&out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "EXCEEDED"); got != exceeded {
			t.Errorf("p99 of %v s: exceeded %v\n%s", p99, got, out.String())
		}
		for _, want := range []string{"deletion of one machine alone, p99, seconds", "<= 1.000", "the same of the raw ceiling, p99, seconds", "0.005"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not printed:\n%s", want, out.String())
			}
		}
	}
}
