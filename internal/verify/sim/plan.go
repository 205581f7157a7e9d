package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// AsDecided is judged here. The controllers of sets and of deployments must write what the product itself decides from the
// objects that they saw. internal/verify/sim/judge, and the properties of the deciding packages, judge whether that decision
// is right.
const AsDecided = "what is written is what was decided on what was seen"

// observed are the objects that a pass saw: its caches when it began, with the process's own writes, or objects that it has
// listed live since.
type observed struct {
	// at is the beginning of the pass, by the clock of its process.
	at      time.Time
	objects map[string]map[types.UID]client.Object
	// recalled is the same, if the process still relies on its own writes that a restore of the server has undone: the process
	// cannot tell a restored version from a stale cache. Nil: no server was restored.
	recalled *observed
	// overtaken: the world and the caches continued in the middle of the pass, which may have read the caches only after
	// that.
	overtaken bool
	// live: machines were listed live, after the set adopted machines without a controller. cached are the machines that the caches
	// showed before; nil if none were listed live.
	live   bool
	cached map[types.UID]client.Object
	// doubted are the deletions of machines whose outcome the process did not know when the pass began.
	doubted map[request]time.Time
	// created counts the machines that the pass requested.
	created int
}

// request is the request of a set to delete a machine.
type request struct{ set, machine types.UID }

func versionOf(o client.Object) int64 {
	v, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

func (p *process) observes() *observed {
	g := &observed{at: p.Now(), objects: map[string]map[types.UID]client.Object{}, doubted: maps.Clone(p.doubted)}
	for _, v := range p.views {
		if judged[v.Kind().Kind] {
			g.objects[v.Kind().Kind] = p.shows(v)
		}
	}
	if p.w.profile.restores {
		g.recalled = p.recall(g)
	}
	return g
}

// shows are the objects of a view. Newer writes of p itself replace them.
func (p *process) shows(v *store.View) map[types.UID]client.Object {
	all := map[types.UID]client.Object{}
	for _, o := range v.Shown() {
		if own := p.wrote[o.GetUID()]; own != nil && versionOf(own) > versionOf(o) {
			o = own
		}
		all[o.GetUID()] = o
	}
	return all
}

// listed records the result of a live listing. The pass looked up nodes after the listing.
func (p *process) listed(k *store.Kind, all []client.Object) {
	saw := p.running.saw
	saw.lists(k, all)
	for _, v := range p.views {
		if v.Kind().Kind == "Node" {
			saw.objects["Node"] = p.shows(v)
		}
	}
	p.happened(p.running)
}

// recall is g with the process's own writes if the process still relies on them; nil if no server has been restored yet.
func (p *process) recall(g *observed) *observed {
	if p.w.backups.restored == 0 {
		return nil
	}
	out := &observed{at: g.at, objects: map[string]map[types.UID]client.Object{}}
	for _, v := range p.views {
		if g.objects[v.Kind().Kind] == nil {
			continue
		}
		all := map[types.UID]client.Object{}
		for _, o := range v.Shown() {
			all[o.GetUID()] = p.recalls.latest(o)
		}
		out.objects[v.Kind().Kind] = all
	}
	return out
}

// recalled is a process's last write to an object, and the versions that the write replaced.
type recalled struct {
	object client.Object
	older  []string
}

// recalls are the last writes of a process, by the UID of the object.
type recalls map[types.UID]recalled

// over reports whether cached is a version that the process replaced.
func (r recalled) over(cached client.Object) bool {
	return slices.Contains(r.older, cached.GetResourceVersion())
}

// remembers records a write of the process that replaced the version before.
func (r recalls) remembers(before string, o client.Object) {
	was := r[o.GetUID()]
	if was.object == nil || was.object.GetResourceVersion() != before {
		was.older = nil
	}
	if before != o.GetResourceVersion() {
		r[o.GetUID()] = recalled{o, append(was.older, before)}
	}
}

// latest is the process's own write if its cache shows a version that the process replaced.
func (r recalls) latest(cached client.Object) client.Object {
	if last := r[cached.GetUID()]; last.over(cached) {
		return last.object
	}
	return cached
}

// reads drops the process's write to an object after a pass has read a version that the process did not replace. An event in the
// cache alone changes nothing: a pass over one deployment does not look at the sets of another.
func (r recalls) reads(cached client.Object) {
	if !r[cached.GetUID()].over(cached) {
		delete(r, cached.GetUID())
	}
}

// lists records the result of a live listing.
func (g *observed) lists(k *store.Kind, all []client.Object) {
	if k.Kind == "Machine" && g.cached == nil {
		g.cached = g.objects[k.Kind]
		if g.recalled != nil {
			g.recalled.cached = g.recalled.objects[k.Kind]
		}
	}
	g.objects[k.Kind], g.live = map[types.UID]client.Object{}, g.live || k.Kind == "Machine"
	for _, o := range all {
		g.objects[k.Kind][o.GetUID()] = o
	}
	if g.recalled != nil {
		g.recalled.objects[k.Kind] = g.objects[k.Kind]
	}
}

// keeps records a confirmed write of the process; was is nil for a creation.
func (p *process) keeps(s *store.Store, c store.Call, was client.Object) {
	o := s.Lookup(c.Object, c.Key)
	if o == nil {
		return
	}
	p.wrote[o.GetUID()] = o
	if was != nil {
		p.recalls.remembers(was.GetResourceVersion(), o)
	}
	// Before it decides, the controller of sets may unfreeze its set, and the controller of deployments may adopt a set.
	adopts := p.role == fleetRole && was != nil && metav1.GetControllerOf(was) == nil && metav1.GetControllerOf(o) != nil
	if t := p.running; t != nil && (p.role == setRole || adopts) && c.Kind.Kind == "MachineSet" {
		t.saw.objects[c.Kind.Kind][o.GetUID()] = o
	}
}

// doubts records a deletion of a machine whose outcome is unknown: the controller repeats it before it deletes any
// other machine.
func (p *process) doubts(c store.Call, err error) {
	if p.plans == nil || c.Verb != "delete" || c.Kind.Kind != "Machine" {
		return
	}
	saw := p.running.saw
	set, m := saw.named("MachineSet", p.running.key.NamespacedName), saw.named("Machine", c.Key)
	if set == nil || m == nil {
		return
	}
	switch asked := (request{set: set.GetUID(), machine: m.GetUID()}); {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		delete(p.doubted, asked)
	case !expectations.Refused(err):
		p.doubted[asked] = p.Now()
	}
}

// happened drops a pending deletion of the pass's set if the pass saw that deletion in progress: if a restore of the server
// undoes it, no controller repeats it.
func (p *process) happened(t *task) {
	set := t.saw.named("MachineSet", t.key.NamespacedName)
	if set == nil {
		return
	}
	for _, m := range t.saw.objects["Machine"] {
		if m.GetDeletionTimestamp() != nil {
			delete(p.doubted, request{set: set.GetUID(), machine: m.GetUID()})
			delete(t.saw.doubted, request{set: set.GetUID(), machine: m.GetUID()})
		}
	}
}

func (g *observed) named(kind string, key client.ObjectKey) client.Object {
	for _, o := range g.objects[kind] {
		if client.ObjectKeyFromObject(o) == key {
			return o
		}
	}
	return nil
}

func (g *observed) node(name string) *corev1.Node {
	n, _ := g.named("Node", client.ObjectKey{Name: name}).(*corev1.Node)
	return n
}

// planSets says which part of a write of the set controller was not decided.
func planSets[S client.Object](lens dialect.Sets[S]) func(t *task, old, now client.Object) string {
	return func(t *task, old, now client.Object) string {
		g := t.saw
		o := g.named("MachineSet", t.key.NamespacedName)
		gone := old != nil && old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil)
		if o == nil || old != nil && !gone || g.overtaken && !g.live {
			return ""
		}
		s := o.(S)
		view := lens.View(s)
		var members []replicas.Member
		for _, m := range g.objects["Machine"] {
			ref := metav1.GetControllerOf(m)
			free := !g.live && ref == nil && m.GetDeletionTimestamp() == nil
			ours, matches := ref != nil && ref.UID == s.GetUID(), view.Selector.Matches(labels.Set(m.GetLabels()))
			if (free || ours) && matches || ours && s.GetDeletionTimestamp() != nil {
				members = append(members, lens.Member(s, m, g.node))
			}
		}
		if metav1.GetControllerOf(s) != nil {
			view.Guard = nil // the guard counts the other sets of the deployment too, which the judge checks
		}
		decide := func(lingers time.Duration) replicas.Decision {
			for i := range members {
				at, asked := g.doubted[request{set: s.GetUID(), machine: members[i].UID}]
				members[i].PendingDeletion = asked && g.at.Sub(at) < lingers
			}
			return replicas.Decide(g.at, view.Set, members, view.Policy)
		}
		d := decide(expectations.Lingers)
		if old == nil {
			g.created++
			if g.created > d.Create {
				return fmt.Sprintf("set %s makes machine %s, the %dth of %d: %s", s.GetName(), now.GetName(), g.created, d.Create, d.Message)
			}
			return ""
		}
		chosen := func(v replicas.Victim) bool { return v.UID == old.GetUID() }
		// The controller counts from the end of the pass that sent the request, which may have hung.
		if !slices.ContainsFunc(d.Delete, chosen) && !slices.ContainsFunc(decide(2*expectations.Lingers).Delete, chosen) {
			return fmt.Sprintf("set %s deletes machine %s: %s", s.GetName(), old.GetName(), d.Message)
		}
		return ""
	}
}

// planDeployments says which part of a write of the deployment controller was not decided: the sizes of sets, if the caches did
// not change meanwhile.
func planDeployments[D, S client.Object](lens dialect.Deployments[D, S]) func(t *task, old, now client.Object) string {
	size := func(o client.Object) int { return lens.Sets().View(lens.New(), o.(S)).Replicas }
	return func(t *task, old, now client.Object) string {
		g := t.saw
		_, isSet := now.(S)
		o := g.named("MachineDeployment", t.key.NamespacedName)
		if o == nil || !isSet || old == nil || g.overtaken || size(old) == size(now) {
			return ""
		}
		decided := func(g *observed, d D) ([]rollout.SetWant, bool) {
			view := lens.View(d, g.at)
			view.Connectivity = connectivity.Of(t.by.connectivity())
			sets := rollout.Decide(g.at, view.Deployment, facts(g, lens, d), view.Policy).Sets()
			return sets, slices.ContainsFunc(sets, func(w rollout.SetWant) bool { return w.UID == now.GetUID() && w.Replicas == size(now) })
		}
		sets, is := decided(g, o.(D))
		if is {
			return ""
		}
		if was := g.recalled; was != nil {
			if _, is := decided(was, was.named("MachineDeployment", t.key.NamespacedName).(D)); is {
				return ""
			}
		}
		return fmt.Sprintf("deployment %s gives set %s %d machines instead of %d, decided was %+v", o.GetName(), now.GetName(), size(now), size(old), sets)
	}
}

// machines are the machines that a deployment with the selector saw. A live listing by the selector does not find machines with
// other labels, so the deployment reads these from its cache.
func (g *observed) machines(selector labels.Selector) (out []client.Object) {
	found := func(m client.Object) bool { return m != nil && selector.Matches(labels.Set(m.GetLabels())) }
	listed := g.objects["Machine"]
	for _, m := range listed {
		if g.cached == nil || found(m) {
			out = append(out, m)
		}
	}
	for uid, m := range g.cached {
		if !found(m) && !found(listed[uid]) {
			out = append(out, m)
		}
	}
	return out
}

// facts are the sets of d with their machines, as the pass saw them.
func facts[D, S client.Object](g *observed, lens dialect.Deployments[D, S], d D) (out []rollout.Set) {
	selector := lens.View(d, g.at).Selector
	machines := g.machines(selector)
	for _, s := range g.objects["MachineSet"] {
		if !metav1.IsControlledBy(s, d) || !selector.Matches(labels.Set(s.GetLabels())) {
			continue
		}
		v := lens.Sets().View(d, s.(S))
		for _, m := range machines {
			if metav1.IsControlledBy(m, s) || metav1.GetControllerOf(m) == nil && dialect.Claims(lens.Sets().Lens().View(s.(S)).Selector, s, m) {
				v.Machines = append(v.Machines, lens.Machines().View(m, g.node))
			}
		}
		out = append(out, v)
	}
	return out
}
