package project

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
)

// limits are the machine disruption budgets for a forecast about machines of an API. No controller may have counted the
// machines with a node yet.
func (w *world) limits(api string) []forecast.Limit {
	of, _ := apis.Of(api)
	out := slices.Clone(w.Limits)
	for i := range out {
		joined := 0
		for _, o := range w.Objects {
			if id := ObjectOf(o); id.Kind == "Machine" && id.API == api && out[i].Selects(o.GetLabels()) && of.Machines.View(o).HasJoined() {
				joined++
			}
		}
		out[i].Use.Machines = max(out[i].Use.Machines, joined)
	}
	return out
}

// ownerOf has the facts about the set of a machine from which the cause of its deletion follows.
func ownerOf[D, S client.Object](g *group[D, S], m client.Object) (o forecast.Owner) {
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil {
		o.State = forecast.OwnerNone
		return o
	}
	i := g.set(ref.UID)
	if i < 0 || g.sets[i].GetDeletionTimestamp() != nil {
		o.State = forecast.OwnerLeaving
		return o
	}
	s := g.sets[i]
	o.State, o.Wanted = byDeployment(g, s), g.lens.View(s).Set.Replicas
	for _, sibling := range g.of(s) {
		if sibling.GetDeletionTimestamp() != nil {
			continue
		}
		o.Active++
		o.Successor = o.Successor || m.GetDeletionTimestamp() != nil && !sibling.GetCreationTimestamp().Time.Before(m.GetDeletionTimestamp().Time)
	}
	return o
}

// byDeployment is the state of a set by its deployment, if it has one. The newest set has the highest revision.
func byDeployment[D, S client.Object](g *group[D, S], s S) forecast.OwnerState {
	ref := metav1.GetControllerOfNoCopy(s)
	switch {
	case ref == nil:
		return forecast.OwnerCurrent
	case g.gone[ref.UID] || g.has && g.root.GetDeletionTimestamp() != nil:
		return forecast.OwnerLeaving
	case !g.has:
		return forecast.OwnerUnknown
	}
	latest := revisionOf(g.root)
	for _, other := range g.sets {
		latest = max(latest, revisionOf(other))
	}
	if revisionOf(s) < latest {
		return forecast.OwnerSuperseded
	}
	return forecast.OwnerCurrent
}

// revisionOf is the number of the template of a set or deployment of both APIs; 0 if it has none.
func revisionOf(o client.Object) int64 {
	n, _ := strconv.ParseInt(o.GetAnnotations()[v1alpha1.AnnotationKeyRevision], 10, 64)
	return n
}
