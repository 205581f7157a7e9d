package bench

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// lateEvents is after how long the last event about a rollout has come.
const lateEvents = 6 * time.Second

// prepareRoll makes the deployment, without machines.
func (s *session) prepareRoll(ctx context.Context) error {
	for _, object := range s.shape.Roll.Prepare {
		if err := s.plane.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
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
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	s.logf("making machines to replace")
	if err := s.scale(ctx, s.shape.deployment(), s.machines); err != nil {
		return err
	}
	if err := s.await(ctx, s.rolledOut); err != nil {
		return fmt.Errorf("make machines to replace: %w", err)
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	rolled, err := s.rollingPhase(ctx, bounds)
	if err != nil {
		return err
	}
	report.add(rolled, s.Log)
	// Events about the sizes of sets are gathered, and come that much later.
	if err := pause(ctx, lateEvents); err != nil {
		return err
	}
	return s.restIfAsked(ctx, report)
}

// rollingPhase is a phase whose bounds on machines are looked after.
func (s *session) rollingPhase(ctx context.Context, bounds ceilings) (Measured, error) {
	recording, err := s.record(ctx)
	if err != nil {
		return Measured{}, err
	}
	m, err := s.phase(ctx, task{roll, s.changeTemplate, s.rolledOut}, bounds)
	lives, problem := recording.stop()
	if err != nil {
		return m, err
	}
	if problem != nil {
		return m, problem
	}
	m.Roll.MostAllowed, m.Roll.LeastAllowed = s.machines+surgeOf(s.machines), s.machines
	m.Roll.Most, m.Roll.Least = extremes(lives)
	return m, nil
}

func (s *session) changeTemplate(ctx context.Context) error {
	_, err := s.plane.raw.Patch(types.MergePatchType).AbsPath(s.shape.deployment()).Body([]byte(s.shape.Roll.Change)).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("change the template: %w", err)
	}
	return nil
}

// standing is how far the deployment's status says that it is.
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

// rolledOut asks the deployment first, because that is cheap.
func (s *session) rolledOut(ctx context.Context) (bool, error) {
	var d standing
	if err := s.plane.get(ctx, s.shape.deployment(), &d); err != nil || !d.complete(s.machines) {
		return false, err
	}
	return s.everyoneReady(ctx)
}

// judgeRoll fills in what the audit log tells of a rolling update. It is done
// when the last machine is, and the deployment says so.
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
