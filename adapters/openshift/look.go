package openshift

import (
	"cmp"
	"context"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// executor calls the actuator for one class.
type executor struct {
	*Provider
	class provider.Class
}

// The verbs of an actuator's calls.
const (
	looking  = "look"
	creating = "creation"
	deleting = "removal"
)

// key is the key of calls, of which one runs at a time.
func key(namespace, name string) string { return namespace + "/" + name }

// lookKey is the key of reads: they may be abandoned, and must not hide the outcome of a change.
func lookKey(namespace, name string) string { return key(namespace, name) + " " + looking }

const (
	// lookPatience is how long a worker waits for Exists and Update, which each make several calls to a
	// cloud.
	lookPatience = 20 * time.Second
	// stale is the maximum age of a result for which no caller waited.
	stale = time.Minute
)

// look reads the instance of ref from the actuator, in the background. The result is in the memory.
func (w *executor) look(ctx context.Context, ref provider.Ref) error {
	task, k := background.Task{Verb: looking, UID: ref.UID}, lookKey(ref.Namespace, ref.Name)
	for {
		c := w.calls.Begin(k, task, func(ctx context.Context) error { return w.see(ctx, ref) })
		if c.Task != task {
			return provider.Errorf(provider.Conflict, "the %s of another machine named %s is in progress", c.Verb, ref.Name)
		}
		patience := lookPatience
		if w.config.Clock.Since(c.Began) >= lookPatience {
			patience = background.Patience / 2 // an earlier caller has waited for it
		}
		ended, err := w.calls.Ends(ctx, c, patience)
		switch {
		case err != nil:
			return err
		case !ended:
			return provider.Errorf(provider.Transient, "the actuator has not answered since %v ago", w.config.Clock.Since(c.Began).Round(time.Second))
		}
		if err := w.calls.Take(k, c); err != nil || w.config.Clock.Since(w.memory.of(ref.UID).at) < stale {
			return err
		}
	}
}

// see calls Exists and, unless the machine is being deleted, Update.
func (w *executor) see(ctx context.Context, ref provider.Ref) error {
	m, there, err := w.machine(ctx, ref)
	if err != nil {
		return err
	}
	exists, err := w.config.Actuator.Exists(ctx, m)
	if err != nil && !w.early(ref, err) {
		return classified(err)
	}
	refresh := err
	if exists && there && m.DeletionTimestamp == nil && ptr.Deref(m.Status.Phase, "") != machinev1.PhaseFailed {
		refresh = w.config.Actuator.Update(ctx, m)
	}
	w.note(ref.UID, m, func(k *known) {
		k.exists, k.refresh = exists || refresh != nil, refresh
		k.leaving = k.leaving && exists
	})
	return ctx.Err()
}

// early reports whether Exists asks to be called later about an instance that this process has just created.
func (w *executor) early(ref provider.Ref, err error) bool {
	k := w.memory.of(ref.UID)
	return read(err).later && !k.made.IsZero() && !k.leaving && w.config.Clock.Since(k.made) < w.config.ReadLag
}

// note changes the memory of a machine, with the object as the actuator has left it.
func (w *executor) note(uid string, m *machinev1.Machine, change func(*known)) {
	w.memory.note(uid, func(k *known) {
		k.machine, k.cluster, k.owner, k.at = m.DeepCopy(), w.class.Cluster, w.class.Owner, w.config.Clock.Now()
		k.id = identify(ptr.Deref(m.Spec.ProviderID, ""))
		change(k)
	})
}

// instance is the machine's instance, from the machine's status. It is not changed.
func (w *executor) instance(ref provider.Ref, k known) provider.Instance {
	m := k.machine
	id := ptr.Deref(m.Spec.ProviderID, "")
	i := provider.Instance{
		ID: m.Name, Name: m.Name, ProviderID: id, State: provider.Running,
		RawState:  cmp.Or(m.Annotations[instanceState], "reported by the actuator"),
		Addresses: slices.Clone(m.Status.Addresses),
		Type:      m.Labels[labelType], Region: m.Labels[labelRegion], Zone: m.Labels[labelZone], Created: k.made,
	}
	_, i.Interruptible = m.Labels[labelInterruptible]
	switch maker := w.memory.machineOf(id); {
	case maker.machine != nil && string(maker.machine.UID) != ref.UID:
		i.UID, i.ID, i.Name, i.Namespace, i.Owner = string(maker.machine.UID), maker.machine.Name, maker.machine.Name, maker.machine.Namespace, maker.owner
	case !k.made.IsZero():
		i.UID, i.Namespace, i.Owner = ref.UID, m.Namespace, k.owner
	case records(m): // only an actuator that has an instance writes that
		i.UID = ref.UID
	}
	said := read(k.refresh)
	switch {
	case k.leaving:
		i.State = provider.Stopping
	case m.Status.NodeRef != nil || m.DeletionTimestamp != nil: // it has joined, or is being deleted
	case said.later || k.refresh == nil && !records(m):
		i.State = provider.Pending
	case k.refresh != nil:
		i.Uninitialized = true
	}
	return i
}

// The annotations and labels that actuators write on machines.
const (
	labelType          = "machine.openshift.io/instance-type"
	labelRegion        = "machine.openshift.io/region"
	labelZone          = "machine.openshift.io/zone"
	labelInterruptible = "machine.openshift.io/interruptible-instance"
	instanceState      = "machine.openshift.io/instance-state"
)
