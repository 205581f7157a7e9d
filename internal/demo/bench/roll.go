package bench

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// lateEvents is the time after which the last event about a rollout has been written.
const lateEvents = 6 * time.Second

// prepareRoll creates the deployments, without machines.
func (s *session) prepareRoll(ctx context.Context) error {
	return s.plane.createFor(ctx, s.shape.Roll.Prepare, setNames(s.Sets))
}

// measureRoll measures how a deployment replaces all its machines after a
// change of its template.
func (s *session) measureRoll(ctx context.Context, report *Report) error {
	if err := s.prepareRoll(ctx); err != nil {
		return err
	}
	bounds, err := s.waveCeilings(ctx)
	if err != nil {
		return err
	}
	if err := populate(ctx, s, s.shape.deployments(s.machines), s.rolledOut()); err != nil {
		return err
	}
	rolled, err := s.rollingPhase(ctx, bounds)
	if err != nil {
		return err
	}
	report.add(rolled, s.Log)
	// Events about the sizes of sets are aggregated, and are written this much later.
	if err := pause(ctx, lateEvents); err != nil {
		return err
	}
	return s.restIfAsked(ctx, report)
}

// rollingPhase is a phase that also checks the bounds on machines.
func (s *session) rollingPhase(ctx context.Context, bounds ceilings) (Measured, error) {
	recording, err := s.record(ctx)
	if err != nil {
		return Measured{}, err
	}
	m, err := s.phase(ctx, task{roll, s.changeTemplates, s.rolledOut()}, bounds)
	lives, problem := recording.stop()
	if err != nil {
		return m, err
	}
	if problem != nil {
		return m, problem
	}
	for _, p := range s.shape.deployments(s.machines) {
		m.Roll.MostAllowed += p.machines + surgeOf(p.machines)
	}
	m.Roll.LeastAllowed = s.machines
	m.Roll.Most, m.Roll.Least = extremes(lives)
	m.Roll.Excess, m.Roll.Missing = beyond(lives, s.shape.deployments(s.machines))
	return m, nil
}

func (s *session) changeTemplates(ctx context.Context) error {
	client := s.client(ctx)
	return eachPool(s.shape.deployments(s.machines), func(p pool) error { return client.patch(p.path, s.shape.Roll.Change) })
}

// standing is the progress in the deployment's status.
type standing struct {
	Metadata struct{ Generation int64 }
	Status   struct {
		ObservedGeneration int64

		Replicas, UpdatedReplicas, AvailableReplicas int
	}
}

func (d standing) complete(machines int) bool {
	s := d.Status
	return s.ObservedGeneration == d.Metadata.Generation &&
		s.Replicas == machines && s.UpdatedReplicas == machines && s.AvailableReplicas == machines
}

func (s *session) rolledOut() func(context.Context) (bool, error) {
	return settled(s.shape.deployments(s.machines), s.plane.rolled, s.everyoneReady)
}

// judgeRoll fills in the results of a rolling update from the audit log. The update is
// done when the last machine is replaced and the deployment reports it.
func judgeRoll(m *Measured, bounds ceilings, w window) (end time.Time) {
	for _, kind := range []string{"patch machines", "patch machines/status", "delete nodes"} {
		end = latest(end, lastOf(w.until(), fleet.Machines, kind))
	}
	told := latest(end, lastOf(w.until(), fleet.Sets, "patch machinedeployments/status"))
	m.CeilingSeconds, m.JoiningCeilingSeconds = bounds.waves.Seconds(), bounds.wavesJoining.Seconds()
	m.Roll = &Rolled{ToldSeconds: told.Sub(end).Seconds()}
	m.RunningLatency = runningLatency(w)
	return told
}
