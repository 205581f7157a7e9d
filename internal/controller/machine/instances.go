package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// instances are those of one machine in the infrastructure. It reads and acts, and returns the results.
type instances[M client.Object] struct{ known[M] }

// open resolves the class, and opens a session from it.
func (s *instances[M]) open(ctx context.Context) (infrastructure, lifecycle.Session) {
	class, err := s.Resolver.Class(ctx, s.m)
	s.mem.tries.madeFrom(class, err)
	infra, err := openInfrastructure(ctx, s.Provider, class, err, !s.view.Deleted.IsZero())
	if err != nil {
		s.mem.tries.failed(lifecycle.Await, err, s.Clock.Now())
		return infra, lifecycle.Session{Err: err, UserDataErr: class.UserDataErr}
	}
	s.mem.tries.openedFrom(infra.session)
	return infra, lifecycle.Session{UserDataErr: class.UserDataErr, Origin: infra.place(), RebootPower: infra.rebootPower(), IdentifiesNodes: infra.traits().IdentifiesNodes}
}

// learnAccount finds out the account of the credentials. It asks only if the account matters: a machine at
// rest costs no request.
func (s *instances[M]) learnAccount(ctx context.Context) (err error) {
	if s.world.Session.Origin.Account == "" {
		s.world.Session.Origin.Account, err = s.infra.account(ctx)
	}
	return err
}

// elsewhere says why an empty answer is not trusted: another account answered, or the account is unknown.
func (s *instances[M]) elsewhere(ctx context.Context, found lifecycle.Instances) error {
	if len(found.Owned()) > 0 || s.view.Recorded.Origin == nil || s.view.Recorded.Origin.Account == "" {
		return nil
	}
	if err := s.learnAccount(ctx); err != nil {
		return err
	}
	return s.view.Recorded.Origin.Elsewhere(s.world.Session.Origin.Account)
}

// noteAccount completes the machine's record of its origin.
func (s *instances[M]) noteAccount(ctx context.Context) {
	if s.view.Recorded.Origin != nil && s.view.Recorded.Origin.Account != "" {
		return
	}
	if err := s.learnAccount(ctx); err != nil {
		s.log.Error(err, "the machine's origin stays without an account")
	}
}

// look asks the infrastructure about the machine's instances.
func (s *instances[M]) look(ctx context.Context) lifecycle.Instances {
	found, err := s.find(ctx)
	if err != nil {
		err = s.infra.lacking(err)
		s.mem.tries.failed(lifecycle.Await, err, s.Clock.Now())
		found.Looked, found.Err = false, err
		return found
	}
	s.mem.tries.answered()
	if i := found.Of(s.view.Recorded.ProviderID); i != nil {
		found.ProviderStatus = s.saw(ctx, *i)
	}
	return found
}

func (s *instances[M]) find(ctx context.Context) (found lifecycle.Instances, err error) {
	all, err := s.infra.session.Find(ctx, s.ref())
	if err == nil {
		found, err = s.claim(ctx, all)
	}
	if err == nil {
		err = s.elsewhere(ctx, found)
	}
	return found, err
}

// unlisted is an instance that may exist although the session does not list it.
func (s *instances[M]) unlisted() lifecycle.Unlisted {
	now, lag := s.Clock.Now(), s.infra.traits().ReadLag
	u := lifecycle.Unlisted{For: lag}
	if s.world.Instances.Looked {
		u.For, u.Err = lag-s.mem.request.quiet(now), s.mem.request.err
		u.Sent = u.Err != nil || s.mem.request.number == 0 && s.view.Asked() && (len(s.world.Asks) == 0 || lag > 0)
	}
	u.For = max(u.For, s.Handover-now.Sub(s.began))
	return u
}

// offered returns the known asks of a machine without an instance, by the choices of the class.
func (s *instances[M]) offered() lifecycle.Asks {
	if s.world.Asks.Open() == nil || s.view.Recorded.Provisioned || len(s.world.Instances.Owned()) > 0 {
		return s.world.Asks
	}
	return s.market().offered(s.world.Asks)
}

// saw notes the infrastructure's answer about the instance, and returns what the provider wants to keep
// from it.
func (s *instances[M]) saw(ctx context.Context, i provider.Instance) []byte {
	s.noteAccount(ctx)
	s.chosen(i)
	s.mem.timed.instanceType, s.mem.timed.zone = i.Type, i.Zone
	s.memory.saw(client.ObjectKeyFromObject(s.m), i)
	raw, err := s.infra.session.Status(i)
	if err != nil {
		s.log.Error(err, "cannot form the provider status")
		return nil
	}
	return raw
}

// claim decides which of the reported instances are the machine's.
func (s *instances[M]) claim(ctx context.Context, all []provider.Instance) (lifecycle.Instances, error) {
	sightings := make([]lifecycle.Sighting, len(all))
	for n, i := range all {
		sightings[n] = lifecycle.Sighting{Instance: i, Recorded: s.infra.same(i.ProviderID, s.view.Recorded.ProviderID)}
		if i.UID == s.view.UID || !i.Exists() {
			continue
		}
		var err error
		if sightings[n].Claimant, err = s.others().claimant(ctx, sightings[n]); err != nil {
			return lifecycle.Instances{}, err
		}
	}
	s.market().sees(all, s.view.Stage == lifecycle.StageFailed || !s.view.Deleted.IsZero())
	c := lifecycle.Claims(s.view, sightings)
	s.view.Recorded.Provisioned = s.view.Recorded.Provisioned || c.Made
	return lifecycle.Instances{
		Looked: true, Own: c.Instances, Duplicates: c.Duplicates, Substitute: c.Substitute, Foreign: c.Foreign, Fault: c.Fault,
		SeenToGo: c.Ended || !s.view.Deleted.IsZero() && (s.mem.removal.seenToGo || s.view.SawInstanceGo()),
	}, nil
}

// create requests an instance, and returns the instances that exist then.
func (s *instances[M]) create(ctx context.Context, want provider.Want) (lifecycle.Instances, lifecycle.Retry) {
	if s.world.Asks = s.offered(); s.world.Asks.Open() == nil { // another machine has learned meanwhile that it is exhausted
		return s.world.Instances, s.world.Retry
	}
	i, asks, err := s.market().buy(ctx, want, s.world.Asks)
	if s.world.Asks = asks; err != nil {
		if err = s.market().failure(asks, asks.Refused()-s.was.Recorded.Asks.Refused(), err); err == nil {
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

// sameAccount reports whether the account that answers is known to be the one in which the instance was
// requested. Only then does an accepted removal explain why a later answer lacks the instance: an accepted
// request is a promise, and another account may answer by then.
func (s *instances[M]) sameAccount() bool {
	o := s.view.Recorded.Origin
	return o != nil && o.Account != ""
}

// terminate requests the removal of the machine's instances, and returns its progress and the remaining
// instances.
func (s *instances[M]) terminate(ctx context.Context) (lifecycle.Removal, lifecycle.Instances, lifecycle.Retry) {
	left := s.world.Instances
	done, err := s.infra.remove(ctx, s.ref(), left.Owned())
	if s.instance() != nil && !left.Substitute && err == nil && (done || s.sameAccount()) {
		s.mem.removal.seenToGo, left.SeenToGo = true, true
	}
	now := s.Clock.Now()
	switch {
	case err != nil:
		return lifecycle.Removal{Err: err}, left, s.mem.tries.failed(lifecycle.Terminate, err, now)
	case done:
		left.Removed = s.instance()
		left.Own, left.Duplicates = nil, nil
		s.mem.tries.succeeded()
		return lifecycle.Removal{State: lifecycle.RemovalDone}, left, s.world.Retry
	}
	return lifecycle.Removal{State: lifecycle.RemovalUnderway, For: s.mem.removal.underway(now)}, left, s.world.Retry
}
