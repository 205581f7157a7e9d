package collect

import (
	"context"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// group finds out all that concerns a set or a deployment.
func (l *look) group(ctx context.Context, o client.Object) explain.GroupFacts {
	f := explain.GroupFacts{Subject: subject(o), Created: o.GetCreationTimestamp().Time, Said: status.By(o)}
	if t := o.GetDeletionTimestamp(); t != nil {
		f.Deleted = t.Time
	}
	owners := []types.UID{o.GetUID()}
	observed := int64(0)
	switch g := o.(type) {
	case *machinev1.MachineSet:
		v, st := openshift.Sets{}.View(g), g.Status
		f.Wanted, f.Faults, observed = v.Replicas, v.Faults, st.ObservedGeneration
		f.Have, f.Ready, f.Available = int(st.Replicas), int(st.ReadyReplicas), int(st.AvailableReplicas)
		f.Updated, f.Decision = f.Wanted, decided(ctx, l, f.Subject, openshift.Sets{}, g)
	case *v1alpha1.MachineSet:
		v, st := gardener.Sets{}.View(g), g.Status
		f.Wanted, f.Faults, observed = v.Replicas, v.Faults, st.ObservedGeneration
		f.Have, f.Ready, f.Available = int(st.Replicas), int(st.ReadyReplicas), int(st.AvailableReplicas)
		f.Updated, f.Frozen = f.Wanted, g.Labels[v1alpha1.LabelKeyFreeze] == v1alpha1.LabelValueTrue
		f.Decision = decided(ctx, l, f.Subject, gardener.Sets{}, g)
	case *v1beta1.MachineDeployment:
		st := g.Status
		observed = st.ObservedGeneration
		f.Have, f.Ready, f.Available, f.Updated = int(st.Replicas), int(st.ReadyReplicas), int(st.AvailableReplicas), int(st.UpdatedReplicas)
		lens := openshift.Deployments{}
		owners = deployed(ctx, l, &f, lens.View(g, l.now), func(s *machinev1.MachineSet) rollout.Set { return lens.ViewSet(g, s) })
	case *v1alpha1.MachineDeployment:
		st := g.Status
		observed = st.ObservedGeneration
		f.Have, f.Ready, f.Available, f.Updated = int(st.Replicas), int(st.ReadyReplicas), int(st.AvailableReplicas), int(st.UpdatedReplicas)
		lens := gardener.Deployments{}
		owners = deployed(ctx, l, &f, lens.View(g, l.now), func(s *v1alpha1.MachineSet) rollout.Set { return lens.ViewSet(g, s) })
		f.Frozen = g.Labels[v1alpha1.LabelKeyFreeze] == v1alpha1.LabelValueTrue
	}
	f.Unseen = observed < o.GetGeneration()
	f.Rivals = l.rivals(ctx, f.Subject, o)
	f.Members = l.members(ctx, f.Subject, owners)
	if explain.Group(l.now, f).State != explain.Healthy {
		f.Controller = l.setController(ctx, f.Subject)
	}
	f.Gaps = l.gaps
	return f
}

// decided is what the controller of a set would decide on what is stored; its zero
// value where its machines cannot be read.
func decided[S client.Object](ctx context.Context, l *look, at explain.Subject, lens dialect.Sets[S], s S) (d replicas.Decision) {
	list, err := l.listed(ctx, kindOf(at.API, "Machine"), at.Namespace)
	if err != nil {
		return d
	}
	nodes, _ := l.nodes(ctx)
	var members []replicas.Member
	for _, m := range owned(list, []types.UID{s.GetUID()}) {
		members = append(members, lens.Member(s, m, func(name string) *corev1.Node { return nodes[name] }))
	}
	return replicas.Decide(l.now, lens.View(s), members, lens.Policy(s))
}

// deployed reads a deployment's own view and its sets, and returns their UIDs.
func deployed[S client.Object](ctx context.Context, l *look, f *explain.GroupFacts, d rollout.Deployment, view func(S) rollout.Set) (owners []types.UID) {
	f.Wanted, f.Paused, f.Faults = d.Replicas, d.Paused, d.Faults
	k := kindOf(f.API, "MachineSet")
	list := k.list()
	if err := l.Control.List(ctx, list, client.InNamespace(f.Namespace)); err != nil {
		l.gap("machinesets", err)
		return nil
	}
	for _, o := range items(list) {
		if !controls(d.UID, o) {
			continue
		}
		owners = append(owners, o.GetUID())
		if s := view(o.(S)); s.Current {
			canary(l.now, f, d, s)
		}
	}
	return owners
}

// canary notes that the rollout waits at its canary: the present set is no
// larger than that, and neither a person nor the time has let it go on.
func canary(now time.Time, f *explain.GroupFacts, d rollout.Deployment, s rollout.Set) {
	g := d.Guard
	if g.Canary == nil || s.Notes.CanarySince.IsZero() || g.Approved != 0 && g.Approved == s.Revision {
		return
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(g.Canary, d.Replicas, true)
	over := g.Soak > 0 && !now.Before(s.Notes.CanarySince.Add(g.Soak))
	if err != nil || s.Replicas > max(1, most) || s.Replicas >= d.Replicas || over {
		return
	}
	f.CanarySince, f.Soak, f.Revision = s.Notes.CanarySince, g.Soak, s.Revision
}

// closeMembers is how many machines of a group are looked at closely.
const closeMembers = 3

// members are the answers about the machines of the given owners that are not in
// order, the worst first. All are judged by their own words and their nodes; some of
// the worst are looked at closely.
func (l *look) members(ctx context.Context, s explain.Subject, owners []types.UID) (out []explain.Answer) {
	list, err := l.listed(ctx, kindOf(s.API, "Machine"), s.Namespace)
	l.gap("machines", err)
	nodes, looked := l.nodes(ctx)
	unwell := map[explain.Subject]client.Object{}
	for _, o := range owned(list, owners) {
		f := machineOf(o)
		l.withNode(f, nodes[f.View.Recorded.NodeName], looked)
		if a := explain.Machine(l.now, *f); a.State != explain.Healthy {
			out = append(out, a)
			unwell[a.Subject] = o
		}
	}
	slices.SortStableFunc(out, explain.WorstFirst)
	for i := range out[:min(len(out), closeMembers)] {
		out[i] = explain.Machine(l.now, l.machine(ctx, unwell[out[i].Subject]))
	}
	slices.SortStableFunc(out, explain.WorstFirst)
	return out
}

// nodes are those of the cluster by their names, read once.
func (l *look) nodes(ctx context.Context) (map[string]*corev1.Node, bool) {
	out, err := once(l, "nodes", func() (map[string]*corev1.Node, error) {
		var list corev1.NodeList
		if err := l.Target.List(ctx, &list); err != nil {
			return nil, err
		}
		out := map[string]*corev1.Node{}
		for i := range list.Items {
			out[list.Items[i].Name] = &list.Items[i]
		}
		return out, nil
	})
	l.gap("nodes", err)
	return out, err == nil
}
