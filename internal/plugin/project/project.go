// Package project plans changes of stored objects: it applies them to copies, converts these by the lenses
// of the APIs to facts for package forecast, and writes the decisions into the copies as the controllers
// do. It reads and writes no cluster.
package project

import (
	"cmp"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
)

// Stored has the objects that were read.
type Stored struct {
	// Objects are the deployments, sets, machines and classes in the namespaces of the changes.
	Objects []client.Object
	// Nodes are by name. NodesUnread says why they are unknown; then a machine that reports running counts
	// as ready.
	Nodes       map[string]*corev1.Node
	NodesUnread string
	// Pods are by the name of their node. PodsUnread says which pods and budgets could not be read.
	Pods       map[string][]corev1.Pod
	Budgets    []policyv1.PodDisruptionBudget
	PodsUnread string
	// Volumes are the clusters' volumes, Attachments say which node has one. VolumesUnread says which could
	// not be read.
	Volumes       []drain.Volume
	Attachments   []storagev1.VolumeAttachment
	VolumesUnread string
	// Limits are the machine disruption budgets.
	Limits []forecast.Limit
}

// Change is a requested change: Before is nil for an object to create, After for one to delete.
type Change struct{ Before, After client.Object }

// About is the object that the change is about.
func (c Change) About() client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Plans applies the changes and predicts the effects, for each deployment, set or machine that is
// concerned. It simulates no more steps once stop is true; nil: never.
func Plans(now time.Time, st Stored, changes []Change, durations func(api string) forecast.Durations, stop func() bool) []forecast.Plan {
	now = now.UTC()
	w := &world{Stored: st, now: now, gone: map[types.UID]bool{}, asked: map[types.UID]forecast.Kind{}, beyond: map[types.UID]int{}}
	w.Objects = slices.Clone(st.Objects)
	var roots []client.Object
	for _, c := range changes {
		roots = append(roots, w.rootsOf(c.About())...)
		w.apply(c)
		roots = append(roots, w.rootsOf(c.About())...)
	}
	var out []forecast.Plan
	seen := map[types.UID]bool{}
	for _, o := range roots {
		if seen[o.GetUID()] {
			continue
		}
		seen[o.GetUID()] = true
		id := ObjectOf(o)
		m := w.model(o)
		if m == nil {
			continue
		}
		d := durations(id.API)
		f := forecast.Run(now, m, d, w.limits(id.API), stop)
		out = append(out, forecast.Plan{Root: id, Forecast: f.With(w.beyond[o.GetUID()], d)})
	}
	return out
}

// world has the stored objects, with the changes applied.
type world struct {
	Stored
	now time.Time
	// gone are the deleted owners, whose dependents are deleted.
	gone map[types.UID]bool
	// asked are the machines that the change creates or deletes.
	asked map[types.UID]forecast.Kind
	// beyond are the new machines of an object that are only counted.
	beyond map[types.UID]int
}

func same(a, b client.Object) bool {
	return ObjectOf(a) == ObjectOf(b)
}

// apply applies a change to the objects, as an API server does.
func (w *world) apply(c Change) {
	at := slices.IndexFunc(w.Objects, func(o client.Object) bool { return same(o, c.About()) })
	switch {
	case c.After == nil && at < 0:
	case c.After == nil:
		w.delete(at)
	case at < 0:
		o := born(w.now, c.After.DeepCopyObject().(client.Object), "new-"+types.UID(c.After.GetName()))
		w.Objects = append(w.Objects, o)
		if ObjectOf(o).Kind == "Machine" {
			w.asked[o.GetUID()] = forecast.Create
		}
	default:
		after := c.After.DeepCopyObject().(client.Object)
		before := w.Objects[at]
		after.SetUID(before.GetUID())
		after.SetCreationTimestamp(before.GetCreationTimestamp())
		if after.GetGeneration() == before.GetGeneration() && !equality.Semantic.DeepEqual(specOf(before), specOf(after)) {
			after.SetGeneration(before.GetGeneration() + 1)
		}
		w.Objects[at] = after
	}
}

// born is o as it is first stored.
func born(now time.Time, o client.Object, uid types.UID) client.Object {
	if o.GetUID() == "" {
		o.SetUID(uid)
	}
	o.SetCreationTimestamp(metav1.NewTime(now.Truncate(time.Second)))
	o.SetGeneration(max(1, o.GetGeneration()))
	return o
}

// delete marks an object, or removes it if no finalizer holds it.
func (w *world) delete(at int) {
	o := w.Objects[at].DeepCopyObject().(client.Object)
	if len(o.GetFinalizers()) == 0 {
		w.gone[o.GetUID()] = true
	}
	if ObjectOf(o).Kind == "Machine" && o.GetDeletionTimestamp() == nil {
		w.asked[o.GetUID()] = forecast.Delete
	}
	doom(w.now, o)
	w.Objects[at] = o
}

// doom marks an object as deleted.
func doom(now time.Time, o client.Object) {
	if o.GetDeletionTimestamp() == nil {
		t := metav1.NewTime(now.Truncate(time.Second))
		o.SetDeletionTimestamp(&t)
	}
}

// ObjectOf names an object; its API and kind are empty if it belongs to no API.
func ObjectOf(o client.Object) forecast.Object {
	out := forecast.Object{Namespace: o.GetNamespace(), Name: o.GetName()}
	out.API, out.Kind = apis.KindOf(o)
	return out
}

func specOf(o client.Object) any {
	switch o := o.(type) {
	case *machinev1.Machine:
		return o.Spec
	case *machinev1.MachineSet:
		return o.Spec
	case *v1beta1.MachineDeployment:
		return o.Spec
	case *v1alpha1.Machine:
		return o.Spec
	case *v1alpha1.MachineSet:
		return o.Spec
	case *v1alpha1.MachineDeployment:
		return o.Spec
	}
	return nil
}

// rootsOf are the objects whose controllers affect o: the topmost controller, or the objects that may adopt
// o.
func (w *world) rootsOf(o client.Object) []client.Object {
	at := slices.IndexFunc(w.Objects, func(x client.Object) bool { return same(x, o) })
	if at >= 0 {
		o = w.Objects[at]
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		for _, x := range w.Objects {
			if x.GetUID() == ref.UID {
				return w.rootsOf(x)
			}
		}
	}
	kind := ObjectOf(o)
	if kind.Kind == "MachineClass" || at < 0 && o.GetUID() == "" {
		return nil
	}
	var out []client.Object
	if kind.Kind != "MachineDeployment" {
		for _, x := range w.adopters(o) {
			out = append(out, w.rootsOf(x)...)
		}
	}
	if len(out) == 0 && at >= 0 {
		out = append(out, o)
	}
	return out
}

// byAge orders as the API server's time does, then by name.
func byAge(a, b client.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}
