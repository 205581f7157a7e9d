package departures

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Family has the objects from which the cause of a deletion follows, if no event names it.
type Family struct {
	// Set is the set of the machine; nil if it does not exist. Deployment is the one of the set; nil if the set has none,
	// or it does not exist.
	Set, Deployment client.Object
	// Machines are the machines of the set that exist.
	Machines []client.Object
}

// FromFamily returns the cause of the deletion that the owners of the machine show: a set that deletes a machine has no
// fewer than it wants afterwards; after the deletion by another client, it creates a successor. The answer is more
// reliable the sooner after the deletion the family was read. d is returned unchanged if its cause is known.
func FromFamily(d postmortem.Departure, f Family) postmortem.Departure {
	if d.Cause != "" {
		return d
	}
	o := f.owner(d)
	d.Cause = disruption.ReasonOf(disruption.Cause{Owner: o})
	d.Source = "state of " + d.Owner
	if o.State == disruption.OwnerNone {
		d.Source = "the machine had no owner"
	}
	return d
}

func (f Family) owner(d postmortem.Departure) (o disruption.Owner) {
	if d.Owner == "" {
		return disruption.Owner{State: disruption.OwnerNone}
	}
	if f.Set == nil {
		return disruption.Owner{State: disruption.OwnerLeaving}
	}
	o.State = disruption.StateOf(f.Set, metav1.GetControllerOfNoCopy(f.Set) != nil, f.Deployment)
	api, _ := apis.Of(d.API)
	o.Wanted = api.Sets.View(f.Set).Replicas
	for _, m := range f.Machines {
		o.Count(m, d.Requested)
	}
	return o
}
