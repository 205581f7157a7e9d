package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// instances are those of one machine in the infrastructure. It reads and acts, and returns the results.
type instances[M client.Object] struct{ passFacts[M] }

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
		if sightings[n].Claimant, err = s.otherMachines().claimant(ctx, sightings[n]); err != nil {
			return lifecycle.Instances{}, err
		}
	}
	s.placement().sees(all, s.view.Stage == lifecycle.StageFailed || !s.view.Deleted.IsZero())
	c := lifecycle.Claims(s.view, sightings)
	s.view.Recorded.Provisioned = s.view.Recorded.Provisioned || c.Made
	return lifecycle.Instances{
		Looked: true, Own: c.Instances, Duplicates: c.Duplicates, Substitute: c.Substitute, Foreign: c.Foreign, Fault: c.Fault,
		SeenToGo: c.Ended || !s.view.Deleted.IsZero() && (s.mem.removal.seenToGo || s.view.SawInstanceGo()),
	}, nil
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
