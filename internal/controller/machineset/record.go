package machineset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// refuse records the faults of the object and waits for a change by its author.
func (p *pass[S]) refuse(ctx context.Context) error {
	told := p.set.Faults[0].String()
	if p.told != told {
		t := p.lens.Traits().Events
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, t.Invalid, t.Action("Validate"), "%s", told)
		p.told = told
	}
	return p.write(ctx, dialect.SetOutcome{Now: p.now, Faults: p.set.Faults})
}

// record writes the status, if it changed. A pass that created or deleted machines leaves it to the next
// pass, which their events start.
func (p *pass[S]) record(ctx context.Context) error {
	if p.acted && p.failure == nil {
		if !p.set.Deleting {
			p.again(p.statusPause(len(p.members)))
		}
		return nil
	}
	tally := replicas.Count(p.now, p.members, p.policy)
	p.again(tally.Next)
	seen := p.observed == p.object.GetGeneration()
	if wait := p.recorded.Add(p.statusPause(len(p.members))).Sub(p.now); wait > 0 && p.failure == nil && seen {
		p.again(wait)
		return nil
	}
	return p.write(ctx, dialect.SetOutcome{
		Now: p.now, Tally: tally, Machines: p.machines, Judged: p.judged, Failure: p.failure, Withheld: p.held, Held: p.growth, Frozen: p.frozen,
	})
}

// statusPause is the least time between two writes of counters, by the number of machines.
func (p *pass[S]) statusPause(machines int) time.Duration {
	return replicas.StatusPause(machines, p.counted.Within(p.now, replicas.MostStatusPause))
}

func (p *pass[S]) write(ctx context.Context, o dialect.SetOutcome) error {
	after := p.object.DeepCopyObject().(S)
	p.lens.Record(after, o)
	if equality.Semantic.DeepEqual(p.object, after) {
		p.observed = p.object.GetGeneration()
		return nil
	}
	err := p.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(p.object, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	p.counted.Note(p.now)
	p.recorded, p.observed = p.now, p.object.GetGeneration()
	p.object = after
	return nil
}
