package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
)

// stepCollector is one action of the cluster's own controllers.
func (w *World) stepCollector() {
	if do, ok := pick(w, w.collectorActions()); ok {
		do()
	}
}

// collectorActions are the possible actions of the cluster's own controllers: they delete objects whose owner does not
// exist, release objects whose owner orphans them, and delete expired tokens.
func (w *World) collectorActions() (out []func()) {
	w.each(func() {
		out = append(out, w.collect(w.store.All(w.adapter.machine), w.store.All(w.adapter.set), w.setOf)...)
		if w.profile.deployments > 0 {
			out = append(out, w.collect(w.store.All(w.adapter.set), w.deployments(), w.deploymentOf)...)
		}
	})
	out = append(out, w.expiredRequests()...)
	for _, s := range w.target.All(&corev1.Secret{}) {
		if t, err := bootstrap.Read(s.(*corev1.Secret)); err == nil && w.now.After(t.Expires) {
			out = append(out, func() { w.must("expire a token", w.target.Delete(s, client.DeleteOptions{})) })
		}
	}
	return out
}

// collect handles objects of one kind and their owners of another.
func (w *World) collect(objects, owners []client.Object, ownerOf func(client.Object) client.Object) (out []func()) {
	for _, o := range objects {
		if metav1.GetControllerOf(o) == nil || o.GetDeletionTimestamp() != nil {
			continue
		}
		switch owner := ownerOf(o); {
		case owner == nil:
			out = append(out, func() {
				w.tracef("garbage collector", "deletes %s, whose owner does not exist", o.GetName())
				w.deleteObject(o)
			})
		case orphans(owner):
			out = append(out, func() {
				w.tracef("garbage collector", "frees %s", o.GetName())
				delete(w.owners.chosen, o.GetUID()) // no set controls it any more
				w.edit(o, "", func(o client.Object) { o.SetOwnerReferences(nil) })
			})
		}
	}
	for _, owner := range owners {
		if orphans(owner) && len(out) == 0 {
			out = append(out, func() {
				w.edit(owner, "", func(o client.Object) {
					o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerOrphanDependents }))
				})
			})
		}
	}
	return out
}

// orphans reports whether o orphans its dependants. The finalizer alone does not decide this: it may have returned with an
// object that a user recreated.
func orphans(o client.Object) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents)
}
