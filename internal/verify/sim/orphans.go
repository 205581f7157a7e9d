package sim

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	collector "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// carefulPolicy is the collector's policy. Its times are shorter than in production, because worlds are short, and longer
// than the delay of any effect whose reply was lost.
func carefulPolicy() orphan.Policy {
	p := orphan.DefaultPolicy()
	p.Period, p.Grace, p.PerHour = time.Minute, 2*time.Minute, 4
	return p
}

// owner is the identity of the control plane.
const owner = "3f6b1a0c-6f0e-4a55-9c1c-2f1d8e7a9b10"

// sweep is the only key of the collector.
var sweep = reconcile.Request{NamespacedName: client.ObjectKey{Name: "sweep"}}

// sightOf is p's view of the machines of a kind, from its caches or live.
func sightOf[M client.Object](p *process, cached bool, kind collector.Machines[M], from func(client.Reader) dialect.Resolver[M]) collector.Kind {
	cache := client.Reader(p.client)
	kind.Live = p.live
	if p.w.profile.neighbours {
		kind.Namespace = namespace
	}
	if m := p.w.o.Mutation; m != nil && p.role == orphanRole {
		if m.Collector != nil {
			cache, kind.Live = m.Collector(p.client, p.live)
		}
		kind.Untagged = kind.Untagged || m.Strangers
	}
	if cached {
		kind.Cache, kind.Resolver = cache, from(cache)
	}
	return kind
}

// kinds are the machines of all APIs, as p sees them.
func (p *process) kinds() (out []collector.Kind) {
	for _, f := range p.w.apis {
		own := f == p.adapter || p.w.profile.together
		if m := p.w.o.Mutation; own || m == nil || !m.Secluded {
			out = append(out, f.seen(p, own))
		}
	}
	return out
}

// runCollector lets p look for instances without a machine.
func runCollector(p *process) {
	w := p.w
	infra := p.infrastructure()
	policy := w.profile.orphans
	policy.Owner = owner
	if w.profile.neighbours {
		policy.Namespace = namespace
	}
	if m := w.o.Mutation; m != nil {
		if m.Provider != nil {
			infra = m.Provider(infra, p.target)
		}
		if m.Policy != nil {
			m.Policy(&policy)
		}
	}
	c := collector.New(collector.Options{
		Kinds: p.kinds(), Provider: infra, Clock: passiveClock{p: p}, Policy: policy,
		Recorder: recorder{p}, Connectivity: p.connectivity(), Random: func() float64 { return 0.5 },
	})
	p.wakes = func(store.Event) []enqueue.Request { return nil }
	p.queue.add(sweep)
	p.reconcile = func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: max(c.Pass(ctx), time.Millisecond)}, nil
	}
}

// joinTimeout is how long a machine may take to know its node.
const joinTimeout = 20 * time.Minute

// runNodes lets p mark nodes without a machine and release them.
func runNodes(p *process) {
	kinds := p.kinds()
	r := collector.NewNodes(collector.NodeOptions{
		Client: p.target, Kinds: kinds, Clock: p, JoinTimeout: joinTimeout,
		Mark: v1alpha1.AnnotationKeyNotManaged, MarkValue: v1alpha1.AnnotationValueNotManaged, Finalizer: v1alpha1.FinalizerNode,
		API: v1alpha1.GroupVersion.Group,
	})
	p.reconcile = r.Reconcile
	p.wakes = func(e store.Event) (out []enqueue.Request) {
		var names []string
		if n, ok := e.Object().(*corev1.Node); ok {
			names = append(names, n.Name)
		}
		for _, kind := range kinds {
			for _, o := range []client.Object{e.Old, e.New} {
				if o != nil {
					names = append(names, kind.NodesOf(o)...)
				}
			}
		}
		for _, name := range names {
			out = append(out, enqueue.Request{Request: ctrl.Request{NamespacedName: client.ObjectKey{Name: name}}})
		}
		return out
	}
}

// losses are the machines whose objects were deleted by force.
type losses struct {
	// since is the time at which the object with the UID was lost.
	since map[string]time.Time
	// secondInstances are the IDs of second instances that other clients created for machines. untaggedInstances are the IDs of
	// instances without a machine's UID.
	secondInstances, untaggedInstances map[string]bool
	// allLost: all objects were lost and do not return.
	allLost bool
}

func newLosses() losses {
	return losses{since: map[string]time.Time{}, secondInstances: map[string]bool{}, untaggedInstances: map[string]bool{}}
}

// stepTrouble causes one trouble.
func (w *World) stepTrouble() {
	var actions []func()
	if w.profile.collects && !w.profile.recreatesLate && !w.profile.losesAllObjects {
		actions = append(actions, w.loseMachine, w.loseMachine, w.loseMachines)
		if w.hollow == nil {
			actions = append(actions, w.createSecondInstance, w.createUntaggedInstance)
		}
	}
	if w.profile.outages {
		actions = append(actions, w.cutOff, w.cutOff)
	}
	actions = slices.Concat(actions, w.misdirectionActions(), w.troubleActions(), w.compromiseActions(), w.foreignRequestActions(), w.recreationActions(), w.badImageActions())
	if w.profile.versions {
		actions = append(actions, w.exchange, w.exchange)
	}
	if w.profile.helpers {
		actions = append(actions, w.recreateClass, w.recreateClass)
	}
	if w.profile.restores {
		actions = append(actions, w.backUpOrRestore, w.backUpOrRestore)
	}
	if w.profile.clockwork.set {
		actions = append(actions, w.setClock, w.setClock)
	}
	if w.profile.frail {
		actions = append(actions, w.failNode, w.failNode, w.failNode, w.cutZone)
	}
	if w.ended() {
		actions = w.namespaceDeletionTroubles()
	}
	if action, ok := pick(w, actions); ok {
		action()
	}
}

// loseMachine deletes a machine by force: a user removed its finalizers, or the API server was restored from an
// old backup.
func (w *World) loseMachine() {
	m, ok := pick(w, w.store.All(w.adapter.machine))
	if !ok {
		return
	}
	w.losses.since[string(m.GetUID())] = w.now
	w.edit(m, "", func(o client.Object) { o.SetFinalizers(nil) })
	if o := w.store.Lookup(m, client.ObjectKeyFromObject(m)); o != nil {
		w.must("lose a machine", w.store.Delete(o, client.DeleteOptions{}))
	}
	w.does("loses the object of machine %s", m.GetName())
}

func (w *World) loseMachines() {
	if !w.chance(30) {
		return
	}
	for range w.between(2, 6) {
		w.loseMachine()
	}
}

// createSecondInstance creates a second instance of a machine, as a client that did not know of the first. Its
// kubelet does not join: the name is in use.
func (w *World) createSecondInstance() {
	i, ok := pick(w, w.cloud.Existing(""))
	if !ok || !w.known(i) || w.losses.secondInstances[i.ID] || len(w.cloud.Existing(i.UID)) > 1 || w.recreated.successors[i.ID] != "" {
		return
	}
	w.does("makes instance %s of %s, which has %s", w.secondInstance(i).ID, i.Name, i.ID)
}

// secondInstance creates a second instance for the machine of i.
func (w *World) secondInstance(i *cloud.Machine) *cloud.Machine {
	d := w.idle(i.Place, i.UID, i.Name)
	d.Owner, d.Namespace = owner, namespace
	w.losses.secondInstances[d.ID] = true
	return d
}

// idle creates an instance that no controller requested, and whose kubelet never joins.
func (w *World) idle(at cloud.Place, uid, name string) *cloud.Machine {
	i := w.cloud.Add(at, uid, name)
	w.kubelet(i).decided, w.kubelet(i).never = true, true
	return i
}

// createUntaggedInstance creates an instance that carries no machine's UID.
func (w *World) createUntaggedInstance() {
	if len(w.losses.untaggedInstances) >= 2 {
		return
	}
	name := "stranger" + string(rune('a'+len(w.losses.untaggedInstances)))
	s := w.idle(home, "", name)
	w.losses.untaggedInstances[s.ID] = true
	w.does("makes instance %s, %s", s.ID, name)
}

// approve approves the removal of all orphans at once. The collector does not look in a place that no object names.
func (w *World) approve() {
	if w.losses.allLost {
		return
	}
	lasting := func(o client.Object) bool { return o.GetDeletionTimestamp() == nil && metav1.GetControllerOf(o) == nil }
	if !slices.ContainsFunc(w.adapter.anchors(), lasting) {
		_, err := w.store.Create(w.adapter.newSet("keeper", 0))
		w.must("create a set", err)
	}
	for _, o := range append(w.adapter.anchors(), w.deployments()...) { // a deployment passes the annotation to its sets
		w.edit(o, "", func(o client.Object) {
			annotations := o.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[orphan.ApproveAnnotation] = "99"
			o.SetAnnotations(annotations)
		})
	}
	w.does("approves the removal of orphans")
}
