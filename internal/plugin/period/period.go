// Package period reads from clusters what happened to machines in a period, for package digest. It writes nothing. It
// records objects that the user may not read as gaps.
package period

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/digest"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Read summarizes the period of the given length that ends now. If q has no namespace, the summary is about all
// namespaces. Read fails only if it can read no kind of the APIs.
func Read(ctx context.Context, now time.Time, length time.Duration, c collect.Clusters, q collect.Question) (digest.Digest, error) {
	f := digest.Facts{From: now.Add(-length), To: now, Place: "all namespaces"}
	if q.Namespace != "" {
		f.Place = "namespace " + q.Namespace
	}
	all, gaps, err := collect.Each(ctx, now, c, q)
	if err != nil {
		return digest.Digest{}, err
	}
	for _, g := range gaps {
		f.Gaps = append(f.Gaps, g.Text)
	}
	for _, e := range all {
		f.Answers = append(f.Answers, e.Answer)
		if e.Kind == "Machine" {
			f.Machines = append(f.Machines, machineOf(e))
		}
	}
	var events corev1.EventList
	if err := c.Control.List(ctx, &events, client.InNamespace(q.Namespace)); err != nil {
		f.Gaps = append(f.Gaps, "events: "+err.Error())
	}
	for i := range events.Items {
		if r, ok := reportOf(&events.Items[i], q.API); ok {
			f.Reports = append(f.Reports, r)
		}
	}
	var evidence corev1.ConfigMapList
	if err := c.Control.List(ctx, &evidence, client.InNamespace(q.Namespace), client.MatchingLabels{status.Label: status.LabelValue}); err != nil {
		f.Gaps = append(f.Gaps, "evidence (configmaps): "+err.Error())
	}
	for _, one := range evidence.Items {
		r, err := postmortem.Decode([]byte(one.Data[status.Key]))
		if err == nil && (q.API == "" || q.API == r.API) {
			f.Evidence = append(f.Evidence, r)
		}
	}
	departures, gaps := collect.Departures(ctx, now, c, q)
	for _, d := range departures {
		if q.API == "" || q.API == d.API {
			f.Departures = append(f.Departures, d)
		}
	}
	for _, g := range gaps {
		if !slices.Contains(f.Gaps, g.Text) {
			f.Gaps = append(f.Gaps, g.Text)
		}
	}
	return digest.Of(f), nil
}

func machineOf(e collect.Explained) digest.Machine {
	o := e.Object
	m := digest.Machine{Subject: e.Subject, UID: string(o.GetUID()), Created: o.GetCreationTimestamp().Time, Because: o.GetAnnotations()[dialect.DeletedBecauseAnnotation]}
	if t := o.GetDeletionTimestamp(); t != nil {
		m.Deleted = t.Time
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		m.Owner = ref.Kind + " " + ref.Name
	}
	return m
}

// prevented has the reasons of events with which a controller reports that it does not act.
var prevented = map[string]bool{
	dialect.EventRemediationRestricted: true, dialect.EventStorm: true, dialect.EventSkippedNoController: true,
	dialect.HeldReason: true, limits.CreationHeld: true, string(rollout.Stopped): true,
	"FrozeMachineSet": true, "OrphanNotDeleted": true, "OrphansNotCollected": true,
}

// reportOf returns the report of an event about an object of the APIs. If only is not empty, the object must belong
// to this API. ok is false for other events.
func reportOf(e *corev1.Event, only string) (r digest.Report, ok bool) {
	about := e.InvolvedObject
	api, known := apis.Of(about.GroupVersionKind().Group)
	if !known || api.Name != about.GroupVersionKind().Group || only != "" && only != api.Name {
		return r, false
	}
	r.Event = status.Events([]corev1.Event{*e})[0]
	switch {
	case about.Kind == "Machine" && e.Reason == api.Removal.Ends:
		r.About = digest.Ended
	case about.Kind == "Machine" && e.Reason == dialect.EventMachineDeleted:
		r.About = digest.Removed
	case e.Related != nil && e.Related.Kind == "Machine" && e.Action == deletes && e.Type == corev1.EventTypeNormal:
		r.About, about = digest.Removed, *e.Related
	case about.Kind == "MachineDeployment" && e.Action == scales:
		r.About = digest.Scaled
	case prevented[e.Reason]:
		r.About = digest.Prevented
	}
	r.UID = string(about.UID)
	r.Subject = explain.Subject{API: api.Name, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}
	return r, true
}

// deletes is the action of a set's events about deleted machines. scales is the action of a deployment's events about
// the sizes of its sets.
const (
	deletes = "Delete"
	scales  = "Scale"
)
