package openshift

import (
	"context"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]. The actuator is asked beside the workers: what is not done within a moment is Pending, and what
// comes of it is told by the next call. It reads the user data itself.
func (s *session) Create(ctx context.Context, ref provider.Ref, _ provider.Want) (provider.Instance, error) {
	if err := ctx.Err(); err != nil {
		return provider.Instance{}, classified(err)
	}
	s.doubt.Met()
	task := beside.Task{Verb: creating, UID: ref.UID}
	c, ended, err := s.calls.Do(ctx, key(ref.Namespace, ref.Name), named(ref.Name), task, func(ctx context.Context) error { return s.make(ctx, ref) })
	switch {
	case err != nil:
		return provider.Instance{}, err
	case !ended:
		return s.during(ref, c), nil
	}
	return s.madeFor(ref), nil
}

// named is an instance in messages.
func named(machine string) string { return "an instance for a machine named " + machine }

// madeFor is the instance that there is after a creation.
func (s *session) madeFor(ref provider.Ref) provider.Instance {
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

// make has the actuator make an instance for ref, if there is none. It takes as long as that takes.
func (w *work) make(ctx context.Context, ref provider.Ref) error {
	if err := w.calm(ctx, ref); err != nil {
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
	if m.Status.Phase == nil { // the original has written that by now
		m.Status.Phase = ptr.To(machinev1.PhaseProvisioning)
	}
	if err := w.config.Actuator.Create(ctx, m); err != nil {
		return classified(err)
	}
	w.note(ref.UID, m, func(k *known) { k.exists, k.made = false, k.at })
	return nil
}

// wanted is the machine, which has to be there and to stay.
func (w *work) wanted(ctx context.Context, ref provider.Ref) (*machinev1.Machine, error) {
	m, there, err := w.machine(ctx, ref)
	if err == nil && (!there || m.DeletionTimestamp != nil) {
		err = provider.Errorf(provider.Conflict, "machine %s/%s is gone, or on its way out: nothing is made for it", ref.Namespace, ref.Name)
	}
	return m, err
}

// exists reports whether nothing has to be made: Exists says so, or this process has made it. An empty answer is doubted as long as a
// process before this one may have asked for what is not shown yet.
func (w *work) exists(ctx context.Context, ref provider.Ref, m *machinev1.Machine) (bool, error) {
	for {
		exists, err := w.config.Actuator.Exists(ctx, m)
		if later := read(err); later.later { // it cannot tell yet
			if err := beside.Sleep(ctx, w.config.Clock, max(later.after, time.Second)); err != nil {
				return false, classified(err)
			}
			continue
		}
		if err != nil {
			return false, classified(err)
		}
		// A machine gets one instance: what is not shown any more has died.
		if exists || !w.memory.of(ref.UID).made.IsZero() {
			w.note(ref.UID, m, func(k *known) { k.exists = exists })
			return true, nil
		}
		doubt := w.doubt.Met()
		if doubt <= 0 {
			return false, nil
		}
		if err := beside.Sleep(ctx, w.config.Clock, doubt); err != nil {
			return false, classified(err)
		}
	}
}
