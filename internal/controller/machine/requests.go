package machine

// This file has the life of a request for an instance, in the order in which it happens: it is chosen and
// stored (requester), sent (create), answered (lastRequest), and its instance is awaited (unlisted).
// [placement] chooses among the choices of a class; [lifecycle.Request] is the stored form.

import (
	"cmp"
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// requester stores what a pass is about to request from the infrastructure.
type requester[M client.Object] struct{ *pass[M] }

// addFinalizer stores the finalizer, the class of the machine and the request before any instance is
// created. As long as the infrastructure does not report the existing instances and their account, no
// instance is created: credentials of another account would create a second one. Until then the object says
// that nothing was requested.
func (p requester[M]) addFinalizer(ctx context.Context, d lifecycle.Decision) (err error) {
	if p.world.Session.Origin.Cluster == "" { // this pass has asked for the account before, without success
		p.world.Session.Origin = p.infra.place()
	}
	switch {
	case p.view.Recorded.Provisioned || len(p.world.Instances.Owned()) > 0:
		p.onInstances(func(s *instances[M]) { s.noteAccount(ctx) })
	case !p.world.Instances.Looked:
		p.world.Session.Origin = lifecycle.Origin{}
	default:
		p.onInstances(func(s *instances[M]) { err = s.learnAccount(ctx) })
		if err == nil && !p.world.Unlisted.Awaited() {
			p.choose(ctx)
		}
		if err != nil || !p.world.Unlisted.Awaited() && p.world.Requests.Open() == nil {
			p.world.Session.Origin = lifecycle.Origin{}
		}
	}
	if err != nil {
		p.world.Retry = p.mem.tries.failed(lifecycle.Create, err, p.Clock.Now())
	}
	if err := p.recordNow(ctx, d, d); err != nil {
		return err
	}
	p.view.HasFinalizer, p.world.Session.Inherited = true, nil
	p.remember()
	return nil
}

// choose chooses the next request, if none is open.
func (p requester[M]) choose(ctx context.Context) {
	if p.world.Requests.Open() != nil {
		return
	}
	requests, err := p.instances().placement().next(ctx, p.world.Requests)
	if p.world.Requests = requests; err != nil {
		p.world.Retry = p.mem.tries.failed(lifecycle.Create, err, p.Clock.Now())
	}
}

// remember notes what was just stored about the request, and its place.
func (p requester[M]) remember() {
	stored := p.Dialect.View(p.m).Recorded
	p.view.Recorded.Origin, p.view.Recorded.Requests = stored.Origin, stored.Requests
}

// recordRequest stores the next request before it is sent.
func (p requester[M]) recordRequest(ctx context.Context, d lifecycle.Decision) error {
	if p.choose(ctx); p.world.Requests.Open() == nil {
		return nil // the outcome is a failure to create
	}
	if err := p.recordNow(ctx, d, d); err != nil {
		return err
	}
	p.remember()
	return nil
}

func (p *pass[M]) create(ctx context.Context) {
	userData, err := p.token().data(ctx)
	if p.world.Token = p.token().state(); err != nil {
		p.world.Session.UserDataErr = err
		return
	}
	want := provider.Want{UserData: userData, Role: p.infra.class.Role}
	p.onInstances(func(s *instances[M]) { p.world.Instances, p.world.Retry = s.create(ctx, want) })
	if p.world.Retry.Err == nil && len(p.world.Instances.Own) > 0 {
		p.mem.timed.made = p.Clock.Now()
		p.onNode(func(t *target[M]) lifecycle.Node { return t.find(ctx) })
	}
}

// create requests an instance, and returns the instances that exist then.
func (s *instances[M]) create(ctx context.Context, want provider.Want) (lifecycle.Instances, lifecycle.Retry) {
	if s.world.Requests = s.offered(); s.world.Requests.Open() == nil { // another machine has learned meanwhile that it is exhausted
		return s.world.Instances, s.world.Retry
	}
	i, requests, err := s.placement().send(ctx, want, s.world.Requests)
	if s.world.Requests = requests; err != nil {
		if err = s.placement().failure(requests, requests.Refused()-s.was.Recorded.Requests.Refused(), err); err == nil {
			return s.world.Instances, s.world.Retry
		}
		return s.world.Instances, s.mem.tries.failed(lifecycle.Create, s.infra.class.Objection(err), s.Clock.Now())
	}
	made, err := s.claim(ctx, []provider.Instance{i})
	if err != nil {
		return s.world.Instances, s.mem.tries.failed(lifecycle.Create, err, s.Clock.Now())
	}
	if len(made.Owned()) == 0 && i.UID == s.view.UID {
		// An earlier call created it; the reply was lost, and the instance has been terminated since.
		// It is recorded, or it would be requested again and again.
		made.Own = []provider.Instance{i}
	}
	if len(made.Own) > 0 {
		made.ProviderStatus = s.saw(ctx, i)
	}
	return made, s.mem.tries.succeeded()
}

// lastRequest is the last request for an instance, as this process knows it.
type lastRequest struct {
	// since is the time of its answer; zero: this process has sent none. first is when this process asked the
	// infrastructure about the machine for the first time, and got an answer.
	since, first time.Time
	// order is the choice; zero: the class has no several choices.
	order choice.Order
	// err is [lifecycle.Unlisted].Err. A new spec or an answer to another request ends the retry, but not
	// this.
	err error
	// number is that of the request. lost says that its answer was lost, or may have been: another process
	// stored it, and may have sent it.
	number int
	lost   bool
	// open says that it was sent, and that it may lead to an instance. chosen is when this process chose
	// it.
	open   bool
	chosen time.Time
	// requests are those that this process knew last: the API server may be restored to a state before they
	// were stored, and the infrastructure is not.
	requests lifecycle.Requests
}

// known returns the known requests of an object that has stored these.
func (r *lastRequest) known(stored lifecycle.Requests) lifecycle.Requests {
	if r.requests.Continues(stored) {
		return r.requests
	}
	return stored
}

// chose notes that this process is the first to send the last of requests.
func (r *lastRequest) chose(requests lifecycle.Requests, now time.Time) {
	r.number, r.lost, r.open, r.chosen, r.requests = requests[len(requests)-1].Number, false, false, now, requests
}

// asked notes that request was sent at began, and its outcome. Absence has to be proved again after it.
func (r *lastRequest) asked(request lifecycle.Request, began time.Time, err error, now time.Time) {
	*r = lastRequest{
		since: now, first: r.first, order: choice.Order{Choice: request.Choice, At: began}, requests: r.requests,
		number: request.Number, lost: r.lost || r.number != request.Number, chosen: r.chosen,
	}
	switch provider.KindOf(err) {
	case provider.Transient:
		r.err, r.lost = err, true
	case provider.Invalid, provider.Denied, provider.Throttled, provider.Exhausted:
		r.open = r.lost
		return
	}
	r.open = true
}

// offered returns the known requests of a machine without an instance, by the choices of the class.
func (s *instances[M]) offered() lifecycle.Requests {
	if s.world.Requests.Open() == nil || s.view.Recorded.Provisioned || len(s.world.Instances.Owned()) > 0 {
		return s.world.Requests
	}
	return s.placement().offered(s.world.Requests)
}

// unlisted is an instance that may exist although the session, which was asked at that time, does not list it.
func (s *instances[M]) unlisted(asked time.Time) lifecycle.Unlisted {
	r, traits := &s.mem.lastRequest, s.infra.traits()
	if !s.world.Instances.Looked {
		return lifecycle.Unlisted{For: traits.ReadLag}
	}
	r.first = cmp.Or(r.first, asked)
	takeover := lifecycle.Takeover{Over: s.Settled(asked)}
	u := takeover.Unlisted(s.view, r.since, r.first, asked, traits.ReadLag)
	u.Err = r.err
	u.Sent = u.Err != nil || r.number == 0 && takeover.MayHaveRequested(s.view, traits.Choices) && (len(s.world.Requests) == 0 || traits.ReadLag > 0)
	return u
}
