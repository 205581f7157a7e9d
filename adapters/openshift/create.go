package openshift

import (
	"context"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]. It calls the actuator in the background: a call that takes longer
// than a moment leaves the instance Pending, and the next call reports its outcome. The actuator reads the
// user data itself.
func (s *session) Create(ctx context.Context, ref provider.Ref, _ provider.Want) (provider.Instance, error) {
	if err := ctx.Err(); err != nil {
		return provider.Instance{}, classified(err)
	}
	s.startupLag.Remaining()
	task := background.Task{Verb: creating, UID: ref.UID}
	c, ended, err := s.calls.Do(ctx, key(ref.Namespace, ref.Name), named(ref.Name), task, func(ctx context.Context) error { return s.create(ctx, ref) })
	switch {
	case err != nil:
		return provider.Instance{}, err
	case !ended:
		return s.inProgress(ref, c), nil
	}
	return s.createdFor(ref), nil
}

// named names an instance in messages.
func named(machine string) string { return "an instance for a machine named " + machine }

// createdFor is the instance after its creation.
func (s *session) createdFor(ref provider.Ref) provider.Instance {
	k := s.memory.of(ref.UID)
	i := s.instance(ref, k)
	switch {
	case !k.made.IsZero() && !k.exists && s.config.Clock.Since(k.made) >= s.config.ReadLag:
		i.State, i.RawState = provider.Terminated, "gone"
	case !k.exists && !k.leaving:
		i.State, i.Uninitialized = provider.Pending, false
	}
	return i
}

// create lets the actuator create an instance for ref, unless it exists. It blocks until the actuator
// returns.
func (w *executor) create(ctx context.Context, ref provider.Ref) error {
	if err := w.waitForReads(ctx, ref); err != nil {
		return err
	}
	m, err := w.wanted(ctx, ref)
	if err != nil {
		return err
	}
	there, err := w.exists(ctx, ref, m)
	if there || err != nil {
		return err
	}
	if m.Status.Phase == nil { // the original has written the phase by now
		m.Status.Phase = ptr.To(machinev1.PhaseProvisioning)
	}
	if err := w.config.Actuator.Create(ctx, m); err != nil {
		return classified(err)
	}
	w.note(ref.UID, m, func(k *known) { k.exists, k.made = false, k.at })
	return nil
}

// wanted is the machine, which must exist and not be under deletion.
func (w *executor) wanted(ctx context.Context, ref provider.Ref) (*machinev1.Machine, error) {
	m, there, err := w.machine(ctx, ref)
	if err == nil && (!there || m.DeletionTimestamp != nil) {
		err = provider.Errorf(provider.Conflict, "machine %s/%s does not exist or is being deleted: no instance is created for it", ref.Namespace, ref.Name)
	}
	return m, err
}

// exists reports whether there is nothing to create: Exists returns true, or this process has created the
// instance. An empty answer does not count while an earlier process may have requested an instance that is
// not shown yet.
func (w *executor) exists(ctx context.Context, ref provider.Ref, m *machinev1.Machine) (bool, error) {
	for {
		exists, err := w.config.Actuator.Exists(ctx, m)
		if later := read(err); later.later { // Exists asks to be called again later
			if err := background.Sleep(ctx, w.config.Clock, max(later.after, time.Second)); err != nil {
				return false, classified(err)
			}
			continue
		}
		if err != nil {
			return false, classified(err)
		}
		// A machine gets one instance: an instance that is not shown any more has died.
		if exists || !w.memory.of(ref.UID).made.IsZero() {
			w.note(ref.UID, m, func(k *known) { k.exists = exists })
			return true, nil
		}
		lag := w.startupLag.Remaining()
		if lag <= 0 {
			return false, nil
		}
		if err := background.Sleep(ctx, w.config.Clock, lag); err != nil {
			return false, classified(err)
		}
	}
}
