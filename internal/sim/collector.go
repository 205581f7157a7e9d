package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/bootstrap"
)

// stepCollector is something that the cluster's own controllers clean up.
func (w *World) stepCollector() {
	if do, ok := pick(w, w.collectorActions()); ok {
		do()
	}
}

// collectorActions are: machines whose set is gone are deleted, machines of a
// set that is to leave them are freed, tokens that have expired are deleted.
func (w *World) collectorActions() (out []func()) {
	for _, m := range w.store.All(w.tells.machine) {
		ref := metav1.GetControllerOf(m)
		if ref == nil || m.GetDeletionTimestamp() != nil {
			continue
		}
		s := w.setOf(m)
		switch {
		case s == nil:
			out = append(out, func() {
				w.tracef("garbage collector", "deletes %s, whose set is gone", m.GetName())
				w.users.done++
				w.must("collect", w.store.Delete(m, client.DeleteOptions{}))
			})
		case slices.Contains(s.GetFinalizers(), metav1.FinalizerOrphanDependents):
			out = append(out, func() {
				w.tracef("garbage collector", "frees %s", m.GetName())
				w.edit(m, "", func(o client.Object) { o.SetOwnerReferences(nil) })
			})
		}
	}
	for _, s := range w.store.All(w.tells.set) {
		if slices.Contains(s.GetFinalizers(), metav1.FinalizerOrphanDependents) && len(out) == 0 {
			out = append(out, func() {
				w.edit(s, "", func(o client.Object) {
					o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerOrphanDependents }))
				})
			})
		}
	}
	for _, s := range objects(w, &corev1.Secret{}) {
		if t, err := bootstrap.Read(s); err == nil && w.now.After(t.Expires) {
			out = append(out, func() { w.must("expire a token", w.store.Delete(s, client.DeleteOptions{})) })
		}
	}
	return out
}
