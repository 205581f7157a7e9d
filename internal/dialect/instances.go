package dialect

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// UnrecordedAnnotation on a machine lists, separated by commas, the IDs of the
// instances that are the machine's and that it has not recorded: the doubles of
// the one that it has, which the orphan collector removes after its grace period.
const UnrecordedAnnotation = "millwright.dev/unrecorded-instances"

// RecordUnrecorded keeps [UnrecordedAnnotation] as the infrastructure has it. A
// machine under deletion takes all its instances along: nothing is noted then.
func RecordUnrecorded(m client.Object, w lifecycle.World) {
	if !w.Looked || m.GetDeletionTimestamp() != nil {
		return
	}
	var ids []string
	for _, i := range w.Unrecorded() {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	text, was := strings.Join(ids, ","), m.GetAnnotations()
	switch _, there := was[UnrecordedAnnotation]; {
	case text == "" && !there:
		return
	case text == "":
		delete(was, UnrecordedAnnotation)
	case was == nil:
		was = map[string]string{UnrecordedAnnotation: text}
	default:
		was[UnrecordedAnnotation] = text
	}
	m.SetAnnotations(was)
}

// Unrecorded are the instances that [UnrecordedAnnotation] lists.
func Unrecorded(m client.Object) []string {
	text := m.GetAnnotations()[UnrecordedAnnotation]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// ContradictedEvent tells people of an infrastructure that is not believed
// ([lifecycle.World.Contradiction]).
func ContradictedEvent(text string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: string(lifecycle.ReasonContradicted), Action: "Find", Note: text}
}

// InstanceEvents tell which instances were found, or are gone, beside the one
// that the machine has recorded as providerID.
func InstanceEvents(before, after client.Object, providerID string) []Event {
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
			Note: strings.Join(Unrecorded(before), ", ") + " is gone, or is not the machine's",
		}}
	}
	return nil
}
