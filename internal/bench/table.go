package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Budgets of a machine fleet.
const (
	ratioBudget        = 1.25
	writesBudget       = 5.0  // machines and nodes, per machine
	setWritesBudget    = 0.1  // sets, per machine, at 1000
	eventsBudget       = 2.0  // per machine
	cloudCallP50Budget = 0.05 // seconds
	cloudCallP99Budget = 0.5
	runningP99Budget   = 1.0
	memoryBudget       = 30 << 10 // bytes per machine
)

// figure is a measure beside its budget; a budget below zero is none.
type figure struct {
	name          string
	value, budget float64
	format        string
}

func (f figure) over() bool { return f.budget >= 0 && f.value > f.budget }

func (f figure) row() string {
	budget, mark := "-", ""
	if f.budget >= 0 {
		budget = "<= " + fmt.Sprintf(f.format, f.budget)
	}
	if f.over() {
		mark = "EXCEEDED"
	}
	return fmt.Sprintf("  %s\t"+f.format+"\t%s\t%s", f.name, f.value, budget, mark)
}

// Print writes the report for people: each figure with its budget, and a mark
// where that is exceeded.
func (r *Report) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, m := range r.Runs {
		fmt.Fprintf(tw, "%s: %s %d machines\tmeasured\tbudget\t\n", m.API, m.Phase, m.Machines)
		for _, f := range m.figures() {
			fmt.Fprintln(tw, f.row())
		}
		fmt.Fprintf(tw, "  writes per machine: %s\n", list(m.WritesPerMachine))
		if len(m.OtherWritesPerMachine) > 0 {
			fmt.Fprintf(tw, "  besides: %s\n", list(m.OtherWritesPerMachine))
		}
		fmt.Fprintln(tw)
	}
	fmt.Fprintln(tw, figure{"API writes per minute at rest", float64(r.WritesAtRest), 0, "%.0f"}.row())
	return tw.Flush()
}

func (m *Measured) figures() []figure {
	out := []figure{
		{"seconds", m.Seconds, -1, "%.2f"},
		{"seconds of the raw ceiling", m.CeilingSeconds, -1, "%.2f"},
	}
	if m.JoiningCeilingSeconds > 0 {
		out = append(out, figure{"seconds of the raw ceiling with nodes joining", m.JoiningCeilingSeconds, -1, "%.2f"})
	}
	out = append(out,
		figure{"ratio to the raw ceiling", m.Ratio, ratioBudget, "%.2f"},
		figure{"API writes per machine", sum(m.WritesPerMachine, "machines", "machines/status", "nodes", "nodes/status"), writesBudget, "%.2f"},
		figure{"writes of sets per machine", sum(m.WritesPerMachine, "machinesets", "machinesets/status"), setWritesBudget, "%.3f"},
		figure{"events per machine", sum(m.OtherWritesPerMachine, "events"), eventsBudget, "%.2f"},
	)
	out = append(out, m.latencies()...)
	return append(out,
		figure{"CPU seconds of the controllers", m.CPUSeconds, -1, "%.2f"},
		figure{"peak memory of the controllers, MiB", float64(m.PeakRSSBytes) / (1 << 20), -1, "%.0f"},
		figure{"memory per machine above the start, KiB", float64(m.BytesPerMachine) / (1 << 10), memoryBudget >> 10, "%.0f"},
	)
}

func (m *Measured) latencies() (out []figure) {
	if l := m.AddedLatency; l != nil && m.Phase == create {
		out = append(out,
			figure{"machine written to cloud call, p50, seconds", l.P50, cloudCallP50Budget, "%.3f"},
			figure{"machine written to cloud call, p99, seconds", l.P99, cloudCallP99Budget, "%.3f"})
	}
	if l := m.AddedLatency; l != nil && m.Phase == remove {
		out = append(out,
			figure{"deletion asked for to machine gone, p50, seconds", l.P50, -1, "%.3f"},
			figure{"deletion asked for to machine gone, p99, seconds", l.P99, -1, "%.3f"})
	}
	if l := m.RunningLatency; l != nil {
		out = append(out,
			figure{"node Ready to machine Running, p50, seconds", l.P50, -1, "%.3f"},
			figure{"node Ready to machine Running, p99, seconds", l.P99, runningP99Budget, "%.3f"})
	}
	return out
}

// sum adds up the writes of some resources, whatever the verb.
func sum(writes map[string]float64, resources ...string) (total float64) {
	for what, n := range writes {
		_, resource, _ := strings.Cut(what, " ")
		if slices.Contains(resources, resource) {
			total += n
		}
	}
	return total
}

func list(writes map[string]float64) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(writes)) {
		parts = append(parts, fmt.Sprintf("%s %.3g", what, writes[what]))
	}
	return strings.Join(parts, ", ")
}
