package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// The budgets of a fleet of machines.
const (
	// Multiples of the raw client's time. A roll also waits because its surge is a tenth.
	createRatioBudget = 1.05
	removeRatioBudget = 1.15
	rollRatioBudget   = 1.25
	writesBudget      = 5.0  // writes to machines and nodes per created or deleted machine; a replaced machine counts as both
	setWritesBudget   = 0.1  // writes to sets per machine, at 1000; of a rollout, the status writes
	eventsBudget      = 2.0  // per created or deleted machine
	decisionBudget    = 10.0 // milliseconds, for 5000 machines
	cloudRatioBudget  = 1.1  // of the time from the scale to the creation call
	runningP99Budget  = 3.0  // with a boot time, when nothing else competes, bootedP99Budget
	bootedP99Budget   = 1.0
	aloneP99Budget    = 1.0  // beyond the time of the infrastructure, which is almost 0 here
	createCPUBudget   = 12.0 // milliseconds per machine
	removeCPUBudget   = 6.0
	memoryBudget      = 30 << 10 // bytes per machine
	lossBudget        = 10.0     // percent of the throughput, lost by blocked drains
	heartbeatsBudget  = 5.0      // percent of a core, at 1000 nodes
	missingBudget     = 5.0      // percent of the heartbeats: if more are missing, the cost means little
	restCPUBudget     = 3.0      // percent of a core, at 10,000 machines
	restartBudget     = 20.0     // seconds, at 10,000 machines
	// restartWritesBudget is the writes of one replaced machine and some events.
	restartWritesBudget = 25.0
)

// figure is a measured value with its budget; a negative budget means no budget.
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

// Print writes the report for people: each figure with its budget, and a mark if the
// figure exceeds the budget.
func (r *Report) Print(w io.Writer) error {
	for _, c := range r.Clouds {
		c.print(w)
	}
	if len(r.Clouds) > 0 {
		return nil // such a run measures nothing else
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	r.printRuns(tw)
	for _, b := range r.Blocked {
		fmt.Fprintf(tw, "%s: create and delete %d machines, %d drains blocked\tmeasured\tbudget\t\n", b.API, b.Machines, b.Drains)
		for _, f := range b.figures() {
			fmt.Fprintln(tw, f.row())
		}
		fmt.Fprintln(tw)
	}
	for _, h := range r.Heartbeats {
		fmt.Fprintf(tw, "%s: heartbeats of %d nodes every %s\tmeasured\tbudget\t\n", h.API, h.Machines, period)
		for _, f := range h.figures() {
			fmt.Fprintln(tw, f.row())
		}
		if writes := total(h.With.Writes) + total(h.Without.Writes); writes > 0 {
			fmt.Fprintf(tw, "  writes with the check: %s; without: %s\n", list(h.With.Writes), list(h.Without.Writes))
		}
		fmt.Fprintln(tw)
	}
	for _, d := range r.Decisions {
		name := fmt.Sprintf("deciding about a %s, %d machines, ", d.Question, d.Machines)
		fmt.Fprintln(tw, figure{name + "p50, ms", 1000 * d.Seconds.P50, decisionBudget, "%.2f"}.row())
		fmt.Fprintln(tw, figure{name + "p99, ms", 1000 * d.Seconds.P99, decisionBudget, "%.2f"}.row())
	}
	if len(r.Blocked)+len(r.Heartbeats) > 0 {
		return tw.Flush() // such a run does not measure rest
	}
	fmt.Fprintln(tw, figure{"API writes per minute at rest", float64(r.WritesAtRest), 0, "%.0f"}.row())
	return tw.Flush()
}

func (m *Measured) figures() []figure {
	out := m.ratios()
	if m.Dead != nil {
		out = append(out,
			figure{"most machines on their way out at a time", float64(m.Dead.Leaving), -1, "%.0f"},
			figure{"most machines at a time", float64(m.Dead.Most), -1, "%.0f"})
	}
	if m.Roll != nil {
		out = append(out, m.rolling()...)
	} else {
		out = append(out,
			figure{"API writes per machine", sum(m.WritesPerMachine, machineKinds...), writesBudget, "%.2f"},
			figure{"writes of sets per machine", sum(m.WritesPerMachine, "machinesets", "machinesets/status"), setWritesBudget, "%.3f"},
			figure{"events per machine", sum(m.OtherWritesPerMachine, "events"), eventsBudget, "%.2f"},
		)
	}
	out = append(out, m.latencies()...)
	if m.Rest != nil {
		out = append(out, figure{"CPU of the controllers at rest, % of a core", m.Rest.Percent, restCPUBudget, "%.2f"})
	}
	if m.Rest != nil && m.Rest.Restarted != nil {
		r := m.Rest.Restarted
		out = append(out,
			figure{"restart until the next instance is asked for, seconds", r.Seconds, restartBudget, "%.2f"},
			figure{"API writes of a restart, and of one machine replaced", float64(r.Writes), restartWritesBudget, "%.0f"})
	}
	return append(out,
		figure{"CPU of the controllers per machine, ms", 1000 * m.CPUSeconds / float64(m.affected()), m.cpuBudget(), "%.1f"},
		figure{"peak memory of the controllers, MiB", float64(m.PeakRSSBytes) / (1 << 20), -1, "%.0f"},
		figure{"memory per machine above the start, KiB", float64(m.BytesPerMachine) / (1 << 10), memoryBudget >> 10, "%.0f"},
	)
}

// affected is the number of machines of the phase: all, or those whose nodes die.
func (m *Measured) affected() int {
	if m.Dead != nil {
		return m.Dead.Nodes
	}
	return m.Machines
}

// cpuBudget is the budget per machine, in milliseconds.
func (m *Measured) cpuBudget() float64 {
	switch m.Phase {
	case create:
		return createCPUBudget
	case remove:
		return removeCPUBudget
	}
	return -1
}

// ratios are the times in relation to the raw client. For created machines the ratio to
// the raw client whose nodes join counts, because the controllers' nodes join, too. The
// nodes of the plain raw client existed before.
func (m *Measured) ratios() []figure {
	out := []figure{{"seconds", m.Seconds, -1, "%.2f"}}
	raw, joining := removeRatioBudget, -1.0
	switch m.Phase {
	case create:
		raw, joining = -1.0, createRatioBudget
	case roll:
		raw = rollRatioBudget
	case die:
		raw = -1.0
	}
	if m.JoiningCeilingSeconds > 0 {
		out = append(out, figure{"seconds of the raw ceiling with nodes joining", m.JoiningCeilingSeconds, -1, "%.2f"})
	}
	for i, turn := range m.JoiningTurns {
		out = append(out, figure{fmt.Sprintf("  of turn %d", i+1), turn, -1, "%.2f"})
	}
	if m.JoiningCeilingSeconds > 0 {
		out = append(out, figure{"ratio to the raw ceiling with nodes joining", m.JoiningRatio, joining, "%.2f"})
	}
	return append(out,
		figure{"seconds of the raw ceiling", m.CeilingSeconds, -1, "%.2f"},
		figure{"ratio to the raw ceiling", m.Ratio, raw, "%.2f"})
}

func (b *Blocked) figures() []figure {
	return []figure{
		{"seconds with blocked drains, create", b.With.Create, -1, "%.2f"},
		{"seconds with blocked drains, delete", b.With.Delete, -1, "%.2f"},
		{"seconds without, create", b.Without.Create, -1, "%.2f"},
		{"seconds without, delete", b.Without.Delete, -1, "%.2f"},
		{"seconds of the raw ceiling, create", b.Ceiling.Create, -1, "%.2f"},
		{"seconds of the raw ceiling, delete", b.Ceiling.Delete, -1, "%.2f"},
		{"evictions refused meanwhile", float64(b.Refusals), -1, "%.0f"},
		{"ratio of with to without, median", b.Ratio.Median, -1, "%.2f"},
		{"throughput lost, median, %", b.Loss.Median, lossBudget, "%.1f"},
		{"throughput lost, least, %", b.Loss.Least, -1, "%.1f"},
		{"throughput lost, most, %", b.Loss.Most, -1, "%.1f"},
		{"difference between turns without, median, %", b.Noise, -1, "%.1f"},
	}
}

// figures compares the whole of machine-controller-manager to the budget of the
// health check: the watch of nodes is needed for the check, too.
func (h *Heartbeats) figures() []figure {
	with, without := &h.With, &h.Without
	seconds := with.Seconds + without.Seconds
	return []figure{
		{"seconds with the check, and about as many without", with.Seconds, -1, "%.0f"},
		{"heartbeats stored, per second", float64(with.Heartbeats+without.Heartbeats) / seconds, -1, "%.1f"},
		{"heartbeats missing, %", h.Missing, missingBudget, "%.1f"},
		{"leases renewed, per second", float64(with.Renewals+without.Renewals) / seconds, -1, "%.1f"},
		{"machine-controller-manager with the check, % of a core", with.percent(with.CPUSeconds), heartbeatsBudget, "%.2f"},
		{"machine-controller-manager without it, % of a core", without.percent(without.CPUSeconds), -1, "%.2f"},
		{"what the check costs, % of a core, median", h.Cost.Median, -1, "%.2f"},
		{"what the check costs, % of a core, least", h.Cost.Least, -1, "%.2f"},
		{"what the check costs, % of a core, most", h.Cost.Most, -1, "%.2f"},
		{"machine-controller-kubemark, % of a core", with.percent(with.MachinesCPUSeconds), -1, "%.2f"},
		{"passes over health checks", float64(with.Passes), -1, "%.0f"},
		{"API writes of the controllers with the check", float64(total(with.Writes)), 0, "%.0f"},
		{"API writes of the controllers without it", float64(total(without.Writes)), 0, "%.0f"},
		{"peak memory of machine-controller-manager with the check, MiB", float64(with.PeakRSSBytes) / (1 << 20), -1, "%.0f"},
		{"peak memory of machine-controller-manager without it, MiB", float64(without.PeakRSSBytes) / (1 << 20), -1, "%.0f"},
	}
}

func total(writes map[string]int) (sum int) {
	for _, n := range writes {
		sum += n
	}
	return sum
}

// machineKinds are the resources to which writes about a machine go.
var machineKinds = []string{"machines", "machines/status", "nodes", "nodes/status"}

// rolling are the figures of a rolling update. A replaced machine is one created and
// one deleted machine.
func (m *Measured) rolling() []figure {
	return []figure{
		{"seconds from the last machine until the deployment is complete", m.Roll.ToldSeconds, -1, "%.2f"},
		{"API writes per machine replaced", sum(m.WritesPerMachine, machineKinds...), 2 * writesBudget, "%.2f"},
		{"marks on nodes per machine replaced", sum(m.WritesPerMachine, "nodes"+marks), -1, "%.2f"},
		{"status writes of sets and deployments per machine", sum(m.WritesPerMachine, "machinesets/status", "machinedeployments/status"), setWritesBudget, "%.3f"},
		{"other writes of sets and deployments per machine", sum(m.WritesPerMachine, "machinesets", "machinedeployments"), -1, "%.3f"},
		{"events per machine replaced", sum(m.OtherWritesPerMachine, "events"), 2 * eventsBudget, "%.2f"},
		{"most machines at a time", float64(m.Roll.Most), float64(m.Roll.MostAllowed), "%.0f"},
		{"fewest machines available", float64(m.Roll.Least), -1, "%.0f"},
		{"machines that one deployment had too many", float64(m.Roll.Excess), 0, "%.0f"},
		{"machines that one deployment had too few available", float64(m.Roll.Missing), 0, "%.0f"},
	}
}

func (m *Measured) latencies() (out []figure) {
	if l, raw := m.CloudLatency, m.CloudCeiling; l != nil && raw != nil {
		out = append(out,
			figure{"scale to cloud call, p50, seconds", l.P50, -1, "%.2f"},
			figure{"the same of the raw ceiling, p50, seconds", raw.P50, -1, "%.2f"},
			figure{"scale to cloud call, p99, seconds", l.P99, -1, "%.2f"},
			figure{"the same of the raw ceiling, p99, seconds", raw.P99, -1, "%.2f"},
			figure{"ratio of scale to cloud call, p50", l.P50 / raw.P50, cloudRatioBudget, "%.2f"},
			figure{"ratio of scale to cloud call, p99", l.P99 / raw.P99, cloudRatioBudget, "%.2f"})
	}
	if l := m.AddedLatency; l != nil && m.Phase == create {
		out = append(out,
			figure{"machine written to cloud call, p50, seconds", l.P50, -1, "%.3f"},
			figure{"machine written to cloud call, p99, seconds", l.P99, -1, "%.3f"})
	}
	if l := m.AddedLatency; l != nil && m.Phase == remove {
		out = append(out,
			figure{"deletion asked for to machine gone, p50, seconds", l.P50, -1, "%.3f"},
			figure{"deletion asked for to machine gone, p99, seconds", l.P99, -1, "%.3f"})
	}
	if a := m.Alone; a != nil {
		out = append(out,
			figure{"deletion of one machine alone, p50, seconds", a.Latency.P50, -1, "%.3f"},
			figure{"deletion of one machine alone, p99, seconds", a.Latency.P99, aloneP99Budget, "%.3f"},
			figure{"the same of the raw ceiling, p50, seconds", a.Ceiling.P50, -1, "%.3f"},
			figure{"the same of the raw ceiling, p99, seconds", a.Ceiling.P99, -1, "%.3f"})
	}
	if l := m.RunningLatency; l != nil {
		out = append(out,
			figure{"node Ready to machine Running, p50, seconds", l.P50, -1, "%.3f"},
			figure{"node Ready to machine Running, p99, seconds", l.P99, m.runningBudget(), "%.3f"})
	}
	return out
}

func (m *Measured) runningBudget() float64 {
	if m.BootTime != "" {
		return bootedP99Budget
	}
	return runningP99Budget
}

// sum adds up the writes to some resources, for all verbs.
func sum(writes map[string]float64, resources ...string) (total float64) {
	for what, n := range writes {
		_, resource, _ := strings.Cut(what, " ")
		if slices.Contains(resources, resource) {
			total += n
		}
	}
	return total
}

func list[N int | float64](writes map[string]N) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(writes)) {
		parts = append(parts, fmt.Sprintf("%s %.5g", what, float64(writes[what])))
	}
	return strings.Join(parts, ", ")
}
