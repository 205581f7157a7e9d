package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// window has the events of a phase. Seen is the time at which its end was noticed.
type window struct {
	begin, seen time.Time
	writes      []write
}

// judge fills in the results from the audit log and the infrastructure.
func (s *session) judge(ctx context.Context, m *Measured, bounds ceilings, w window) error {
	m.WritesPerMachine, m.OtherWritesPerMachine = count(w.writes, m.affected())
	var end time.Time
	switch m.Phase {
	case create:
		calls, err := s.cloudCalls(ctx)
		if err != nil {
			return err
		}
		end = judgeCreate(m, bounds, w, calls)
	case remove:
		end = judgeRemove(m, bounds, w)
	case die:
		m.CeilingSeconds = bounds.remove.Seconds()
		end = latest(lastOf(w.until(), fleet.Machines, "patch machines/status"), lastOf(w.until(), "kwok", "patch nodes/status"))
	case roll:
		end = judgeRoll(m, bounds, w)
	}
	if end.IsZero() {
		return fmt.Errorf("%s: the audit log shows no end", m.Phase)
	}
	m.Seconds = end.Sub(w.begin).Seconds()
	m.compare()
	m.round()
	return nil
}

func judgeCreate(m *Measured, bounds ceilings, w window, calls map[string]time.Time) (end time.Time) {
	m.CeilingSeconds = bounds.create.Seconds()
	m.joined(ceilings{create: bounds.joining, cloud: bounds.cloud})
	m.CloudLatency = sinceScaled(w.begin, calls)
	m.AddedLatency = quantiles(between(answered(w.writes, fleet.Sets, "create machines"), calls))
	m.RunningLatency = runningLatency(w)
	return latest(lastOf(w.until(), fleet.Machines, "patch machines/status"), lastOf(w.until(), "kwok", "patch nodes/status"))
}

func judgeRemove(m *Measured, bounds ceilings, w window) (end time.Time) {
	m.CeilingSeconds = bounds.remove.Seconds()
	gone := lastByName(w.writes, fleet.Machines, "patch machines")
	m.AddedLatency = quantiles(between(answered(w.writes, fleet.Sets, "delete machines"), gone))
	return latest(lastOf(w.until(), fleet.Machines, "patch machines"), lastOf(w.until(), fleet.Machines, "delete nodes"))
}

// runningLatency is the latency of machines that were created in the window.
func runningLatency(w window) *Latency {
	came := answered(w.writes, fleet.Sets, "create machines")
	running := lastByName(w.until(), fleet.Machines, "patch machines/status")
	maps.DeleteFunc(running, func(name string, _ time.Time) bool { _, ok := came[name]; return !ok })
	return quantiles(between(answered(w.writes, "kwok", "patch nodes/status"), running))
}

// until are the writes of the window up to the time at which its end was noticed.
func (w window) until() []write {
	return slices.DeleteFunc(slices.Clone(w.writes), func(o write) bool { return o.Done.After(w.seen) })
}

// cloudCalls are the times at which the infrastructure accepted the instances,
// by machine.
func (s *session) cloudCalls(ctx context.Context) (map[string]time.Time, error) {
	p, err := kubemark.New(kubemark.Config{Dir: fleet.CloudDir(s.plane.Dir)})
	if err != nil {
		return nil, fmt.Errorf("look at the infrastructure: %w", err)
	}
	instances, err := p.Console().Instances(ctx, s.shape.Cluster)
	if err != nil {
		return nil, fmt.Errorf("look at the infrastructure: %w", err)
	}
	out := map[string]time.Time{}
	for _, i := range instances {
		out[i.Name] = i.Created
	}
	return out, nil
}

// ours are the controllers' writes.
func ours(w write) bool {
	return w.by(fleet.Sets) || w.by(fleet.Machines)
}

// besides are writes of our programs that do not count for the budget of machines
// and nodes: the simulator of an instance creates the instance's Node.
var besides = map[string]bool{
	"create nodes": true, "create events": true, "patch events": true, "create secrets": true, "delete secrets": true,
}

// marks separates a deployment's writes to nodes from the writes with which a machine
// takes or releases its node.
const marks = " (marks)"

// count counts the controllers' writes per machine: the writes that count for the budget,
// and the others, including refused ones.
func count(writes []write, machines int) (counted, other map[string]float64) {
	counted, other = map[string]float64{}, map[string]float64{}
	for _, w := range writes {
		switch {
		case !ours(w):
		case !w.ok():
			other[fmt.Sprintf("%s (%d)", w.what(), w.Code)]++
		case besides[w.what()]:
			other[w.what()]++
		case w.by(fleet.Sets) && w.Resource == "nodes":
			counted[w.what()+marks]++
		default:
			counted[w.what()]++
		}
	}
	for _, m := range []map[string]float64{counted, other} {
		for k := range m {
			m[k] /= float64(machines)
		}
	}
	return counted, other
}

// answered are the times of the first successful write of the kind, by object name.
func answered(writes []write, program, kind string) map[string]time.Time {
	out := map[string]time.Time{}
	for _, w := range writes {
		if _, ok := out[w.Name]; !ok && w.by(program) && w.is(kind) {
			out[w.Name] = w.Done
		}
	}
	return out
}

// lastByName are the times of the last successful write of the kind, by object name.
func lastByName(writes []write, program, kind string) map[string]time.Time {
	out := map[string]time.Time{}
	for _, w := range writes {
		if w.by(program) && w.is(kind) && w.Done.After(out[w.Name]) {
			out[w.Name] = w.Done
		}
	}
	return out
}

// lastOf is the time of the last successful write of the kind.
func lastOf(writes []write, program, kind string) time.Time {
	var out time.Time
	for _, at := range lastByName(writes, program, kind) {
		out = latest(out, at)
	}
	return out
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// between are the seconds from one time to the other, for all names that have both.
// They are 0 if the second event came before the first.
func between(from, to map[string]time.Time) []float64 {
	var out []float64
	for name, begin := range from {
		if end, ok := to[name]; ok {
			out = append(out, max(end.Sub(begin).Seconds(), 0))
		}
	}
	return out
}

// quantiles are by nearest rank; nil without values.
func quantiles(values []float64) *Latency {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	rank := func(q float64) float64 { return values[max(int(math.Ceil(q*float64(len(values))))-1, 0)] }
	return &Latency{P50: rank(0.5), P99: rank(0.99)}
}
