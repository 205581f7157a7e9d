package machineset

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// pass is one pass over one set.
type pass[S client.Object] struct {
	*scope[S]
	*observation[S]

	// frozen says why the set creates no machines, thawed that this pass may create some.
	frozen string
	thawed bool
	// judged, acted, failure, held and growth are the outcome of scaling.
	judged  bool
	acted   bool
	failure *dialect.SetFailure
	held    string
	growth  string
}

func (p *pass[S]) run(ctx context.Context) error {
	switch {
	case p.set.Deleting && p.lens.Traits().Finalizer == "":
		return nil
	case p.set.Paused != "" && !p.set.Deleting:
		return nil
	case len(p.set.Faults) > 0 && !p.set.Deleting:
		return p.refuse(ctx)
	}
	p.told = ""
	p.doubt()
	others := otherSets[S]{p.scope}
	if err := others.tellOverlaps(ctx); err != nil {
		return err
	}
	if err := p.hold(ctx); err != nil {
		return err
	}
	if err := p.observe(ctx); err != nil {
		return err
	}
	err := p.settle(ctx)
	if err == nil {
		err = p.scale(ctx)
	}
	p.tellPending()
	return errors.Join(err, p.record(ctx))
}

// scale decides and acts.
func (p *pass[S]) scale(ctx context.Context) error {
	d, ok, err := p.decide(ctx)
	if err != nil || !ok {
		return err
	}
	p.judged = true
	p.hear(d)
	if err := p.keepSize(ctx, d); err != nil {
		return err
	}
	log := logf.FromContext(ctx).WithValues("reason", d.Reason)
	switch {
	case d.Create > 0:
		if stands, err := p.stands(ctx); err != nil || !stands {
			return err
		}
		log.Info(d.Message, "create", d.Create)
		return p.came(executor[S]{p.scope}.create(ctx, d.Create))
	case len(d.Delete) > 0:
		log.Info(d.Message, "delete", len(d.Delete))
		deleted, failure := executor[S]{p.scope}.delete(ctx, d.Delete)
		p.countStale(deleted)
		return p.came(failure)
	case d.Finished:
		p.acted, err = p.letGo(ctx)
		return err
	}
	return nil
}

// tellPending reports machines that were created and deleted in earlier passes, when it is their turn.
func (p *pass[S]) tellPending() {
	h := executor[S]{p.scope}
	h.tellCreated(nil)
	h.tellDeleted(nil)
}

// came notes the outcome of creations or deletions.
func (p *pass[S]) came(failure *dialect.SetFailure) error {
	p.acted, p.failure = true, failure
	if failure == nil {
		return nil
	}
	return failure.Err
}

// decide returns the decision; false if the cache has to catch up first.
func (p *pass[S]) decide(ctx context.Context) (replicas.Decision, bool, error) {
	d, err := p.judgeAndDecide(ctx)
	if err != nil {
		return d, false, err
	}
	if !d.Acts() && !d.Finished {
		return d, p.awaited.Satisfied(), nil
	}
	if back, err := p.restored(ctx); err != nil || back {
		return d, false, err
	}
	if left := p.unsettled(); left > 0 && d.Create > 0 {
		p.again(left)
		return d, false, nil
	}
	if p.live {
		return d, true, nil
	}
	overdue, left := p.awaited.Overdue(p.now)
	if p.expectations.Trusted() && !p.awaited.Satisfied() && !overdue {
		p.again(left)
		return d, false, nil
	}
	if d.Create > 0 && p.expectations.Trusted() && !overdue {
		return d, true, nil
	}
	if err := p.observeLive(ctx); err != nil {
		return d, false, err
	}
	d, err = p.judgeAndDecide(ctx)
	return d, err == nil, err
}

// judgeAndDecide does both from the same facts, so that a set which grows fast is frozen in time.
func (p *pass[S]) judgeAndDecide(ctx context.Context) (replicas.Decision, error) {
	if err := p.judge(ctx); err != nil {
		return replicas.Decision{}, err
	}
	return p.guarded(ctx)
}
