package departures

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// EventRequested is the reason of the event on a machine that names the client whose deletion the webhook has seen.
const EventRequested = "DeletionRequested"

// EventNodeDeleted is the reason of the event on a machine that is deleted because its node was deleted.
const EventNodeDeleted = "NodeDeleted"

// deletes is the action of a set's event about a deleted machine, to which the event is related.
const deletes = "Delete"

// requestedBy precedes the name of the client in the message of [EventRequested].
const requestedBy = "The deletion was requested by "

// RequestedNote returns the message of [EventRequested].
func RequestedNote(client string) string { return requestedBy + client }

// CauseReasons returns the reasons of the events that say why a machine was deleted.
func CauseReasons() []string {
	out := slices.Clone(quality)
	for _, a := range apis.All {
		out = append(out, a.Removal.BySet)
	}
	return distinct(out)
}

// EndReasons returns the reasons of the events that say that a machine was deleted.
func EndReasons() (out []string) {
	for _, a := range apis.All {
		out = append(out, a.Removal.Ends)
	}
	return distinct(out)
}

func distinct(out []string) []string {
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(reason string) bool { return reason == "" })
}

// quality orders the sources of a cause: the name of a client is the best.
var quality = []string{EventRequested, dialect.EventMachineDeleted, EventNodeDeleted}

// FromEvents returns what events say about the deletion of machines, by the UIDs of the machines. Each is partial.
func FromEvents(events []corev1.Event) map[string]postmortem.Departure {
	out := map[string]postmortem.Departure{}
	for _, reason := range append(slices.Clone(quality), "") {
		for i := range events {
			if e := &events[i]; reason == e.Reason || reason == "" && !slices.Contains(quality, e.Reason) {
				if d := fromEvent(e); d.UID != "" {
					out[d.UID] = out[d.UID].With(d)
				}
			}
		}
	}
	return out
}

// fromEvent returns an empty departure if the event is not about the deletion of a machine.
func fromEvent(e *corev1.Event) (d postmortem.Departure) {
	about := e.InvolvedObject
	api, known := apis.Of(about.GroupVersionKind().Group)
	if !known || api.Name != about.GroupVersionKind().Group {
		return d
	}
	at := status.EventTime(*e)
	d = postmortem.Departure{API: api.Name, Source: "event " + e.Reason}
	switch {
	case about.Kind == "Machine" && e.Reason == EventRequested:
		d.Cause, d.By, d.Requested = v1alpha1.ReasonManual, strings.TrimPrefix(e.Message, requestedBy), at
	case about.Kind == "Machine" && e.Reason == dialect.EventMachineDeleted:
		d.Cause, d.By, d.Requested = v1alpha1.ReasonRemediation, "MachineHealthCheck", at
	case about.Kind == "Machine" && e.Reason == EventNodeDeleted:
		d.Cause, d.By, d.Why, d.Requested = v1alpha1.ReasonRemediation, "machine controller", e.Message, at
	case e.Related != nil && e.Related.Kind == "Machine" && e.Action == deletes && e.Type == corev1.EventTypeNormal:
		d.Cause, d.By, d.Owner, d.Why, d.Requested = v1alpha1.ReasonScaleDown, about.Kind+"/"+about.Name, about.Kind+"/"+about.Name, inBrackets(e.Message), at
		about = *e.Related
	case about.Kind == "Machine" && e.Reason == api.Removal.Ends:
		d.Deleted, d.Source = at, ""
	default:
		return postmortem.Departure{}
	}
	d.Namespace, d.Name, d.UID = about.Namespace, about.Name, string(about.UID)
	return d
}

// inBrackets returns the reason in a set's message "Deleted machine: mill-a (surplus)".
func inBrackets(message string) string {
	if i := strings.LastIndex(message, "("); i >= 0 && strings.HasSuffix(message, ")") {
		return message[i+1 : len(message)-1]
	}
	return message
}
