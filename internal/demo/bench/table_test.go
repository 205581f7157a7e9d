package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFigureRow(t *testing.T) {
	cases := []struct {
		reason string
		figure figure
		want   string
	}{
		{"within its budget", figure{"f", 1.2, 1.25, "%.2f"}, "  f\t1.20\t<= 1.25\t"},
		{"at its budget", figure{"f", 0, 0, "%.0f"}, "  f\t0\t<= 0\t"},
		{"over its budget", figure{"f", 1.3, 1.25, "%.2f"}, "  f\t1.30\t<= 1.25\tEXCEEDED"},
		{"without a budget", figure{"f", 99, -1, "%.0f"}, "  f\t99\t-\t"},
	}
	for _, c := range cases {
		if got := c.figure.row(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestSumAndList(t *testing.T) {
	writes := map[string]float64{"patch machines": 2, "delete machines": 1, "patch machines/status": 4, "patch nodes (marks)": 8, "patch nodes": 16}
	for resource, want := range map[string]float64{"machines": 3, "machines/status": 4, "nodes": 16, "nodes" + marks: 8, "events": 0} {
		if got := sum(writes, resource); got != want {
			t.Errorf("writes of %s: %g, want %g", resource, got, want)
		}
	}
	const want = "delete machines 1, patch machines 2, patch machines/status 4, patch nodes 16, patch nodes (marks) 8"
	if got := list(writes); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// rolled is a rolling update within all bounds and budgets.
func rolled() Measured {
	return Measured{
		Subject: Subject{API: "machine.sapcloud.io", Phase: roll, Machines: 10}, Ratio: 1.2,
		WritesPerMachine:      map[string]float64{"create machines": 1, "patch machines/status": 2, "patch nodes": 2, "patch nodes (marks)": 3},
		OtherWritesPerMachine: map[string]float64{"create events": 4},
		Roll:                  &Rolled{Most: 11, MostAllowed: 11, Least: 10, LeastAllowed: 10},
	}
}

// exceeded are the names of the figures that the printed report marks.
func exceeded(t *testing.T, r *Report) (names string) {
	t.Helper()
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "EXCEEDED") {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
			names += name
		}
	}
	return names
}

func TestPrintMarksWhatIsExceeded(t *testing.T) {
	cases := []struct {
		reason   string
		change   func(*Measured)
		exceeded string
	}{
		{"all kept", func(*Measured) {}, ""},
		{"more machines than replicas and surge", func(m *Measured) { m.Roll.Most = 12 }, "most machines at a time"},
		{"more machines of one deployment than its own", func(m *Measured) { m.Roll.Excess = 1 }, "machines that one deployment had too many"},
		{"fewer available than must be", func(m *Measured) { m.Roll.Missing = 1 }, "machines that one deployment had too few available"},
		{"a tenth of a status write per machine", func(m *Measured) {
			m.WritesPerMachine["patch machinesets/status"], m.WritesPerMachine["patch machinedeployments/status"] = 0.08, 0.03
		}, "status writes of sets and deployments per machine"},
		{"one replaced is one created and one deleted", func(m *Measured) { m.WritesPerMachine["patch machines"] = 5.1 }, "API writes per machine replaced"},
		{"marks are no part of that", func(m *Measured) { m.WritesPerMachine["patch nodes (marks)"] = 9 }, ""},
		{"events", func(m *Measured) { m.OtherWritesPerMachine["patch events"] = 0.1 }, "events per machine replaced"},
		{"slower than the ceiling allows", func(m *Measured) { m.Ratio = 1.26 }, "ratio to the raw ceiling"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			m := rolled()
			c.change(&m)
			if got := exceeded(t, &Report{Runs: []Measured{m}}); got != c.exceeded {
				t.Errorf("exceeded: %q, want %q", got, c.exceeded)
			}
		})
	}
}

// TestRatioThatCounts: created machines are compared to the raw client whose nodes join, as
// their nodes do, all others to the plain raw client.
func TestRatioThatCounts(t *testing.T) {
	cases := []struct {
		phase        string
		raw, joining float64
		exceeded     string
	}{
		{create, 4, 1, ""},
		{create, 1, 1.1, "ratio to the raw ceiling with nodes joining"},
		{remove, 1.2, 0, "ratio to the raw ceiling"},
		{roll, 1.2, 4, ""},
	}
	for _, c := range cases {
		m := rolled()
		m.Phase, m.Seconds, m.CeilingSeconds, m.Ratio, m.JoiningRatio = c.phase, 10*c.raw, 10, 0, 0
		if c.phase != roll {
			m.Roll = nil
			m.WritesPerMachine, m.OtherWritesPerMachine = nil, nil
		}
		if c.joining > 0 {
			m.joined(ceilings{create: seconds(10*c.raw/c.joining - 1)})
			m.joined(ceilings{create: seconds(10*c.raw/c.joining + 1)})
		}
		m.compare()
		m.round()
		if got := exceeded(t, &Report{Runs: []Measured{m}}); got != c.exceeded {
			t.Errorf("%s, %.1f times raw and %.1f times with nodes joining: exceeded %q, want %q", c.phase, c.raw, c.joining, got, c.exceeded)
		}
		if ratio, _ := m.counts(); ratio != map[bool]float64{true: c.joining, false: c.raw}[c.phase == create] {
			t.Errorf("%s: the ratio %v counts", c.phase, ratio)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestPrintDecisions(t *testing.T) {
	report := &Report{Decisions: []Decision{{Question: "rollout", Machines: 5000, Seconds: &Latency{P50: 0.0012, P99: 0.0101}}}}
	var out strings.Builder
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"deciding about a rollout, 5000 machines, p50, ms 1.20 <= 10.00",
		"deciding about a rollout, 5000 machines, p99, ms 10.10 <= 10.00 EXCEEDED",
		"API writes per minute at rest 0 <= 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRoundedZeroHasNoSign(t *testing.T) {
	if math.Signbit(rounded(-0.0001)) {
		t.Error("a little less than nothing is printed as -0")
	}
}

func TestRound(t *testing.T) {
	m := Measured{Seconds: 1.23456, WritesPerMachine: map[string]float64{"a": 0.33333}, Latencies: Latencies{RunningLatency: &Latency{P50: 0.00049}}, Roll: &Rolled{ToldSeconds: 0.1236}}
	m.round()
	want := Measured{Seconds: 1.235, WritesPerMachine: map[string]float64{"a": 0.333}, Latencies: Latencies{RunningLatency: &Latency{}}, Roll: &Rolled{ToldSeconds: 0.124}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
