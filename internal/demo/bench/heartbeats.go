package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Heartbeats is the cost of nodes' heartbeats for the controllers while a health
// check selects all machines, and without one. Stretches with and without a check
// alternate, so that other load affects both.
type Heartbeats struct {
	API string `json:"api"`
	// Machines have one node each, whose status is updated every ten seconds.
	Machines int     `json:"machines"`
	With     Stretch `json:"with"`
	Without  Stretch `json:"without"`
	// Cost is by how many percentage points the check raises the share of a core that
	// machine-controller-manager uses. Each stretch with a check is compared to the
	// stretch before.
	Cost Spread `json:"cost"`
	// Missing are the heartbeats that were due and did not happen, in percent.
	Missing float64 `json:"missing"`
}

// Stretch is a time with heartbeats, or several such times together.
type Stretch struct {
	Seconds float64 `json:"seconds"`
	// CPUSeconds are the seconds of machine-controller-manager, including the watch
	// of nodes that all its controllers share. MachinesCPUSeconds are the seconds of
	// machine-controller-kubemark, which has no health checks.
	CPUSeconds         float64 `json:"cpuSeconds"`
	MachinesCPUSeconds float64 `json:"machinesCPUSeconds"`
	// PeakRSSBytes is the peak memory of machine-controller-manager.
	PeakRSSBytes int64 `json:"peakRSSBytes"`
	// Heartbeats are the status updates of nodes that the API server stored, Wanted is
	// the number of heartbeats that were due, Renewals are the renewed leases.
	Heartbeats int `json:"heartbeats"`
	Wanted     int `json:"wanted"`
	Renewals   int `json:"renewals"`
	// Passes are the passes over MachineHealthChecks.
	Passes int `json:"passes"`
	// Writes are the controllers' writes by program, verb and resource, including
	// refused ones, without leases.
	Writes map[string]int `json:"writes"`
}

// Spread is the median, least and most of several comparisons within one run.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// spreadOf is the spread of values: an odd number of them.
func spreadOf(values []float64) Spread {
	return Spread{Median: rounded(quantiles(slices.Clone(values)).P50), Least: rounded(slices.Min(values)), Most: rounded(slices.Max(values))}
}

// turns is the number of stretches of each kind: an odd number, so that the median is
// one of them.
const turns = 3

// measureHeartbeats measures while all machines run.
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

// populate starts the controllers, scales the pools, and waits until the pools are complete and nothing writes any more.
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

// takeTurns measures without and with a check in turn, after each node has sent its
// first heartbeat.
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
// healthy, and no controller has work. This needs at least one pass: if none is counted,
// later passes would not be counted either.
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
		return errors.New("the metrics count no pass over a health check that was created and reconciled")
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

// compareHeartbeats adds up the stretches, and compares each stretch with a check to
// the stretch without one before it.
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
