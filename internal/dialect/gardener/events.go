package gardener

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Events returns the events about changes. The original has no events about machines; these are additions, in
// the words of its operations.
func (Machines) Events(before, after *v1alpha1.Machine, o lifecycle.Outcome) []dialect.Event {
	out := append(lifeEvents(before, after, o), keepEvents(before, after, o.Preserve)...)
	if dialect.Abandoned(o) != "" && before.DeletionTimestamp != nil && !drainedBefore(before) {
		out = append(out, dialect.AbandonedEvent(o))
	}
	return append(out, dialect.Foreseen(o)...)
}

// drainedBefore reports whether an earlier pass had reached the instance: each later pass checks the drain
// again.
func drainedBefore(m *v1alpha1.Machine) bool {
	return slices.ContainsFunc(started(m), func(b lifecycle.StartedStep) bool { return b.Step == lifecycle.DeletionInstance })
}

func lifeEvents(before, after *v1alpha1.Machine, o lifecycle.Outcome) []dialect.Event {
	was, is := before.Status.LastOperation, after.Status.LastOperation
	if o.Did(lifecycle.RemoveFinalizer) {
		return []dialect.Event{{Type: corev1.EventTypeNormal, Reason: "Deleted", Action: "Delete", Note: farewell(before, after, o)}}
	}
	if was.Description == is.Description && was.State == is.State {
		return nil
	}
	e := dialect.Event{Type: corev1.EventTypeNormal, Reason: reason(is), Action: string(is.Type), Note: is.Description}
	if is.State == v1alpha1.MachineStateFailed {
		e.Type = corev1.EventTypeWarning
	}
	switch {
	case o.Reason == lifecycle.ReasonDisruptionBudget:
		return nil // the machine controller reports it for both APIs
	case o.Decision.TargetDistrusted():
		return []dialect.Event{{Type: corev1.EventTypeWarning, Reason: string(o.Reason), Action: "Watch", Note: is.Description}}
	case lifecycle.Contradicts(is.Description):
		return []dialect.Event{dialect.ContradictedEvent(is.Description)}
	case lifecycle.Contradicts(was.Description) && is.State != v1alpha1.MachineStateFailed, e.Reason == "", goesOn(was, is):
		return nil
	}
	return []dialect.Event{e}
}

// farewell names the deleted objects. If the infrastructure did not confirm that the instance is terminated,
// either a user asked to leave it behind, or none could ever be created.
func farewell(before, after *v1alpha1.Machine, o lifecycle.Outcome) string {
	held := dialect.HeldByOthers(after)
	what := "Machine is deleted"
	switch {
	case o.World.Removal.State == lifecycle.RemovalDone && before.Spec.ProviderID == "":
		what = "Machine is deleted; it had no instance"
	case o.World.Removal.State == lifecycle.RemovalDone && held != "":
		what = "Instance is terminated"
	case o.World.Removal.State == lifecycle.RemovalDone:
		what = "Machine and instance are deleted"
	case o.Reason == lifecycle.ReasonMoved:
		what = "Machine is deleted; its instance was moved to machine " + before.Annotations[dialect.MovedToAnnotation]
	case (Machines{}).View(before).Deletion.Abandon:
		what = "Instance was left behind, as annotation " + dialect.AbandonAnnotation + " asks"
	case held != "":
		what = "Nothing is left at the infrastructure"
	}
	if held != "" {
		what += "; " + held
	}
	return what
}

// goesOn reports whether a deletion or a drain only progressed: events are sent for its beginning and its
// end.
func goesOn(was, is v1alpha1.LastOperation) bool {
	long := was.Type == v1alpha1.MachineOperationDelete || was.Type == v1alpha1.MachineOperationDrainNode
	return long && is.Type == was.Type && is.State != v1alpha1.MachineStateFailed
}

// reason returns the event reason of an operation; empty for operations without an event.
func reason(op v1alpha1.LastOperation) string {
	switch {
	case op.Type == v1alpha1.MachineOperationCreate && op.State == v1alpha1.MachineStateFailed:
		return "FailedCreate"
	case op.Type == v1alpha1.MachineOperationCreate && op.State == v1alpha1.MachineStateSuccessful:
		return "Joined"
	case op.Type == v1alpha1.MachineOperationDelete && op.State == v1alpha1.MachineStateFailed:
		return "FailedDelete"
	case op.Type == v1alpha1.MachineOperationDelete:
		return "Deleting"
	case op.Type == v1alpha1.MachineOperationHealthCheck && op.State == v1alpha1.MachineStateSuccessful:
		return "Recovered"
	case op.Type == v1alpha1.MachineOperationHealthCheck:
		return "Unhealthy"
	case op.Type == v1alpha1.MachineOperationDrainNode:
		return "Draining"
	case op.Type == v1alpha1.MachineOperationInPlaceUpdate && op.State == v1alpha1.MachineStateFailed:
		return "FailedUpdate"
	case op.Type == v1alpha1.MachineOperationInPlaceUpdate && op.State == v1alpha1.MachineStateSuccessful:
		return "Updated"
	case op.Type == v1alpha1.MachineOperationInPlaceUpdate:
		return "Updating"
	}
	return ""
}
