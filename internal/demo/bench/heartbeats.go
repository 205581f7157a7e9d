package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Heartbeats is what heartbeats of nodes cost the controllers while a health
// check selects all machines, and without one. Stretches of both
// take turns, so that other load affects both.
type Heartbeats struct {
	API string `json:"api"`
	// Machines have a node each, whose status is updated every ten seconds.
	Machines int     `json:"machines"`
	With     Stretch `json:"with"`
	Without  Stretch `json:"without"`
	// Cost is by how much the check raises the share of a core that
	// machine-controller-manager uses, in percentage points: each stretch with
	// it is compared to the one before.
	Cost Spread `json:"cost"`
	// Missing are the heartbeats that were to come and did not, in percent.
	Missing float64 `json:"missing"`
}

// Stretch is a time of heartbeats, or several together.
type Stretch struct {
	Seconds float64 `json:"seconds"`
	// CPUSeconds are those of machine-controller-manager, the watch of nodes
	// included, which all its controllers share; MachinesCPUSeconds are those of
	// machine-controller-kubemark, which knows nothing of health checks.
	CPUSeconds         float64 `json:"cpuSeconds"`
	MachinesCPUSeconds float64 `json:"machinesCPUSeconds"`
	// PeakRSSBytes is the most memory that machine-controller-manager used.
	PeakRSSBytes int64 `json:"peakRSSBytes"`
	// Heartbeats are the status updates of nodes that the API server stored,
	// Wanted how many were to come, Renewals the renewed leases.
	Heartbeats int `json:"heartbeats"`
	Wanted     int `json:"wanted"`
	Renewals   int `json:"renewals"`
	// Passes are those over MachineHealthChecks.
	Passes int `json:"passes"`
	// Writes are the controllers', refused ones included, leases aside, by
	// program, verb and resource.
	Writes map[string]int `json:"writes"`
}

// Spread is what several comparisons within one run came to.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// spreadOf is that of values, at least one and an odd number of them.
func spreadOf(values []float64) Spread {
	return Spread{Median: rounded(quantiles(slices.Clone(values)).P50), Least: rounded(slices.Min(values)), Most: rounded(slices.Max(values))}
}

// turns is how many stretches of each kind there are: an odd number, so that
// one of them is the median.
const turns = 3

// measureHeartbeats measures with all machines running.
func (s *session) measureHeartbeats(ctx context.Context, report *Report) error {
	if err := populate(ctx, s, s.shape.sets(s.machines), s.allRunning()); err != nil {
		return err
	}
	stop, err := s.beat(ctx)
	if err != nil {
		return err
	}
	without, with, err := s.takeTurns(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	h := compareHeartbeats(without, with)
	h.API, h.Machines = s.shape.API, s.machines
	report.Heartbeats = append(report.Heartbeats, h)
	return nil
}

// populate starts the controllers, scales the pools, and waits until these are complete and nothing is written any more.
func populate(ctx context.Context, s *session, pools []pool, complete func(context.Context) (bool, error)) error {
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	s.logf("creating machines")
	if err := s.plane.scaleAll(ctx, pools); err != nil {
		return err
	}
	if err := s.await(ctx, complete); err != nil {
		return fmt.Errorf("create machines: %w", err)
	}
	return s.quiet(ctx)
}

// takeTurns measures without a check and with one in turns, after each heart
// has beaten once.
func (s *session) takeTurns(ctx context.Context) (without, with []Stretch, err error) {
	if err := pause(ctx, period); err != nil {
		return nil, nil, err
	}
	for range turns {
		s.logf("heartbeats without a health check")
		one, err := s.stretch(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := s.check(ctx, s.shape.Check); err != nil {
			return nil, nil, err
		}
		s.logf("heartbeats with a health check")
		other, err := s.stretch(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := s.uncheck(ctx); err != nil {
			return nil, nil, err
		}
		without, with = append(without, one), append(with, other)
	}
	return without, with, nil
}

// check creates a health check and waits until it covers all machines, which are
// healthy, and no controller has work. That takes a pass: if none is counted,
// none would be counted later.
func (s *session) check(ctx context.Context, check []byte) error {
	before, err := s.counters(ctx)
	if err != nil {
		return err
	}
	if err := s.client(ctx).post(s.shape.checks(), check); err != nil {
		return fmt.Errorf("make a health check: %w", err)
	}
	if err := s.await(ctx, s.covered); err != nil {
		return fmt.Errorf("wait for the health check to cover all machines: %w", err)
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	after, err := s.counters(ctx)
	if err == nil && after.passes == before.passes {
		return errors.New("the metrics count no pass over a health check that was made and looked at")
	}
	return err
}

func (s *session) covered(ctx context.Context) (bool, error) {
	var c struct {
		Status struct{ ExpectedMachines, CurrentHealthy int }
	}
	err := s.plane.get(ctx, s.shape.check(), &c)
	return c.Status.ExpectedMachines == s.machines && c.Status.CurrentHealthy == s.machines, err
}

func (s *session) uncheck(ctx context.Context) error {
	if err := s.client(ctx).delete(s.shape.check()); err != nil {
		return fmt.Errorf("delete the health check: %w", err)
	}
	return s.quiet(ctx)
}

// compareHeartbeats sums up, and compares each stretch with a check to the one
// without before it.
func compareHeartbeats(without, with []Stretch) Heartbeats {
	h := Heartbeats{With: together(with), Without: together(without)}
	costs := make([]float64, len(with))
	for i := range with {
		costs[i] = with[i].percent(with[i].CPUSeconds) - without[i].percent(without[i].CPUSeconds)
	}
	h.Cost = spreadOf(costs)
	if seen, wanted := h.With.Heartbeats+h.Without.Heartbeats, h.With.Wanted+h.Without.Wanted; seen < wanted {
		h.Missing = rounded(100 * (1 - float64(seen)/float64(wanted)))
	}
	return h
}
