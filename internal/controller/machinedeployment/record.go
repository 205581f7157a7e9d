package machinedeployment

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// statusPause is the least time between two writes of the deployment's counters. Changes that users wait
// for (see [urgentStatus]) are written at once.
func (p *pass[D, S]) statusPause() time.Duration {
	return replicas.StatusPause(int(p.memory.machines.Load()), p.counted.Within(p.now, replicas.MostStatusPause))
}

// urgentStatus is a status without its counters.
type urgentStatus struct {
	generation       int64
	truth            rollout.Truth
	reason           rollout.Reason
	complete, enough bool
	failure          string
	collided         bool
	createError      string
}

func (p *pass[D, S]) urgentStatusNow() urgentStatus {
	s := p.plan.Status
	u := urgentStatus{
		generation: p.object.GetGeneration(),
		truth:      s.Progress.Status, reason: s.Progress.Reason,
		complete: s.Complete, enough: s.Enough, collided: p.collided,
	}
	if s.Failure != nil {
		u.failure = s.Failure.Reason + s.Failure.Message
	}
	if p.createErr != nil {
		u.createError = p.createErr.Error()
	}
	return u
}

// refuse records the faults of the object and waits for a change by its author.
func (p *pass[D, S]) refuse(ctx context.Context) error {
	p.tellFault()
	p.plan = rollout.Decide(p.now, p.facts, nil, p.policy)
	return p.write(ctx)
}

// record writes the status, if it changed. A pass that returned to an earlier template leaves that to the
// next pass, and one that released the deployment has nothing to record.
func (p *pass[D, S]) record(ctx context.Context) error {
	if p.plan.Finished() || p.plan.RollBack() != nil {
		p.again(conflictDelay)
		return nil
	}
	if wait := p.recorded.Add(p.statusPause()).Sub(p.now); wait > 0 && p.urgentStatus == p.urgentStatusNow() {
		p.again(wait)
		return nil
	}
	return p.write(ctx)
}

func (p *pass[D, S]) write(ctx context.Context) error {
	after := p.object.DeepCopyObject().(D)
	p.lens.Record(after, dialect.DeploymentOutcome[S]{
		Now: p.now, Deployment: p.facts, Plan: p.plan, Sets: p.sets, Collided: p.collided, CreateErr: p.createErr,
	})
	if !equality.Semantic.DeepEqual(p.object, after) {
		err := p.Client.Status().Patch(ctx, after, merge(p.object))
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("write status: %w", err)
		}
		p.counted.Note(p.now)
		p.recorded = p.now
		p.object = after
	}
	p.urgentStatus = p.urgentStatusNow()
	p.tellProgress()
	return nil
}
