package collect

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Departures returns the machines that were deleted in the last 24 hours, the newest first and at most
// [postmortem.MostDepartures], as far as the record of deleted machines, events and evidence show them. Some of them may
// still be in deletion, or may have been created again with the same name.
func Departures(ctx context.Context, now time.Time, c Clusters, q Question) ([]postmortem.Departure, []Gap) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}, many: true}
	return postmortem.Newest(now, allDepartures(ctx, l, q)), l.gaps
}

// departure returns how the machine that q names was deleted, or nil if that is not known. The newest one counts.
func departure(ctx context.Context, l *look, q Question) *postmortem.Departure {
	for _, d := range postmortem.Newest(l.now, allDepartures(ctx, l, q)) {
		if d.Name == q.Name && (q.Namespace == "" || d.Namespace == q.Namespace) && (q.API == "" || d.API == q.API) {
			return &d
		}
	}
	return nil
}

// allDepartures merges what the caller has observed with what is stored, each machine once.
func allDepartures(ctx context.Context, l *look, q Question) []postmortem.Departure {
	all, _ := once(l, "departures/"+q.Namespace, func() (out []postmortem.Departure, err error) {
		out = append(out, l.Departures...)
		records := marked(ctx, l, q, departures.LabelValue)
		for i := range records.Items {
			out = append(out, departures.FromStored(&records.Items[i])...)
		}
		said := departures.FromEvents(deletionEvents(ctx, l, q))
		for _, d := range said {
			out = append(out, d)
		}
		kept := marked(ctx, l, q, status.LabelValue)
		for i := range kept.Items {
			if d, ok := departures.FromEvidence(&kept.Items[i]); ok {
				out = append(out, d)
			}
		}
		return out, nil
	})
	return all
}

// marked returns the ConfigMaps with a value of the label of evidence.
func marked(ctx context.Context, l *look, q Question, value string) *corev1.ConfigMapList {
	list, _ := once(l, "marked/"+value+"/"+q.Namespace, func() (*corev1.ConfigMapList, error) {
		list := &corev1.ConfigMapList{}
		err := l.Control.List(ctx, list, client.MatchingLabels{status.Label: value}, client.InNamespace(q.Namespace))
		if apierrors.IsForbidden(err) && q.Namespace == "" && q.Home != "" {
			list = &corev1.ConfigMapList{}
			err = l.Control.List(ctx, list, client.MatchingLabels{status.Label: value}, client.InNamespace(q.Home))
		}
		l.gap("evidence (configmaps)", err)
		return list, err
	})
	return list
}

// deletionEvents returns the events about deletions of machines that the API server still stores.
func deletionEvents(ctx context.Context, l *look, q Question) (out []corev1.Event) {
	for _, reason := range append(departures.CauseReasons(), departures.EndReasons()...) {
		list := &corev1.EventList{}
		err := l.Control.List(ctx, list, client.InNamespace(q.Namespace), client.MatchingFields{"reason": reason})
		if apierrors.IsForbidden(err) && q.Namespace == "" && q.Home != "" {
			list = &corev1.EventList{}
			err = l.Control.List(ctx, list, client.InNamespace(q.Home), client.MatchingFields{"reason": reason})
		}
		l.gap("events", err)
		out = append(out, list.Items...)
	}
	return out
}

// lastEvents returns the events about a machine that does not exist any more.
func lastEvents(ctx context.Context, l *look, d postmortem.Departure) []postmortem.Event {
	var list corev1.EventList
	err := l.Control.List(ctx, &list, client.InNamespace(d.Namespace), client.MatchingFields{"involvedObject.uid": d.UID})
	l.gap("events", err)
	return status.Events(list.Items)
}
