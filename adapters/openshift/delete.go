package openshift

import (
	"cmp"
	"context"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. It calls the actuator in the background, until Exists returns that no
// instance is left.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, classified(err)
	}
	s.startupLag.Remaining()
	done, first := true, error(nil)
	for _, t := range s.targets(ref, instances) {
		gone, err := s.remove(ctx, t)
		done, first = done && gone, cmp.Or(first, err)
	}
	if first != nil || !done {
		return false, first
	}
	s.memory.forget(ref.UID)
	return true, nil
}

// target is a machine whose instance is to be deleted. In a sweep no instance is given: then only an instance
// without an owner is deleted.
type target struct {
	provider.Ref
	sweeping bool
}

// targets are the machines of the instances: actuators delete by machine.
func (s *session) targets(ref provider.Ref, instances []provider.Instance) (all []target) {
	if ref.UID != "" {
		all = append(all, target{s.memory.resolve(ref), !slices.ContainsFunc(instances, func(i provider.Instance) bool { return i.Name == ref.Name })})
	}
	for _, i := range instances {
		if ref.UID != "" && i.Name == ref.Name {
			continue
		}
		by := provider.Ref{UID: i.UID, Namespace: cmp.Or(i.Namespace, ref.Namespace), Name: i.Name, ProviderID: i.ProviderID}
		all = append(all, target{Ref: s.memory.resolve(by)})
	}
	return all
}

// remove deletes the instance of one machine, and reports whether it is deleted.
func (s *session) remove(ctx context.Context, t target) (bool, error) {
	task := background.Task{Verb: deleting, UID: t.UID, What: t.ProviderID}
	return s.calls.Remove(ctx, key(t.Namespace, t.Name), named(t.Name), task, func(ctx context.Context) error { return s.delete(ctx, t) })
}

// delete lets the actuator delete the machine's instance. It is no failure if the actuator refuses an invalid
// configuration before anything was created, or cannot patch a machine that does not exist.
func (w *executor) delete(ctx context.Context, t target) error {
	if err := w.waitForReads(ctx, t.Ref); err != nil {
		return err
	}
	m, there, err := w.machine(ctx, t.Ref)
	if err != nil {
		return err
	}
	if stays, err := w.stays(ctx, t, m); stays || err != nil {
		return err
	}
	err = w.config.Actuator.Delete(ctx, m)
	void := read(err).reason == machinev1.InvalidConfigurationMachineError && len(m.Status.Addresses) == 0
	if err != nil && !void && (there || !apierrors.IsNotFound(err)) {
		return classified(err)
	}
	exists, err := w.config.Actuator.Exists(ctx, m)
	if err != nil {
		return classified(err)
	}
	if t.UID != "" {
		w.note(t.UID, m, func(k *known) { k.exists, k.leaving = exists, exists })
	}
	if exists {
		return background.ErrLeft
	}
	return nil
}

// stays reports whether the actuator's instance of the machine must not be deleted: no caller has given it,
// and this process did not create it.
func (w *executor) stays(ctx context.Context, t target, m *machinev1.Machine) (bool, error) {
	if k := w.memory.of(t.UID); !t.sweeping || !k.made.IsZero() || k.leaving {
		return false, nil
	}
	exists, err := w.config.Actuator.Exists(ctx, m)
	return exists, classified(err)
}

// waitForReads waits until no read of the machine is in progress: actuators get one call at a time for a
// machine.
func (w *executor) waitForReads(ctx context.Context, ref provider.Ref) error {
	for w.calls.Of(lookKey(ref.Namespace, ref.Name)) != nil {
		if err := background.Sleep(ctx, w.config.Clock, 100*time.Millisecond); err != nil {
			return classified(err)
		}
	}
	return nil
}
