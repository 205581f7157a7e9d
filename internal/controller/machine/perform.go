package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// perform carries out one step, stores the outcome in the facts, and reports whether there was anything to
// do. Package lifecycle chooses the steps: the handlers have no policy of their own. An error ends the
// pass; a failure that the engine has an answer to is a fact instead.
func (p *pass[M]) perform(ctx context.Context, d lifecycle.Decision) (did bool, err error) {
	switch did = true; d.Step {
	case lifecycle.AddFinalizer:
		err = requester[M]{p}.addFinalizer(ctx, d)
	case lifecycle.RecordRequest:
		err = requester[M]{p}.recordRequest(ctx, d)
	case lifecycle.RecordInstance:
		err = p.recordInstance(ctx, d)
	case lifecycle.Create:
		p.create(ctx)
	case lifecycle.Initialize:
		p.world.Retry = p.initialize(ctx)
	case lifecycle.Reboot:
		err = p.reboot(ctx, d)
	case lifecycle.SyncNode:
		err = p.syncNode(ctx)
	case lifecycle.MarkUpdate:
		err = p.markUpdate(ctx, d)
	case lifecycle.Fail:
		p.view.Stage = lifecycle.StageFailed
		p.world.Final = &d
	case lifecycle.Replace:
		p.world.Final = &d
		err = p.object().replace(ctx)
	case lifecycle.Drain:
		p.world.Drain.Result, p.world.Drain.Err = p.drain(ctx, d)
		p.world.Drain.RefusedFor = p.mem.removal.refused(p.world.Drain.Err, p.Clock.Now())
	case lifecycle.Terminate:
		p.world.Removal, p.world.Instances, p.world.Retry = p.instances().terminate(ctx)
		p.onNode(func(t *target[M]) lifecycle.Node { return t.joinedMeanwhile(ctx) })
	case lifecycle.DeleteNode:
		p.onNode(func(t *target[M]) lifecycle.Node { return t.delete(ctx) })
	case lifecycle.RemoveFinalizer:
		p.world.Final = &d
	case lifecycle.Maintain:
		p.closes(d)
		p.world.Upkeep = p.instances().maintain(ctx)
	case lifecycle.DropToken:
		p.closes(d)
		did, p.world.Token, err = p.token().drop(ctx)
	case lifecycle.StorePreservation:
		err = p.storePreservation(ctx, d)
	case lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved:
		did = p.preserve(ctx, d)
	default:
		err = fmt.Errorf("no handler for step %q", d.Step)
	}
	return did, err
}

// closes notes that d is a step after the machine's life, about which this pass decides nothing more: the
// pass records the present time.
func (p *pass[M]) closes(d lifecycle.Decision) {
	if p.world.Final == nil {
		p.world.Final = &d
	}
	if p.at.IsZero() {
		p.at, p.node = p.Clock.Now(), p.world.Node
	}
}

// initialize does the remaining work on an instance. It also starts an instance that is off.
func (p *pass[M]) initialize(ctx context.Context) lifecycle.Retry {
	i, began := p.instance(), p.Clock.Now()
	if err := p.infra.initialize(ctx, p.ref(), *i); err != nil {
		return p.mem.tries.failed(lifecycle.Initialize, err, p.Clock.Now())
	}
	p.mem.timed.initializing = p.Clock.Now().Sub(began)
	i.Uninitialized = false
	if i.State == provider.Stopped {
		i.State = provider.Pending
	}
	return p.mem.tries.succeeded()
}

// syncNode marks the node for the machine. The link between the two is stored in the machine first: once
// the instance is terminated, a mark alone could not be found again.
func (p *pass[M]) syncNode(ctx context.Context) error {
	if i := p.instance(); p.view.Recorded.ProviderID == "" && i != nil && i.ProviderID != "" {
		if err := p.recordNow(ctx, lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: p.view.Stage}); err != nil {
			return err
		}
	}
	p.world.Node = p.target().sync(ctx)
	return nil
}

// recordNow stores what is known in the middle of a pass, and that steps were performed.
func (p *pass[M]) recordNow(ctx context.Context, d lifecycle.Decision, steps ...lifecycle.Decision) error {
	return p.object().record(ctx, lifecycle.Outcome{Decision: d, Steps: steps, World: p.world, At: p.Clock.Now()})
}

func (p *pass[M]) drain(ctx context.Context, d lifecycle.Decision) (*drain.Decision, error) {
	if p.mem.timed.drainSince.IsZero() && !p.view.Deleted.IsZero() {
		p.mem.timed.drainSince = p.Clock.Now()
		if at := p.view.Since(lifecycle.DeletionDrain); !at.IsZero() { // an earlier process began it
			p.mem.timed.drainSince = at
		}
	}
	var came drain.Decision
	var err error
	p.onNode(func(t *target[M]) lifecycle.Node {
		came, err = (&evacuation[M]{t}).drain(ctx, d)
		return t.world.Node
	})
	if err != nil {
		came = drain.Decision{Message: err.Error(), Next: p.policy.Delays.Transient}
	} else if came.Refused() {
		err = errors.New(came.Message)
	}
	return &came, err
}

// recordInstance stores which instance is the machine's before any step uses it.
func (p *pass[M]) recordInstance(ctx context.Context, d lifecycle.Decision) error {
	err := p.recordNow(ctx, lifecycle.Decision{Step: lifecycle.Await, Reason: d.Reason, Stage: p.view.Stage}, d)
	if err != nil {
		return err
	}
	p.view.Recorded.ProviderID = p.instance().ProviderID
	return nil
}

// onInstances stores the outcome of a request about the machine's instances, besides the result of act: the
// account, the zone, the request, and that there was one.
func (p *pass[M]) onInstances(act func(*instances[M])) {
	s := p.instances()
	act(s)
	p.world.Session.Origin, p.world.Requests = s.world.Session.Origin, s.world.Requests
	p.view.Recorded.Provisioned = s.view.Recorded.Provisioned
}

// onNode stores the outcome of a look at the node, or of an action on it.
func (p *pass[M]) onNode(act func(*target[M]) lifecycle.Node) {
	t := p.target()
	p.world.Node = act(t)
	for _, err := range t.answers {
		p.world.Drain.RefusedFor = p.mem.removal.refused(err, p.Clock.Now())
	}
}
