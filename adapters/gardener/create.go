package gardener

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]. It calls the driver in the background: a call that takes longer than
// a moment leaves the instance Pending, and the next call reports its outcome.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if err := ctx.Err(); err != nil {
		return provider.Instance{}, classified(err)
	}
	s.startupLag.Remaining()
	task := background.Task{Verb: creating, UID: ref.UID}
	c, ended, err := s.calls.Do(ctx, s.key(ref.Name), named(ref.Name), task, func(ctx context.Context) error {
		return s.create(ctx, ref, slices.Clone(want.UserData))
	})
	switch {
	case err != nil:
		return provider.Instance{}, err
	case !ended:
		return s.expected(ref, c), nil
	}
	return s.createdFor(ctx, ref)
}

// createdFor is the instance after its creation.
func (s *session) createdFor(ctx context.Context, ref provider.Ref) (provider.Instance, error) {
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
		return provider.Instance{}, provider.Errorf(provider.Transient, "the instance of %s existed a moment ago and is not listed", ref.Name)
	}
	i := found[0]
	if i.UID != "" && i.UID != ref.UID && identify(i.ProviderID) != identify(ref.ProviderID) {
		return provider.Instance{}, provider.Errorf(provider.Conflict, "instance %s, named %s, was created for another machine", i.ProviderID, i.Name)
	}
	return i, nil
}

var errUnnamed = errors.New("the driver created an instance and returned no provider ID")

// executor calls the driver in the background.
type executor struct{ reader }

// create lets the driver create an instance for ref, unless it exists. It blocks until the driver returns.
func (s *executor) create(ctx context.Context, ref provider.Ref, boot []byte) error {
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
		return &provider.Error{Kind: provider.Transient, After: slowRetry, Err: errUnnamed}
	}
	s.memory.note(ref.UID, func(one *made) {
		one.name, one.namespace, one.owner = ref.Name, ref.Namespace, s.class.Owner
		one.providerID, one.nodeName, one.addresses = r.ProviderID, r.NodeName, addressesOf(r)
		one.at = s.config.Clock.Now()
	})
	ref.ProviderID = r.ProviderID
	return s.finish(ctx, ref, boot)
}

// exists reports whether there is nothing to create: the driver shows an instance, or this process has
// created one. An empty answer does not count while an earlier process may have requested an instance that is
// not shown yet.
func (s *executor) exists(ctx context.Context, ref provider.Ref) (bool, error) {
	for {
		found, err := s.look(ctx, ref)
		found = slices.DeleteFunc(found, func(i provider.Instance) bool { // of a former machine with the same name
			return !i.Exists() && identify(i.ProviderID) != identify(ref.ProviderID)
		})
		if err != nil || len(found) > 0 {
			return len(found) > 0, err
		}
		if one, ok := s.memory.of(ref.UID); ok && one.providerID != "" {
			// A machine gets one instance: an instance that is not shown any more has died.
			s.memory.note(ref.UID, func(one *made) { one.gone = s.config.Clock.Now().Sub(one.at) >= s.config.ReadLag })
			return true, nil
		}
		lag := s.startupLag.Remaining()
		if lag <= 0 {
			return false, nil
		}
		if err := background.Sleep(ctx, s.config.Clock, lag); err != nil {
			return false, classified(err)
		}
	}
}

// finish calls the driver's initialization of an instance. It stores a failure, because some drivers do not
// report it in their status.
func (s *executor) finish(ctx context.Context, ref provider.Ref, boot []byte) error {
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
	task := background.Task{Verb: initializing, UID: ref.UID}
	// While the call is in progress, the instance is Pending.
	_, _, err := s.calls.Do(ctx, s.key(ref.Name), named(ref.Name), task, func(ctx context.Context) error { return s.finish(ctx, ref, nil) })
	return err
}

// named names an instance in messages.
func named(name string) string { return "an instance named " + name }
