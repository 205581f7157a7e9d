package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/rollout"
)

// unrolled says what of a deployment is not as was asked for; empty when all
// is.
func (w *World) unrolled() string {
	for _, d := range w.deployments() {
		if d.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("deployment %s is still being deleted", d.GetName())
		}
		for _, check := range []func(client.Object) string{w.setsLeft, w.miscounted, w.marksLeft} {
			if why := check(d); why != "" {
				return fmt.Sprintf("deployment %s: %s", d.GetName(), why)
			}
		}
	}
	for _, s := range w.store.All(w.tells.set) {
		if w.frozen(s) {
			return fmt.Sprintf("set %s is frozen", s.GetName())
		}
	}
	return ""
}

// twin reports whether another set of d has the template of s, and machines.
func (w *World) twin(d, s client.Object) bool {
	return slices.ContainsFunc(w.setsOf(d), func(o client.Object) bool {
		return o.GetUID() != s.GetUID() && w.tells.size(o) > 0 && w.tells.fleet.alike(o, s)
	})
}

// setsLeft looks at the sets of d.
func (w *World) setsLeft(d client.Object) string {
	v, current, old := w.tells.fleet.view(d), 0, 0
	if v.RollbackTo != nil {
		return fmt.Sprintf("is to go back to revision %d still", *v.RollbackTo)
	}
	for _, s := range w.setsOf(d) {
		f := w.tells.fleet.set(d, s)
		switch {
		case f.Current && f.Replicas == 0 && w.twin(d, s):
			old++ // a creation whose reply was lost made both, the later one late
		case f.Current:
			current++
			if f.Replicas != v.Replicas || f.Held || f.Avoided {
				return fmt.Sprintf("its set %s is to have %d of %d machines, held %v, avoided %v", s.GetName(), f.Replicas, v.Replicas, f.Held, f.Avoided)
			}
		case f.Replicas > 0 || len(w.controlled(s)) > 0:
			return fmt.Sprintf("its old set %s is to have %d machines and has %d", s.GetName(), f.Replicas, len(w.controlled(s)))
		default:
			old++
		}
	}
	if current != 1 {
		return fmt.Sprintf("has %d sets of its template", current)
	}
	if v.HistoryLimit != nil && old > *v.HistoryLimit {
		return fmt.Sprintf("keeps %d old sets, and %d are wanted", old, *v.HistoryLimit)
	}
	return ""
}

// miscounted looks at the status of d.
func (w *World) miscounted(d client.Object) string {
	v := w.tells.fleet.view(d)
	done, st := w.tells.fleet.done(d)
	want := rollout.Status{Replicas: v.Replicas, Updated: v.Replicas, Ready: v.Replicas, Available: v.Replicas}
	if !done || st.Replicas != want.Replicas || st.Updated != want.Updated || st.Ready != want.Ready || st.Available != want.Available || st.Unavailable != 0 {
		return fmt.Sprintf("of %d machines it says complete %v, %d replicas, %d updated, %d ready, %d available, %d unavailable; progress %+v",
			v.Replicas, done, st.Replicas, st.Updated, st.Ready, st.Available, st.Unavailable, v.Last.Progress)
	}
	return ""
}

// marksLeft looks at the machines of d and their nodes.
func (w *World) marksLeft(d client.Object) string {
	for _, m := range w.living(d) {
		f := w.fact(m)
		if k := f.Marks; k.Avoid || k.Stay || k.Candidate || k.Selected || k.Updated || k.UpdateFailed || f.Moved {
			return fmt.Sprintf("machine %s and its node carry %+v, moved %v", m.GetName(), k, f.Moved)
		}
		if w.owners.chosen[m.GetUID()] {
			return fmt.Sprintf("machine %s, which an autoscaler wanted gone, is there", m.GetName())
		}
	}
	if wishes := w.tells.fleet.view(d).Wishes; len(wishes) > 0 {
		return fmt.Sprintf("still wishes %+v", wishes)
	}
	return ""
}

// nurseRollouts does what strategies leave to people, and what deployments that
// were deleted in the middle of a rollout do.
func (w *World) nurseRollouts() {
	if w.tells.fleet == nil {
		return
	}
	for _, s := range w.store.All(w.tells.set) {
		if metav1.GetControllerOf(s) == nil && s.GetDeletionTimestamp() == nil {
			w.edit(s, "", w.tells.fleet.free)
		}
	}
	for _, d := range w.deployments() {
		switch v := w.tells.fleet.view(d); {
		case v.Strategy == rollout.OnDelete:
			for _, m := range w.living(d) {
				if !w.tells.fleet.set(d, w.setOf(m)).Current {
					w.sendAway(m)
					w.does("deletes machine %s of an old template", m.GetName())
				}
			}
		case v.Strategy == rollout.InPlace && v.ByHand:
			for _, n := range w.candidates() {
				w.edit(n, "", func(o client.Object) { w.tells.fleet.choose(o.(*corev1.Node)) })
				w.does("selects node %s to be updated", n.Name)
			}
		}
	}
}
