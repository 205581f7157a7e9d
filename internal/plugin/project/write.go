package project

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Carry implements [forecast.Model].
func (g *group[D, S]) Carry(now time.Time, p rollout.Plan) bool {
	g.changed = false
	facts := g.deployments.View(g.root, now).Deployment
	if len(facts.Faults) > 0 && !facts.Deleting {
		return false
	}
	if !p.Finished() && p.RollBack() == nil {
		g.adoptSets()
	}
	for _, a := range p.Actions {
		g.carry(now, a)
		if _, ok := a.(rollout.Report); ok && g.has && p.RollBack() == nil {
			g.root = g.root.DeepCopyObject().(D)
			g.deployments.Record(g.root, dialect.DeploymentOutcome[S]{Now: now, Deployment: facts, Plan: p, Sets: g.sets})
		}
	}
	return g.changed
}

func (g *group[D, S]) carry(now time.Time, a rollout.Action) {
	switch a := a.(type) {
	case rollout.Finish:
		g.changed, g.has = true, false
	case rollout.RollBack:
		g.rollBack(a)
	case rollout.Amend:
		g.editRoot(func(d D) { g.deployments.ApplyMetadata(d, g.sets, a) })
	case rollout.MarkVictims:
		if marker, ok := dialect.As[dialect.VictimMarker](g.deployments.Machines()); ok {
			for _, v := range a {
				g.editMachine(v.UID, func(m client.Object) { marker.MarkForDeletion(m, v.At) })
			}
		}
	case rollout.CreateSet:
		g.createSet(now, a.SetWant)
	case rollout.MarkNodes:
		g.markNodes(a)
	case rollout.MarkNodesLate:
		g.markNodes(a)
	case rollout.HandOver:
		g.move(a)
	case rollout.ApplySet:
		g.editSet(a.UID, func(s S) { g.deployments.Sets().Apply(g.root, s, a.SetWant) })
	case rollout.Unprotect:
		if mover, ok := dialect.As[dialect.Mover[S]](g.deployments.Machines()); ok {
			for _, m := range a {
				g.editMachine(m.UID, mover.Unprotect)
			}
		}
	case rollout.DeleteSets:
		for _, ref := range a {
			g.deleteSet(now, ref.UID)
		}
	}
}

func (g *group[D, S]) rollBack(b rollout.RollBack) {
	var to *S
	if b.To != nil {
		if i := g.set(b.To.UID); i >= 0 {
			to = &g.sets[i]
		}
	}
	g.editRoot(func(d D) { g.deployments.RollBack(d, to, b) })
}

func (g *group[D, S]) createSet(now time.Time, w rollout.SetWant) {
	g.serial++
	s := g.deployments.Sets().New(g.root, w)
	g.sets = append(g.sets, born(now, s, types.UID(fmt.Sprintf("new-set-%d", g.serial))).(S))
	g.changed = true
}

func (g *group[D, S]) markNodes(wants []rollout.NodeWant) {
	for _, w := range wants {
		n := g.nodes[w.Node]
		if n == nil {
			continue
		}
		after, changed := edit(n, func(n *corev1.Node) { g.deployments.Machines().MarkNode(n, w) })
		g.nodes[w.Node], g.changed = after, g.changed || changed
	}
}

func (g *group[D, S]) move(moves []rollout.Move) {
	mover, ok := dialect.As[dialect.Mover[S]](g.deployments.Machines())
	if !ok {
		return
	}
	for _, m := range moves {
		from, to := g.set(m.From), g.set(m.To)
		if from >= 0 && to >= 0 {
			g.editMachine(m.UID, func(o client.Object) { mover.Move(o, g.sets[from], g.sets[to]) })
		}
	}
}

// adoptSets makes sets without a controller the deployment's.
func (g *group[D, S]) adoptSets() {
	for _, s := range g.sets {
		if metav1.GetControllerOfNoCopy(s) == nil && s.GetDeletionTimestamp() == nil {
			ref := *metav1.NewControllerRef(g.root, g.deployments.Traits().Kind)
			g.editSet(s.GetUID(), func(s S) { s.SetOwnerReferences(append(s.GetOwnerReferences(), ref)) })
		}
	}
}

// deleteSet marks a set, or removes it if no finalizer holds it.
func (g *group[D, S]) deleteSet(now time.Time, uid types.UID) {
	i := g.set(uid)
	if i < 0 || g.sets[i].GetDeletionTimestamp() != nil {
		return
	}
	g.changed = true
	if len(g.sets[i].GetFinalizers()) == 0 {
		g.gone[uid] = true
		g.sets = slices.Delete(g.sets, i, i+1)
		return
	}
	g.editSet(uid, func(s S) { doom(now, s) })
}

// Settle implements [forecast.Model].
func (g *group[D, S]) Settle(now time.Time) (out []forecast.Step) {
	out = append(g.asked(), g.collect(now)...)
	for _, s := range slices.Clone(g.sets) {
		v := g.lens.View(s)
		if v.Deleting || v.Paused != "" || len(v.Faults) > 0 {
			continue
		}
		out = append(out, g.claim(s)...)
		out = append(out, g.propagate(s)...)
		out = append(out, g.keep(s)...)
		out = append(out, g.judge(s)...)
	}
	return out
}

// asked are the machines that the change itself creates and deletes.
func (g *group[D, S]) asked() (out []forecast.Step) {
	for _, m := range g.machines {
		kind, ok := g.w.asked[m.GetUID()]
		if !ok || g.told[m.GetUID()] {
			continue
		}
		g.told[m.GetUID()] = true
		step := forecast.Step{Kind: kind, Count: 1, Machines: []forecast.Subject{{Name: m.GetName(), UID: m.GetUID()}}, Reason: "asked for"}
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
			step.Set = ref.Name
		}
		out = append(out, step)
	}
	return out
}

// collect does the work of the garbage collector: it deletes objects that have lost their owner.
func (g *group[D, S]) collect(now time.Time) (out []forecast.Step) {
	for _, s := range slices.Clone(g.sets) {
		if ref := metav1.GetControllerOfNoCopy(s); ref != nil && g.gone[ref.UID] && s.GetDeletionTimestamp() == nil {
			g.deleteSet(now, s.GetUID())
			out = append(out, forecast.Step{Kind: forecast.DeleteSet, Set: s.GetName(), Reason: "its deployment is being deleted"})
		}
	}
	doomed := map[string][]forecast.Subject{}
	var sets []string
	for _, m := range slices.Clone(g.machines) {
		ref := metav1.GetControllerOfNoCopy(m)
		if ref == nil || !g.gone[ref.UID] || m.GetDeletionTimestamp() != nil {
			continue
		}
		if !slices.Contains(sets, ref.Name) {
			sets = append(sets, ref.Name)
		}
		doomed[ref.Name] = append(doomed[ref.Name], forecast.Subject{Name: m.GetName(), UID: m.GetUID(), Reason: replicas.WhyCascade})
		g.deleteMachine(now, m.GetUID())
	}
	for _, name := range sets {
		out = append(out, forecast.Step{Kind: forecast.Delete, Set: name, Count: len(doomed[name]), Machines: doomed[name], Reason: "the garbage collector deletes what its set leaves"})
	}
	return out
}

// claim adopts and releases machines.
func (g *group[D, S]) claim(s S) (out []forecast.Step) {
	ref := *metav1.NewControllerRef(s, g.lens.Traits().Kind)
	for _, m := range slices.Clone(g.machines) {
		owner := metav1.GetControllerOfNoCopy(m)
		t := replicas.Tie{
			Ours: owner != nil && owner.UID == s.GetUID(), Free: owner == nil,
			Matches:         g.lens.View(s).Selector.Matches(labels.Set(m.GetLabels())),
			MachineDeleting: m.GetDeletionTimestamp() != nil,
		}
		step := forecast.Step{Set: s.GetName(), Count: 1, Machines: []forecast.Subject{{Name: m.GetName(), UID: m.GetUID()}}}
		switch replicas.Claim(t) {
		case replicas.Adopt:
			g.editMachine(m.GetUID(), func(m client.Object) { m.SetOwnerReferences(append(m.GetOwnerReferences(), ref)) })
			step.Kind, step.Reason = forecast.Adopt, "the selector matches it, and it has no controller"
		case replicas.Release:
			g.editMachine(m.GetUID(), func(m client.Object) {
				m.SetOwnerReferences(slices.DeleteFunc(m.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == s.GetUID() }))
			})
			step.Kind, step.Reason = forecast.Release, "the selector does not match it any more"
		default:
			continue
		}
		out = append(out, step)
	}
	return out
}

// propagate copies to living machines those fields of the template that need no new machines.
func (g *group[D, S]) propagate(s S) []forecast.Step {
	var changed []forecast.Subject
	for _, m := range g.of(s) {
		if m.GetDeletionTimestamp() != nil || !g.lens.Propagate(s, m, true) {
			continue
		}
		g.editMachine(m.GetUID(), func(m client.Object) { g.lens.Propagate(s, m, false) })
		if !g.fresh[m.GetUID()] {
			changed = append(changed, forecast.Subject{Name: m.GetName(), UID: m.GetUID()})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return []forecast.Step{{Kind: forecast.Amend, Set: s.GetName(), Count: len(changed), Machines: changed, Reason: "they follow the template in place"}}
}

// keep chooses failed machines to keep for inspection.
func (g *group[D, S]) keep(s S) (out []forecast.Step) {
	preserver, ok := dialect.As[dialect.SetPreserver](g.lens)
	if !ok {
		return nil
	}
	var members []replicas.Member
	for _, m := range g.of(s) {
		members = append(members, g.lens.Member(s, m, g.node))
	}
	for _, c := range replicas.AutoKeep(g.lens.View(s).Set, members) {
		i := slices.IndexFunc(g.machines, func(m client.Object) bool { return m.GetName() == c.Name })
		g.editMachine(g.machines[i].GetUID(), func(m client.Object) { preserver.PreserveMachine(m, c.Keep) })
		reason := "it failed, and is kept for inspection"
		if !c.Keep {
			reason = "it is no longer kept for inspection"
		}
		out = append(out, forecast.Step{Kind: forecast.Amend, Set: s.GetName(), Count: 1, Machines: []forecast.Subject{{Name: c.Name, Reason: reason}}})
	}
	return out
}

// judge freezes a set with far too many machines, and thaws one.
func (g *group[D, S]) judge(s S) []forecast.Step {
	f, ok := g.lens.(dialect.Freezer[S])
	if !ok {
		return nil
	}
	s = g.sets[g.set(s.GetUID())]
	var parent client.Object
	if g.has {
		parent = g.root
	}
	j := limits.Judge(f.Crowd(s, parent, g.of(s)), limits.DefaultMargins)
	step := forecast.Step{Set: s.GetName(), Reason: j.Message}
	switch j.Act {
	case limits.Freeze:
		g.editSet(s.GetUID(), func(s S) { f.Freeze(s, true) })
		step.Kind = forecast.Freeze
	case limits.Thaw:
		g.editSet(s.GetUID(), func(s S) { f.Freeze(s, false) })
		step.Kind = forecast.Thaw
	default:
		return nil
	}
	return []forecast.Step{step}
}

// Act implements [forecast.Model]. The status of a set is written in the pass after one that created or deleted, as its controller does.
func (g *group[D, S]) Act(now time.Time, uid types.UID, d replicas.Decision) (created []types.UID) {
	i := g.set(uid)
	if i < 0 {
		return nil
	}
	s := g.sets[i]
	if d.Finished && s.GetDeletionTimestamp() != nil {
		g.sets = slices.Delete(g.sets, i, i+1)
		return nil
	}
	for range d.Create {
		g.serial++
		m := g.lens.NewMachine(s, dialect.MachineName(s.GetName(), fmt.Sprintf("~%04d", g.serial)))
		m = born(now, m, types.UID(fmt.Sprintf("new-%06d", g.serial)))
		g.fresh[m.GetUID()], g.since[m.GetUID()] = true, now
		g.machines = append(g.machines, m)
		created = append(created, m.GetUID())
	}
	for _, v := range d.Delete {
		g.deleteMachine(now, v.UID)
	}
	if !d.Acts() {
		g.record(now, s, d)
	}
	return created
}

func (g *group[D, S]) record(now time.Time, s S, d replicas.Decision) {
	v := g.lens.View(s)
	var members []replicas.Member
	machines := g.of(s)
	for _, m := range machines {
		members = append(members, g.lens.Member(s, m, g.node))
	}
	after := s.DeepCopyObject().(S)
	g.lens.Record(after, dialect.SetOutcome{
		Now: now, Faults: v.Faults, Tally: replicas.Count(now, members, v.Policy), Machines: machines, Judged: true, Withheld: d.Withheld, Held: d.Held,
	})
	g.sets[g.set(s.GetUID())] = after
}

func (g *group[D, S]) deleteMachine(now time.Time, uid types.UID) {
	g.editMachine(uid, func(m client.Object) {
		doom(now, m)
		g.leave(m)
	})
	g.since[uid] = now
}

// Become implements [forecast.Model].
func (g *group[D, S]) Become(now time.Time, uid types.UID, to forecast.State) {
	i := g.machine(uid)
	if i < 0 {
		return
	}
	switch to {
	case forecast.Updated:
		v, _ := g.view(g.machines[i])
		n := g.nodes[v.Recorded.NodeName].DeepCopy()
		g.updated(n)
		g.nodes[v.Recorded.NodeName] = n
	case forecast.Gone:
		g.machines = slices.Delete(g.machines, i, i+1)
	case forecast.Running:
		m := g.machines[i].DeepCopyObject().(client.Object)
		v, _ := g.view(m)
		name := v.Recorded.NodeName
		if name == "" {
			name = m.GetName()
		}
		g.run(m, name, now)
		g.nodes[name] = readyNode(name, now)
		g.machines[i] = m
	}
}
