package sim

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// finalizerProfile says whether other controllers hold objects with finalizers.
type finalizerProfile struct {
	// foreignFinalizers: another controller puts its finalizer on machines, sets, nodes and pods, and removes it later. lasting:
	// it keeps the finalizer until all objects are deleted, on machines and sets without a deployment and on nodes.
	foreignFinalizers, lasting bool
}

func (h *finalizerProfile) draw(r *rand.Rand) {
	h.foreignFinalizers, h.lasting = r.IntN(5) == 0, r.IntN(2) == 0
}

// foreign is the finalizer of another controller.
const foreign = "example.com/backup"

func hasForeignFinalizer(o client.Object) bool { return slices.Contains(o.GetFinalizers(), foreign) }

// finalizerTargets are the objects that another controller holds or may hold.
func (w *World) finalizerTargets() (out []client.Object) {
	sets := all(w, func() []client.Object { return w.store.All(w.adapter.set) })
	out = slices.Concat(w.machines(), w.machines(), sets)
	return slices.Concat(out, w.target.All(&corev1.Node{}), w.target.All(&corev1.Pod{}))
}

// toggleForeignFinalizer puts the finalizer on an object, or removes it from an object.
func (w *World) toggleForeignFinalizer() {
	free := w.chance(30)
	fit := slices.DeleteFunc(w.finalizerTargets(), func(o client.Object) bool {
		return hasForeignFinalizer(o) != free || !free && o.GetDeletionTimestamp() != nil
	})
	o, ok := pick(w, fit)
	switch {
	case !ok:
	case free:
		w.removeForeignFinalizer(o)
	default:
		w.edit(o, "", func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), foreign)) })
		w.does("HOLDS %T %s", o, o.GetName())
	}
}

func (w *World) removeForeignFinalizer(o client.Object) {
	w.edit(o, "", func(o client.Object) {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == foreign }))
	})
	w.does("lets go of %T %s", o, o.GetName())
}

// removeForeignFinalizers removes the finalizers that may not last longer; at the end it removes all.
func (w *World) removeForeignFinalizers(end bool) {
	for _, o := range w.finalizerTargets() {
		now := w.home(o).Lookup(o, client.ObjectKeyFromObject(o))
		if now != nil && hasForeignFinalizer(now) && (end || !w.keepsForeignFinalizer(now)) {
			w.removeForeignFinalizer(now)
		}
	}
}

// keepsForeignFinalizer reports whether o keeps the finalizer until all objects are deleted. An object that blocks drains or
// rollouts never does, and neither does the node of a machine that stays.
func (w *World) keepsForeignFinalizer(o client.Object) bool {
	if !w.profile.lasting {
		return false
	}
	switch o := o.(type) {
	case *corev1.Pod:
		return false
	case *corev1.Node:
		return o.DeletionTimestamp == nil
	}
	s := o
	if metav1.GetControllerOf(o) != nil && w.setOf(o) != nil {
		s = w.setOf(o)
	}
	return w.deploymentOf(s) == nil
}

// ended reports whether only a foreign finalizer keeps the pod.
func ended(pod *corev1.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && *grace == 0 && hasForeignFinalizer(pod)
}
