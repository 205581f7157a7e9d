package openshift

import (
	"cmp"
	"context"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// work is what is asked of the actuator, for one class.
type work struct {
	*Provider
	class provider.Class
}

// What a call of the actuator is for.
const (
	looking  = "look"
	creating = "creation"
	deleting = "removal"
)

// key is what one call at a time is made for.
func key(namespace, name string) string { return namespace + "/" + name }

// lookKey is where looks are: they may be left behind, and must not hide what came of a change.
func lookKey(namespace, name string) string { return key(namespace, name) + " " + looking }

const (
	// lookPatience is how long a worker waits for Exists and Update, which each ask a cloud several times.
	lookPatience = 20 * time.Second
	// stale is how old what a look found may be that nobody has waited for.
	stale = time.Minute
)

// look asks the actuator about ref, beside the workers. What it finds is in the memory.
func (w *work) look(ctx context.Context, ref provider.Ref) error {
	task, k := beside.Task{Verb: looking, UID: ref.UID}, lookKey(ref.Namespace, ref.Name)
	for {
		c := w.calls.Begin(k, task, func(ctx context.Context) error { return w.see(ctx, ref) })
		if c.Task != task {
			return provider.Errorf(provider.Conflict, "the %s at another machine named %s is under way", c.Verb, ref.Name)
		}
		patience := lookPatience
		if w.config.Clock.Since(c.Began) >= lookPatience {
			patience = beside.Patience / 2 // it was waited for before
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

// see asks whether there is an instance and, as long as the machine is to live, has the machine say what it is like.
func (w *work) see(ctx context.Context, ref provider.Ref) error {
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

// early reports whether Exists asks for patience with an instance that this process has just made.
func (w *work) early(ref provider.Ref, err error) bool {
	k := w.memory.of(ref.UID)
	return read(err).later && !k.made.IsZero() && !k.leaving && w.config.Clock.Since(k.made) < w.config.ReadLag
}

// note changes what is known of a machine, which is as the actuator has left it.
func (w *work) note(uid string, m *machinev1.Machine, change func(*known)) {
	w.memory.note(uid, func(k *known) {
		k.machine, k.cluster, k.owner, k.at = m.DeepCopy(), w.class.Cluster, w.class.Owner, w.config.Clock.Now()
		k.id = identify(ptr.Deref(m.Spec.ProviderID, ""))
		change(k)
	})
}

// instance is the machine's instance, as the machine says. What the actuator has written there stays as it is.
func (w *work) instance(ref provider.Ref, k known) provider.Instance {
	m := k.machine
	id := ptr.Deref(m.Spec.ProviderID, "")
	i := provider.Instance{
		ID: m.Name, Name: m.Name, ProviderID: id, State: provider.Running,
		RawState:  cmp.Or(m.Annotations[instanceState], "reported by the actuator"),
		Addresses: slices.Clone(m.Status.Addresses),
		Type:      m.Labels[labelType], Region: m.Labels[labelRegion], Zone: m.Labels[labelZone], Created: k.made,
	}
	_, i.Interruptible = m.Labels[labelInterruptible]
	switch maker := w.memory.maker(id); {
	case maker.machine != nil && string(maker.machine.UID) != ref.UID:
		i.UID, i.ID, i.Name, i.Namespace, i.Owner = string(maker.machine.UID), maker.machine.Name, maker.machine.Name, maker.machine.Namespace, maker.owner
	case !k.made.IsZero():
		i.UID, i.Namespace, i.Owner = ref.UID, m.Namespace, k.owner
	case records(m): // only an actuator that has an instance for it writes that
		i.UID = ref.UID
	}
	said := read(k.refresh)
	switch {
	case k.leaving:
		i.State = provider.Stopping
	case m.Status.NodeRef != nil || m.DeletionTimestamp != nil: // it has proved itself, or is no longer to
	case said.later || k.refresh == nil && !records(m):
		i.State = provider.Pending
	case k.refresh != nil:
		i.Uninitialized = true
	}
	return i
}

// What actuators write on machines besides their specs and statuses.
const (
	labelType          = "machine.openshift.io/instance-type"
	labelRegion        = "machine.openshift.io/region"
	labelZone          = "machine.openshift.io/zone"
	labelInterruptible = "machine.openshift.io/interruptible-instance"
	instanceState      = "machine.openshift.io/instance-state"
)
