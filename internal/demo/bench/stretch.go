package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// reading is what the controllers had used up to a moment.
type reading struct {
	at             time.Time
	sets, machines usage
}

func (s *session) reading() (r reading, err error) {
	for _, c := range s.plane.Controllers {
		u, err := usageOf([]*fleet.Controller{c})
		if err != nil {
			return r, err
		}
		if c.Program == fleet.Sets {
			r.sets = u
		} else {
			r.machines = u
		}
	}
	r.at = time.Now()
	return r, nil
}

// counters are values that others count, from the beginning.
type counters struct{ passes, renewals int }

// counters reads them, which costs the controllers some CPU.
func (s *session) counters(ctx context.Context) (c counters, err error) {
	if err := s.plane.audit.read(); err != nil {
		return c, err
	}
	c.renewals = s.plane.audit.renewals
	c.passes, err = passes(ctx, s.metrics[fleet.Sets], healthChecks)
	return c, err
}

// stretch measures one stretch of the window.
func (s *session) stretch(ctx context.Context) (out Stretch, err error) {
	if err := resetPeak(s.plane.Controllers); err != nil {
		return out, err
	}
	before, err := s.counters(ctx)
	if err != nil {
		return out, err
	}
	from, err := s.reading()
	if err != nil {
		return out, err
	}
	if err := pause(ctx, s.Window/turns); err != nil {
		return out, err
	}
	to, err := s.reading()
	if err != nil {
		return out, errors.Join(s.alive(), err)
	}
	after, err := s.counters(ctx)
	if err != nil {
		return out, errors.Join(s.alive(), err)
	}
	out = used(from, to)
	out.Passes, out.Renewals = after.passes-before.passes, after.renewals-before.renewals
	out.Wanted = wanted(to.at.Sub(from.at), s.machines)
	writes := window{seen: to.at, writes: s.plane.audit.since(from.at)}.until()
	out.count(writes)
	for _, w := range writes {
		if ours(w) {
			s.logf("a write beside heartbeats: %s %s by %s, answered %d", w.what(), w.Name, w.Agent, w.Code)
		}
	}
	return out, nil
}

// used is what was used between two readings.
func used(from, to reading) Stretch {
	return Stretch{
		Seconds:    to.at.Sub(from.at).Seconds(),
		CPUSeconds: to.sets.cpuSeconds - from.sets.cpuSeconds, MachinesCPUSeconds: to.machines.cpuSeconds - from.machines.cpuSeconds,
		PeakRSSBytes: to.sets.peakRSS,
	}
}

// wanted is how many heartbeats of evenly spread nodes certainly fall into a
// duration.
func wanted(d time.Duration, machines int) int {
	return int(d / (period / time.Duration(machines)))
}

// count adds the writes of a stretch.
func (s *Stretch) count(writes []write) {
	s.Writes = map[string]int{}
	for _, w := range writes {
		if w.by(heart) && w.is("patch nodes/status") {
			s.Heartbeats++
		}
		if ours(w) {
			program, _, _ := strings.Cut(w.Agent, "/")
			s.Writes[program+": "+w.what()]++
		}
	}
}

// percent is the share of one core, in percent, that the seconds of CPU are.
func (s *Stretch) percent(cpuSeconds float64) float64 { return 100 * cpuSeconds / s.Seconds }

// together adds up stretches.
func together(all []Stretch) Stretch {
	sum := Stretch{Writes: map[string]int{}}
	for _, s := range all {
		sum.Seconds += s.Seconds
		sum.CPUSeconds += s.CPUSeconds
		sum.MachinesCPUSeconds += s.MachinesCPUSeconds
		sum.PeakRSSBytes = max(sum.PeakRSSBytes, s.PeakRSSBytes)
		sum.Heartbeats += s.Heartbeats
		sum.Wanted += s.Wanted
		sum.Renewals += s.Renewals
		sum.Passes += s.Passes
		for what, n := range s.Writes {
			sum.Writes[what] += n
		}
	}
	for _, f := range []*float64{&sum.Seconds, &sum.CPUSeconds, &sum.MachinesCPUSeconds} {
		*f = rounded(*f)
	}
	return sum
}

// healthChecks is the controller of MachineHealthChecks in metrics.
const healthChecks = "machinehealthcheck.machine.openshift.io"

// passes is how often a controller of the program has reconciled an object.
func passes(ctx context.Context, address, controller string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("read metrics: %s", answer.Status)
	}
	return readPasses(answer.Body, controller)
}

// readPasses adds up the passes that metrics in the text format report, whatever
// their result. The series exist from the start with the value 0: missing series
// are an error.
func readPasses(r io.Reader, controller string) (sum int, err error) {
	const series = "controller_runtime_reconcile_total"
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	found := false
	for _, m := range families[series].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "controller" && l.GetValue() == controller {
				sum, found = sum+int(m.GetCounter().GetValue()), true
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("the metrics have no passes of the controller %s", controller)
	}
	return sum, nil
}
