package openshift

import (
	"context"
	"strings"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// session is an open class.
type session struct {
	provider.Base
	executor
}

var (
	_ provider.Session     = &session{}
	_ provider.Initializer = &session{}
	_ provider.Maintainer  = &session{}
)

// Traits implements [provider.Session]. The listing does not depend on the spec.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: provider.WholeAccount, ReadLag: s.config.ReadLag, Identify: identify}
}

// identify reads provider IDs. If an actuator's provider ID is not a URL, the whole text identifies the
// instance.
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

// Find implements [provider.Session]. During a call for the machine, it makes no other call.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	s.startupLag.Remaining()
	ref = s.memory.resolve(ref)
	if c := s.calls.Of(key(ref.Namespace, ref.Name)); c != nil {
		if c.UID != ref.UID {
			return nil, provider.Errorf(provider.Conflict, "the %s of the instance of another machine named %s is in progress", c.Verb, ref.Name)
		}
		return []provider.Instance{s.inProgress(ref, c)}, nil
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

// inProgress is an instance during a call of the actuator.
func (w *executor) inProgress(ref provider.Ref, c *background.Call) provider.Instance {
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

// Initialize implements [provider.Initializer]: it returns the result of the last Update, or repeats it.
func (s *session) Initialize(ctx context.Context, ref provider.Ref, _ provider.Instance) error {
	if err := s.refreshed(ref.UID); err != nil {
		return err
	}
	if _, err := s.Find(ctx, ref); err != nil {
		return err
	}
	return s.refreshed(ref.UID)
}

// refreshed returns the error of the last Update, once; nil: there is no error to report.
func (s *session) refreshed(uid string) error {
	err := s.memory.of(uid).refresh
	if err == nil || read(err).later {
		return nil
	}
	s.memory.note(uid, func(k *known) { k.refresh = nil })
	return classified(err)
}

// Unkept implements [provider.Maintainer]: a failed Update is repeated, and its error reported.
func (s *session) Unkept(ref provider.Ref, _ provider.Instance) bool {
	err := s.memory.of(ref.UID).refresh
	return err != nil && !read(err).later
}

// Maintain implements [provider.Maintainer].
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	return s.Initialize(ctx, ref, i)
}
