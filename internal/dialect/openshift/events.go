package openshift

import (
	"fmt"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Events returns the events about changes, with the reasons that clients of this API filter on: without
// problems at most two events at the beginning of a life, and two at its end.
func (d Machines) Events(before, after *machinev1.Machine, o lifecycle.Outcome) []dialect.Event {
	var out []dialect.Event
	if before.DeletionTimestamp != nil {
		out = append(removalEvents(before, after, o), d.hookEvents(o)...)
	} else {
		out = lifeEvents(before, after, o)
	}
	if c := find(after, NodeExistsCondition); o.Decision.TargetDistrusted() && before.DeletionTimestamp != nil && changed(before, after, c.Type) {
		out = append(out, dialect.Event{Type: corev1.EventTypeWarning, Reason: c.Reason, Action: "Watch", Note: c.Message})
	}
	if c := find(after, machinev1.InstanceExistsCondition); c.Reason == string(lifecycle.ReasonContradicted) && changed(before, after, c.Type) {
		out = append(out, dialect.ContradictedEvent(c.Message))
	}
	return append(out, dialect.Foreseen(o)...)
}

func lifeEvents(before, after *machinev1.Machine, o lifecycle.Outcome) (out []dialect.Event) {
	warn := func(reason, action, note string) {
		out = append(out, dialect.Event{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note})
	}
	switch {
	case o.Reason == lifecycle.ReasonInvalidObject:
		if changed(before, after, machinev1.InstanceExistsCondition) {
			warn("FailedValidate", "Validate", o.Message)
		}
	case o.Did(lifecycle.Fail):
		warn("FailedCreate", "Create", ptr.Deref(after.Status.ErrorMessage, ""))
	case o.Err != nil && changed(before, after, machinev1.InstanceExistsCondition):
		warn("FailedCreate", "Create", o.Err.Error())
	case before.Spec.ProviderID == nil && after.Spec.ProviderID != nil:
		out = append(out, dialect.Event{
			Type: corev1.EventTypeNormal, Reason: "Create", Action: "Create",
			Note: fmt.Sprintf("Created Machine %v", after.Name),
		})
	}
	if c := find(after, NodeExistsCondition); c.Reason != "" && changed(before, after, c.Type) {
		warn(c.Reason, "Watch", c.Message)
	}
	return out
}

func removalEvents(before, after *machinev1.Machine, o lifecycle.Outcome) (out []dialect.Event) {
	add := func(kind, reason, action, note string) {
		out = append(out, dialect.Event{Type: kind, Reason: reason, Action: action, Note: note})
	}
	drained := isDrained(after) && !isDrained(before)
	switch {
	case drained && o.World.Drain.Result == nil:
		add(corev1.EventTypeNormal, "DrainSkipped", "Drain", "Node drain skipped")
	case dialect.Abandoned(o) != "" && !isDrained(before):
		out = append(out, dialect.AbandonedEvent(o))
	case drained:
		add(corev1.EventTypeNormal, "DrainSucceeded", "Drain", "Node drain succeeded")
	case o.Reason == lifecycle.ReasonDrainBlockedHook && ptr.Deref(before.Status.Phase, "") != machinev1.PhaseDeleting:
		add(corev1.EventTypeNormal, "DrainBlocked", "Drain", "Drain blocked by pre-drain hook")
	case o.Reason == lifecycle.ReasonDraining && stuck(o) && changed(before, after, machinev1.MachineDrained):
		add(corev1.EventTypeNormal, "DrainRequeued", "Drain", "Node drain requeued: "+o.Message)
	}
	switch {
	case o.Reason == lifecycle.ReasonTerminateFailed:
		if o.World.Retry.News(o.At) { // its condition may not be stored yet, and its event is the only report
			add(corev1.EventTypeWarning, "FailedDelete", "Delete", o.Message)
		}
	case o.Err != nil && after.Status.LastUpdated != nil && !after.Status.LastUpdated.Equal(before.Status.LastUpdated):
		add(corev1.EventTypeWarning, "FailedDelete", "Delete", o.Err.Error())
	case o.Reason == lifecycle.ReasonMoved && o.Did(lifecycle.RemoveFinalizer):
		add(corev1.EventTypeNormal, "Delete", "Delete", fmt.Sprintf("Deleted machine %v; its instance was moved to machine %s", before.Name, before.Annotations[dialect.MovedToAnnotation]))
	case o.World.Removal.State == lifecycle.RemovalDone && o.Did(lifecycle.RemoveFinalizer):
		add(corev1.EventTypeNormal, "Delete", "Delete", farewell(after))
	}
	return out
}

// farewell names the objects that are deleted with our finalizer.
func farewell(m *machinev1.Machine) string {
	if held := dialect.HeldByOthers(m); held != "" {
		return fmt.Sprintf("Deleted the instance of machine %v; %s", m.Name, held)
	}
	return fmt.Sprintf("Deleted machine %v", m.Name)
}

// stuck reports whether a drain is delayed by more than slowly terminating pods.
func stuck(o lifecycle.Outcome) bool {
	d := o.World.Drain.Result
	return len(d.Blocked) > 0 || len(d.Evict)+len(d.Delete)+len(d.Waiting) == 0
}

// changed reports whether the condition of type t has changed.
func changed(before, after *machinev1.Machine, t machinev1.ConditionType) bool {
	a, b := find(before, t), find(after, t)
	return a.Status != b.Status || a.Reason != b.Reason || a.Message != b.Message
}

func find(m *machinev1.Machine, t machinev1.ConditionType) machinev1.Condition {
	i := slices.IndexFunc(m.Status.Conditions, func(c machinev1.Condition) bool { return c.Type == t })
	if i < 0 {
		return machinev1.Condition{}
	}
	return m.Status.Conditions[i]
}
