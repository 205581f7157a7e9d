package gardener

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]. The driver is asked beside the workers: what is not done within a moment is Pending, and what
// comes of it is told by the next call.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if err := ctx.Err(); err != nil {
		return provider.Instance{}, classified(err)
	}
	s.doubt.Met()
	task := beside.Task{Verb: creating, UID: ref.UID}
	c, ended, err := s.calls.Do(ctx, s.key(ref.Name), named(ref.Name), task, func(ctx context.Context) error {
		return s.make(ctx, ref, slices.Clone(want.UserData))
	})
	switch {
	case err != nil:
		return provider.Instance{}, err
	case !ended:
		return s.expected(ref, c), nil
	}
	return s.madeFor(ctx, ref)
}

// madeFor is the instance that there is after a creation.
func (s *session) madeFor(ctx context.Context, ref provider.Ref) (provider.Instance, error) {
	if one, ok := s.memory.of(ref.UID); ok && one.providerID != "" {
		i := s.instance(one.name, one.providerID)
		if one.gone {
			i.State, i.RawState = provider.Terminated, "gone"
		}
		return i, nil
	}
	found, err := s.look(ctx, ref)
	if err != nil {
		return provider.Instance{}, err
	}
	if len(found) == 0 {
		return provider.Instance{}, provider.Errorf(provider.Transient, "the instance of %s was there a moment ago, and is not listed", ref.Name)
	}
	i := found[0]
	if i.UID != "" && i.UID != ref.UID && identify(i.ProviderID) != identify(ref.ProviderID) {
		return provider.Instance{}, provider.Errorf(provider.Conflict, "instance %s, named %s, was made for another machine", i.ProviderID, i.Name)
	}
	return i, nil
}

var errUnnamed = errors.New("the driver made an instance and returned no provider ID")

// work is what the driver does beside the workers.
type work struct{ sight }

// make has the driver make an instance for ref, if there is none. It takes as long as that takes.
func (s *work) make(ctx context.Context, ref provider.Ref, boot []byte) error {
	defer s.changing(ref.Name)()
	there, err := s.exists(ctx, ref)
	if there || err != nil {
		return err
	}
	sub, err := s.about(ctx, ref, boot)
	if err != nil {
		return err
	}
	r, err := s.config.Driver.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: sub.machine, MachineClass: sub.class, Secret: sub.secret})
	if r != nil && r.LastKnownState != "" {
		s.memory.note(ref.UID, func(one *made) { one.lastKnownState = r.LastKnownState })
	}
	switch {
	case err != nil:
		return classified(err)
	case r == nil || r.ProviderID == "":
		return &provider.Error{Kind: provider.Transient, After: seldom, Err: errUnnamed}
	}
	s.memory.note(ref.UID, func(one *made) {
		one.name, one.namespace, one.owner = ref.Name, ref.Namespace, s.class.Owner
		one.providerID, one.nodeName, one.addresses = r.ProviderID, r.NodeName, addressesOf(r)
		one.at = s.config.Clock.Now()
	})
	ref.ProviderID = r.ProviderID
	return s.finish(ctx, ref, boot)
}

// exists reports whether nothing has to be made: the driver knows an instance, or this process has made one. An empty answer is
// doubted as long as a process before this one may have asked for what is not shown yet.
func (s *work) exists(ctx context.Context, ref provider.Ref) (bool, error) {
	for {
		found, err := s.look(ctx, ref)
		found = slices.DeleteFunc(found, func(i provider.Instance) bool { // a former machine's, of the same name
			return !i.Exists() && identify(i.ProviderID) != identify(ref.ProviderID)
		})
		if err != nil || len(found) > 0 {
			return len(found) > 0, err
		}
		if one, ok := s.memory.of(ref.UID); ok && one.providerID != "" {
			// A machine gets one instance: what is not shown any more has died.
			s.memory.note(ref.UID, func(one *made) { one.gone = s.config.Clock.Now().Sub(one.at) >= s.config.ReadLag })
			return true, nil
		}
		doubt := s.doubt.Met()
		if doubt <= 0 {
			return false, nil
		}
		if err := beside.Sleep(ctx, s.config.Clock, doubt); err != nil {
			return false, classified(err)
		}
	}
}

// finish does what the driver does once an instance is there. That it failed is remembered: some drivers do not say it by their status.
func (s *work) finish(ctx context.Context, ref provider.Ref, boot []byte) error {
	defer s.changing(ref.Name)()
	sub, err := s.about(ctx, ref, boot)
	if err != nil {
		return err
	}
	r, err := initialize(ctx, s.config.Driver, sub)
	if codeOf(err) == codes.Unimplemented {
		r, err = nil, nil
	}
	s.memory.note(ref.UID, func(one *made) {
		one.name, one.namespace, one.providerID, one.uninitialized = ref.Name, ref.Namespace, ref.ProviderID, err != nil
		if r != nil && err == nil {
			one.nodeName = cmp.Or(r.nodeName, one.nodeName)
			one.addresses = r.addresses
		}
	})
	return classified(err)
}

// Initialize implements [provider.Initializer].
func (s *session) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	ref.ProviderID = i.ProviderID
	task := beside.Task{Verb: initializing, UID: ref.UID}
	// As long as it is under way, the instance is Pending.
	_, _, err := s.calls.Do(ctx, s.key(ref.Name), named(ref.Name), task, func(ctx context.Context) error { return s.finish(ctx, ref, nil) })
	return err
}

// named is an instance in messages.
func named(name string) string { return "an instance named " + name }
