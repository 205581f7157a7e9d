package project

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// group is a [forecast.Model] of a deployment with its sets, of a set, or of a machine.
type group[D, S client.Object] struct {
	api[D, S]
	w *world
	// root is the deployment, if has says that there is one.
	root D
	has  bool
	sets []S
	// machines are those of the sets, and those without a controller that the sets may adopt.
	machines []client.Object
	nodes    map[string]*corev1.Node
	// fresh are the machines that exist only in the plan.
	fresh  map[types.UID]bool
	since  map[types.UID]time.Time
	serial int
	// gone are the owners that do not exist any more, changed says that something was written.
	gone    map[types.UID]bool
	changed bool
	// at is the index of machines in their list.
	at map[types.UID]int
	// told are the machines of the change that were reported as created or deleted.
	told map[types.UID]bool
}

// api has the functions of one API for a group.
type api[D, S client.Object] struct {
	deployments dialect.Deployments[D, S]
	lens        dialect.Sets[S]
	// view reads a machine; run writes the status of a machine that runs on the node of that name; leave
	// writes the status of one that is deleted.
	view  func(m client.Object) (lifecycle.Machine, lifecycle.Policy)
	run   func(m client.Object, node string, now time.Time)
	leave func(m client.Object)
	// updated writes the status of a node that was updated in place; nil if the API has no such updates.
	updated func(n *corev1.Node)
}

var _ forecast.Model = &group[client.Object, client.Object]{}

// newGroup takes the objects of root from the world.
func newGroup[D, S client.Object](a api[D, S], w *world, root client.Object) *group[D, S] {
	g := &group[D, S]{api: a, w: w, nodes: maps.Clone(w.Nodes), fresh: map[types.UID]bool{}, since: map[types.UID]time.Time{}, told: map[types.UID]bool{}, gone: maps.Clone(w.gone)}
	if g.nodes == nil {
		g.nodes = map[string]*corev1.Node{}
	}
	if g.gone == nil {
		g.gone = map[types.UID]bool{}
	}
	for _, o := range w.Objects {
		switch x := o.(type) {
		case D:
			if o.GetUID() == root.GetUID() && !g.gone[o.GetUID()] {
				g.root, g.has = x, true
			}
		case S:
			if o.GetNamespace() == root.GetNamespace() && (o.GetUID() == root.GetUID() || g.child(root, x)) && !g.gone[o.GetUID()] {
				g.sets = append(g.sets, x)
			}
		}
	}
	slices.SortFunc(g.sets, func(a, b S) int { return byAge(a, b) })
	kind := fmt.Sprintf("%T", g.lens.Traits().Machine())
	for _, o := range w.Objects {
		if fmt.Sprintf("%T", o) == kind && o.GetNamespace() == root.GetNamespace() && g.concerns(root, o) {
			g.machines = append(g.machines, o)
		}
	}
	slices.SortFunc(g.machines, byAge)
	bound(g, root)
	if w.NodesUnread != "" {
		g.assume()
	}
	return g
}

// child reports whether the deployment controls s, or is to adopt it.
func (g *group[D, S]) child(root client.Object, s S) bool {
	d, ok := root.(D)
	if !ok {
		return false
	}
	if ref := metav1.GetControllerOfNoCopy(s); ref != nil {
		return ref.UID == root.GetUID()
	}
	return g.deployments.View(d, time.Time{}).Selector.Matches(labels.Set(s.GetLabels())) && g.deployments.Sets().Adopts(d, s)
}

// concerns reports whether m is the root, is controlled by one of the sets or by a deleted owner, or may be
// adopted.
func (g *group[D, S]) concerns(root, m client.Object) bool {
	if m.GetUID() == root.GetUID() {
		return true
	}
	ref := metav1.GetControllerOfNoCopy(m)
	if ref != nil && ref.UID == root.GetUID() {
		return true
	}
	return slices.ContainsFunc(g.sets, func(s S) bool {
		if ref != nil {
			return ref.UID == s.GetUID()
		}
		return dialect.Claims(g.lens.View(s).Selector, s, m)
	})
}

// assume counts machines that report running as ready, because nodes could not be read.
func (g *group[D, S]) assume() {
	for _, m := range g.machines {
		v, _ := g.view(m)
		if v.Stage == lifecycle.StageRunning && v.Recorded.NodeName != "" && g.nodes[v.Recorded.NodeName] == nil {
			g.nodes[v.Recorded.NodeName] = readyNode(v.Recorded.NodeName, m.GetCreationTimestamp().Time)
		}
	}
}

func readyNode(name string, since time.Time) *corev1.Node {
	n := &corev1.Node{}
	n.Name = name
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	return n
}

func (g *group[D, S]) node(name string) *corev1.Node { return g.nodes[name] }

// edit changes a copy of a set or the deployment. A change of the spec makes a new generation.
func edit[O client.Object](before O, apply func(O)) (after O, changed bool) {
	after = before.DeepCopyObject().(O)
	apply(after)
	if equality.Semantic.DeepEqual(before, after) {
		return before, false
	}
	if !equality.Semantic.DeepEqual(specOf(before), specOf(after)) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	return after, true
}

func (g *group[D, S]) editRoot(apply func(D)) {
	after, changed := edit(g.root, apply)
	g.root, g.changed = after, g.changed || changed
}

func (g *group[D, S]) editSet(uid types.UID, apply func(S)) {
	if i := g.set(uid); i >= 0 {
		after, changed := edit(g.sets[i], apply)
		g.sets[i], g.changed = after, g.changed || changed
	}
}

func (g *group[D, S]) editMachine(uid types.UID, apply func(client.Object)) {
	if i := g.machine(uid); i >= 0 {
		after, changed := edit(g.machines[i], apply)
		g.machines[i], g.changed = after, g.changed || changed
	}
}

func (g *group[D, S]) set(uid types.UID) int {
	return slices.IndexFunc(g.sets, func(s S) bool { return s.GetUID() == uid })
}

func (g *group[D, S]) machine(uid types.UID) int {
	if i, known := g.at[uid]; known && i < len(g.machines) && g.machines[i].GetUID() == uid {
		return i
	}
	g.at = make(map[types.UID]int, len(g.machines))
	for i, m := range g.machines {
		g.at[m.GetUID()] = i
	}
	if i, known := g.at[uid]; known {
		return i
	}
	return -1
}

// of are the machines that s controls.
func (g *group[D, S]) of(s S) (out []client.Object) {
	for _, m := range g.machines {
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil && ref.UID == s.GetUID() {
			out = append(out, m)
		}
	}
	return out
}

// Rollout implements [forecast.Model].
func (g *group[D, S]) Rollout(now time.Time) (out forecast.Rollout, ok bool) {
	if !g.has || g.root.GetDeletionTimestamp() != nil && g.deployments.Traits().Finalizer == "" {
		return out, false
	}
	view := g.deployments.View(g.root, now)
	out.Deployment, out.Policy = view.Deployment, view.Policy
	if len(out.Deployment.Faults) > 0 {
		return out, true
	}
	for _, s := range g.sets {
		v := g.deployments.Sets().View(g.root, s)
		for _, m := range g.machines {
			ref := metav1.GetControllerOfNoCopy(m)
			if ref != nil && ref.UID == s.GetUID() || ref == nil && dialect.Claims(g.lens.View(s).Selector, s, m) {
				v.Machines = append(v.Machines, g.deployments.Machines().View(m, g.node))
			}
		}
		out.Sets = append(out.Sets, v)
	}
	return out, true
}

// Sets implements [forecast.Model].
func (g *group[D, S]) Sets(time.Time) (out []forecast.Set) {
	for _, s := range g.sets {
		if s.GetDeletionTimestamp() != nil && g.lens.Traits().Finalizer == "" {
			continue
		}
		v := g.lens.View(s)
		f := forecast.Set{Set: v.Set, Policy: v.Policy}
		for _, m := range g.of(s) {
			f.Members = append(f.Members, g.lens.Member(s, m, g.node))
		}
		out = append(out, f)
	}
	for i, f := range out {
		owner := metav1.GetControllerOfNoCopy(g.sets[g.set(f.Set.UID)])
		if f.Set.Guard == nil || f.Set.Deleting || owner == nil {
			continue
		}
		out[i].Set.Guard.Place = owner.Kind + " " + owner.Name
		for _, o := range out {
			if o.Set.UID != f.Set.UID {
				out[i].Set.Guard.Elsewhere = out[i].Set.Guard.Elsewhere.Add(replicas.DisruptionOf(g.w.now, o.Set, o.Members, o.Policy))
			}
		}
	}
	return out
}

// Machines implements [forecast.Model].
func (g *group[D, S]) Machines(time.Time) (out []forecast.Machine) {
	for _, m := range g.machines {
		f := forecast.Machine{UID: m.GetUID(), Name: m.GetName(), New: g.fresh[m.GetUID()], Since: g.since[m.GetUID()]}
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
			f.Set = ref.Name
		}
		v, _ := g.view(m)
		f.State = stateOf(v)
		if f.State != forecast.Leaving && g.deployments.Machines().View(m, g.node).Update.State().Underway() {
			f.State = forecast.Updating
		}
		switch {
		case !f.Since.IsZero():
		case f.State == forecast.Leaving:
			f.Since = v.Deleted
		case f.State == forecast.Coming:
			f.Since = v.Created
		}
		out = append(out, f)
	}
	return out
}

func stateOf(v lifecycle.Machine) forecast.State {
	if !v.Deleted.IsZero() {
		return forecast.Leaving
	}
	switch v.Stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageJoining:
		return forecast.Coming
	case lifecycle.StageRunning, lifecycle.StageDetached, lifecycle.StageUpdated:
		return forecast.Running
	case lifecycle.StageUpdating:
		return forecast.Updating
	}
	return forecast.Unwell
}

// Exit implements [forecast.Model].
func (g *group[D, S]) Exit(uid types.UID) (out forecast.Exit) {
	i := g.machine(uid)
	if i < 0 {
		return out
	}
	m := g.machines[i]
	out.Machine, out.Policy = g.view(m)
	out.Labels, out.Owner = m.GetLabels(), ownerOf(g, m)
	name := out.Machine.Recorded.NodeName
	switch {
	case name == "":
	case g.fresh[uid]:
		out.Node = g.node(name)
		return out // the pods that will run there are unknown
	case g.w.NodesUnread != "":
		out.NodeUnread = g.w.NodesUnread
	default:
		out.Node = g.node(name)
	}
	out.Unread, out.VolumesUnread = g.w.PodsUnread, g.w.VolumesUnread
	out.Pods.Pods, out.Pods.Volumes = g.w.Pods[name], g.w.Volumes
	for _, a := range g.w.Attachments {
		if a.Spec.NodeName == name {
			out.Pods.Attachments = append(out.Pods.Attachments, a)
		}
	}
	for _, b := range g.w.Budgets {
		if slices.ContainsFunc(out.Pods.Pods, func(p corev1.Pod) bool { return p.Namespace == b.Namespace }) {
			out.Pods.Budgets = append(out.Pods.Budgets, b)
		}
	}
	return out
}
