// Package status reads the facts of nodes, events and certificate requests about a machine, in one form, and
// stores them as evidence. It judges nothing.
package status

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Node returns the observation of a node.
func Node(n *corev1.Node) *postmortem.Node {
	if n == nil {
		return nil
	}
	out := &postmortem.Node{Name: n.Name, Created: n.CreationTimestamp.Time}
	for _, c := range n.Status.Conditions {
		out.Conditions = append(out.Conditions, postmortem.Statement{
			About: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, t.ToString())
	}
	return out
}

// Events returns the events of a list, oldest first, without changing the list.
func Events(list []corev1.Event) (out []postmortem.Event) {
	for _, e := range list {
		at, count := EventTime(e), int(e.Count)
		if e.Series != nil {
			count = int(e.Series.Count)
		}
		out = append(out, postmortem.Event{Type: e.Type, Reason: e.Reason, Message: e.Message, At: at, Count: count, By: cmp.Or(e.ReportingController, e.Source.Component)})
	}
	slices.SortStableFunc(out, func(a, b postmortem.Event) int { return a.At.Compare(b.At) })
	return out
}

// EventTime returns when the event was last reported, in any of its forms.
func EventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
