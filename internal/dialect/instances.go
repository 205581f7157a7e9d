package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// UnrecordedAnnotation on a machine lists, separated by commas, the IDs of the machine's instances that it
// has not recorded: duplicates of its instance, which the orphan collector removes after its grace period.
const UnrecordedAnnotation = millwright.UnrecordedInstances

// RecordUnrecorded updates [UnrecordedAnnotation] by the infrastructure's list. A machine under deletion
// deletes all its instances: then nothing is recorded.
func RecordUnrecorded(m client.Object, w lifecycle.World) {
	if !w.Instances.Looked || m.GetDeletionTimestamp() != nil {
		return
	}
	var ids []string
	for _, i := range w.Instances.Unrecorded() {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	SetAnnotation(m, UnrecordedAnnotation, strings.Join(ids, ","))
}

// StoppedAnnotation on a machine says that its instance does not run, in the infrastructure's word
// ("exited"), or is "missing". It is removed when that is over.
const StoppedAnnotation = millwright.InstanceStopped

// DeletedBecauseAnnotation on a machine that Millwright deletes says why, as a clause ("node n-1 was
// deleted").
const DeletedBecauseAnnotation = millwright.DeletedBecause

// missing is the word for an instance that the infrastructure does not list.
const missing = "missing"

// RecordStopped updates [StoppedAnnotation] by the infrastructure's answer, if that is trusted. A machine
// that failed, or is under deletion, does not need it.
func RecordStopped(m client.Object, o lifecycle.Outcome, v lifecycle.Machine) {
	w := o.World
	if !w.Instances.Looked || m.GetDeletionTimestamp() != nil || o.Stage == lifecycle.StageFailed {
		return
	}
	word := ""
	switch i := w.Instances.Of(v.Recorded.ProviderID); {
	case i != nil && i.State == provider.Stopped:
		word = cmp.Or(i.RawState, strings.ToLower(string(i.State)))
	case i == nil && v.Recorded.ProviderID != "" && w.Unlisted.For > 0:
		return // unknown yet
	case i == nil && v.Recorded.ProviderID != "" && w.Contradiction(v) == "":
		word = missing
	}
	SetAnnotation(m, StoppedAnnotation, word)
}

// Stopped returns the meaning of [StoppedAnnotation], as a clause; empty if the instance runs, as far as is
// known.
func Stopped(m client.Object) string {
	switch word := m.GetAnnotations()[StoppedAnnotation]; word {
	case "":
		return ""
	case missing:
		return "the infrastructure does not know its instance any more"
	default:
		return "its instance does not run: the infrastructure calls it " + word
	}
}

// stoppedEvents returns the events that the instance stopped, or runs again.
func stoppedEvents(before, after client.Object) []Event {
	was, is := Stopped(before), Stopped(after)
	switch is {
	case was:
		return nil
	case "":
		return []Event{{Type: corev1.EventTypeNormal, Reason: "InstanceRuns", Action: "Find", Note: "The instance runs again"}}
	}
	return []Event{{Type: corev1.EventTypeWarning, Reason: "InstanceStopped", Action: "Find", Note: strings.ToUpper(is[:1]) + is[1:]}}
}

// Unrecorded returns the instances that [UnrecordedAnnotation] lists.
func Unrecorded(m client.Object) []string {
	return millwright.Read(m.GetAnnotations()).List(UnrecordedAnnotation)
}

// ContradictedEvent returns the event about a contradicted answer of the infrastructure
// ([lifecycle.World.Contradiction]).
func ContradictedEvent(text string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: string(lifecycle.ReasonContradicted), Action: "Find", Note: text}
}

// HeldByOthers says, as a clause, which finalizers of other programs hold an object that has lost ours; empty
// if none does.
func HeldByOthers(o client.Object) string {
	switch names := o.GetFinalizers(); len(names) {
	case 0:
		return ""
	case 1:
		return "finalizer " + names[0] + " of another program holds the object"
	default:
		return "finalizers " + strings.Join(names, ", ") + " of other programs hold the object"
	}
}

// InstanceEvents returns the events that the instance stopped or runs again, and which other instances were
// found, or no longer exist, in addition to the one that the machine has recorded as providerID.
func InstanceEvents(before, after client.Object, providerID string) []Event {
	return append(stoppedEvents(before, after), doubleEvents(before, after, providerID)...)
}

func doubleEvents(before, after client.Object, providerID string) []Event {
	is := Unrecorded(after)
	found := slices.DeleteFunc(slices.Clone(is), func(id string) bool { return slices.Contains(Unrecorded(before), id) })
	switch {
	case len(found) > 0:
		return []Event{{
			Type: corev1.EventTypeWarning, Reason: "DuplicateInstance", Action: "Find",
			Note: fmt.Sprintf("%s was found beside %s, which is recorded; it is in quarantine, and is removed by the orphan collector or with the machine",
				strings.Join(found, ", "), providerID),
		}}
	case len(is) == 0 && len(Unrecorded(before)) > 0:
		return []Event{{
			Type: corev1.EventTypeNormal, Reason: "DuplicateGone", Action: "Find",
			Note: strings.Join(Unrecorded(before), ", ") + " does not exist any more, or does not belong to the machine",
		}}
	}
	return nil
}
