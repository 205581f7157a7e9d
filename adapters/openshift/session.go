package openshift

import (
	"context"
	"strings"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// session is a class opened.
type session struct {
	provider.Base
	work
}

var (
	_ provider.Session     = &session{}
	_ provider.Initializer = &session{}
	_ provider.Maintainer  = &session{}
)

// Traits implements [provider.Session]. What is listed does not depend on the spec.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: provider.WholeAccount, ReadLag: s.config.ReadLag, Identify: identify}
}

// identify reads provider IDs. Those of some actuators are no URLs: then all of the text counts.
func identify(providerID string) string {
	scheme, _, ok := strings.Cut(providerID, "://")
	switch tail := provider.Tail(providerID); {
	case !ok || scheme == "":
		return strings.ToLower(providerID)
	case tail == "":
		return ""
	default:
		return strings.ToLower(scheme) + "://" + tail
	}
}

// Find implements [provider.Session]. As long as the actuator is at work on the machine, it is asked nothing else about it.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	s.doubt.Met()
	ref = s.memory.resolve(ref)
	if c := s.calls.Of(key(ref.Namespace, ref.Name)); c != nil {
		if c.UID != ref.UID {
			return nil, provider.Errorf(provider.Conflict, "the %s of the instance of another machine named %s is under way", c.Verb, ref.Name)
		}
		return []provider.Instance{s.during(ref, c)}, nil
	}
	if err := s.look(ctx, ref); err != nil {
		return nil, err
	}
	k := s.memory.of(ref.UID)
	if !k.exists {
		return nil, nil
	}
	return []provider.Instance{s.instance(ref, k)}, nil
}

// during is an instance on which the actuator is at work.
func (w *work) during(ref provider.Ref, c *beside.Call) provider.Instance {
	i := provider.Instance{ID: ref.Name, UID: ref.UID, Name: ref.Name, Owner: w.class.Owner, Namespace: ref.Namespace, Created: c.Began}
	if k := w.memory.of(ref.UID); k.machine != nil && k.exists {
		i = w.instance(ref, k)
		i.Uninitialized = false
	}
	i.State, i.RawState = provider.Pending, c.Verb
	if c.Verb == deleting {
		i.State = provider.Stopping
	}
	return i
}

// Initialize implements [provider.Initializer]: it tells what came of the last Update, or tries again.
func (s *session) Initialize(ctx context.Context, ref provider.Ref, _ provider.Instance) error {
	if err := s.refreshed(ref.UID); err != nil {
		return err
	}
	if _, err := s.Find(ctx, ref); err != nil {
		return err
	}
	return s.refreshed(ref.UID)
}

// refreshed is what came of the last Update, once; nil: nothing that somebody has to be told.
func (s *session) refreshed(uid string) error {
	err := s.memory.of(uid).refresh
	if err == nil || read(err).later {
		return nil
	}
	s.memory.note(uid, func(k *known) { k.refresh = nil })
	return classified(err)
}

// Unkept implements [provider.Maintainer]: an Update that failed is tried again, and told.
func (s *session) Unkept(ref provider.Ref, _ provider.Instance) bool {
	err := s.memory.of(ref.UID).refresh
	return err != nil && !read(err).later
}

// Maintain implements [provider.Maintainer].
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return s.Initialize(ctx, ref, i)
}
