package openshift

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// hookEvents returns events about hooks that have stopped a deletion for long, with their owners.
func (d Machines) hookEvents(o lifecycle.Outcome) []dialect.Event {
	if !o.Overdue {
		return nil
	}
	action := "Drain"
	if o.Reason == lifecycle.ReasonTerminateHook {
		action = "Delete"
	}
	return []dialect.Event{{
		Type: corev1.EventTypeWarning, Reason: "HookPending", Action: action,
		Note: "For more than " + d.HookPatience.String() + " " + o.Message,
	}}
}
