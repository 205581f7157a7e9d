// Package departures reads why and by which client machines were deleted: from their objects, from events, and from the
// record of deleted machines that the machine controller keeps. It judges nothing.
package departures

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Of returns the facts about the deletion of a machine that its object and its node show. A nil node is unknown. The
// result is empty for objects that are no machines.
func Of(m client.Object, n *corev1.Node) (d postmortem.Departure) {
	name, kind := apis.KindOf(m)
	api, known := apis.Of(name)
	if !known || kind != "Machine" {
		return d
	}
	v := api.Machines.View(m)
	d = postmortem.Departure{
		API: name, Namespace: v.Namespace, Name: v.Name, UID: v.UID, Node: v.Recorded.NodeName, Created: v.Created, Requested: v.Deleted,
		Terminating: v.Since(lifecycle.DeletionInstance), Terminated: v.Since(lifecycle.DeletionNode),
	}
	if o := metav1.GetControllerOfNoCopy(m); o != nil {
		d.Owner = o.Kind + "/" + o.Name
	}
	if why := m.GetAnnotations()[dialect.DeletedBecauseAnnotation]; why != "" {
		d.Cause, d.By, d.Why, d.Source = v1alpha1.ReasonRemediation, "machine controller", why, "annotation "+dialect.DeletedBecauseAnnotation
	}
	if v.MovedTo != "" {
		d.Cause, d.By, d.Why, d.Source = v1alpha1.ReasonManual, "kubectl machine migrate", "its instance was moved to machine "+v.MovedTo, "annotation "+dialect.MovedToAnnotation
	}
	d.Zone, d.Type = apis.Place(m, n)
	if n != nil {
		d.Joined = n.CreationTimestamp.Time
		if c := lifecycle.Ready(n); c.Status == corev1.ConditionTrue {
			d.Ready = c.LastTransitionTime.Time
		}
	}
	return d
}
