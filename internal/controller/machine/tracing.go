package machine

import (
	"cmp"
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Tracer records what is done with machines, each by its UID. Its arguments are keys and values, as in
// logs.
type Tracer interface {
	// Born says that a controller has begun to manage a machine whose object was created then.
	Born(uid string, created time.Time, about ...any)
	// Pass begins a pass over a machine, and Step a part of the pass of ctx; over ends it. A pass in which
	// no step did anything is not recorded.
	Pass(ctx context.Context, uid string) (inner context.Context, over func(about ...any))
	Step(ctx context.Context, name string) (inner context.Context, over func(did bool, err error, about ...any))
	// Did says that something was done, or continued, from since until now.
	Did(uid, name string, from time.Time, err error, about ...any)
}

// traced is a pass that a tracer records.
type traced[M client.Object] struct{ *pass[M] }

// run makes the pass.
func (p traced[M]) run(ctx context.Context) (time.Duration, error) {
	if p.Tracer == nil {
		return p.pass.run(ctx)
	}
	ctx, over := p.Tracer.Pass(ctx, p.id())
	defer func() { over(p.about()...) }()
	return p.pass.run(ctx)
}

// id is the machine's UID.
func (k *passFacts[M]) id() string { return string(k.m.GetUID()) }

// about identifies the machine, as far as that is known now.
func (k *passFacts[M]) about() []any {
	return append(identity(k.m, k.Dialect.View(k.m)), "api", k.Dialect.API())
}

// perform performs one step.
func (p traced[M]) perform(ctx context.Context, d lifecycle.Decision) (bool, error) {
	if p.Tracer == nil {
		return p.pass.perform(ctx, d)
	}
	ctx, over := p.Tracer.Step(ctx, string(d.Step))
	did, err := p.pass.perform(ctx, d)
	over(did && p.moved(d), cmp.Or(err, p.failed(d)), "reason", d.Reason)
	if d.Step == lifecycle.AddFinalizer && err == nil {
		p.Tracer.Born(p.id(), p.view.Created, p.about()...)
	}
	return did, err
}

// failed is why a performed step had no effect.
func (p traced[M]) failed(d lifecycle.Decision) error {
	switch {
	case d.Step == lifecycle.Drain:
		return p.world.Drain.Err
	case p.world.Retry.Step == d.Step:
		return p.world.Retry.Err
	}
	return nil
}

// moved reports whether a performed step made a difference: a drain mostly checks whether pods have left.
func (p traced[M]) moved(d lifecycle.Decision) bool {
	var came *drain.Decision
	switch d.Step {
	case lifecycle.Drain:
		came = p.world.Drain.Result
	case lifecycle.DrainPreserved:
		came = p.world.Preserving.Drain
	default:
		return true
	}
	return came != nil && (came.Began || came.Done || len(came.Evict)+len(came.Delete)+len(came.Detach) > 0)
}

// stretches reports the parts of the machine's life that the pass completed.
func (t eventReporter[M]) stretches(out lifecycle.Outcome) {
	if t.Tracer == nil {
		return
	}
	about := t.about()
	if joins(t.was, out) {
		t.Tracer.Did(t.id(), "Until running", t.view.Created, nil, about...)
	}
	if made(t.was, out) {
		t.Tracer.Did(t.id(), "Until the instance runs", t.view.Created, nil, about...)
	}
	if t.view.Deleted.IsZero() {
		return
	}
	if d := out.World.Drain.Result; d != nil && d.Done && !t.mem.timed.drainTold && !t.mem.timed.drainSince.IsZero() {
		t.mem.timed.drainTold = true
		t.Tracer.Did(t.id(), "Drain in all", t.mem.timed.drainSince, nil, about...)
	}
	if out.Did(lifecycle.RemoveFinalizer) {
		t.Tracer.Did(t.id(), "Deletion", t.view.Deleted, nil, about...)
		t.Tracer.Did(t.id(), "Life", t.view.Created, nil, about...)
	}
}

// made reports whether the instance runs for the first time.
func made(was lifecycle.Machine, out lifecycle.Outcome) bool {
	switch was.Stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing:
		return (out.Stage == lifecycle.StageJoining || out.Stage == lifecycle.StageDetached || out.Stage == lifecycle.StageRunning) && was.Deleted.IsZero()
	}
	return false
}
