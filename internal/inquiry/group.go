package inquiry

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
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/rollout"
	"github.com/millwright-dev/millwright/internal/said"
	"github.com/millwright-dev/millwright/internal/why"
)

// group finds out all that concerns a set or a deployment.
func (l *look) group(ctx context.Context, o client.Object) why.GroupFacts {
	f := why.GroupFacts{Subject: subject(o), Created: o.GetCreationTimestamp().Time, Said: said.By(o)}
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
		f.Updated = f.Wanted
	case *v1alpha1.MachineSet:
		v, st := gardener.Sets{}.View(g), g.Status
		f.Wanted, f.Faults, observed = v.Replicas, v.Faults, st.ObservedGeneration
		f.Have, f.Ready, f.Available = int(st.Replicas), int(st.ReadyReplicas), int(st.AvailableReplicas)
		f.Updated, f.Frozen = f.Wanted, g.Labels[v1alpha1.LabelKeyFreeze] == v1alpha1.LabelValueTrue
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
	f.Members = l.members(ctx, f.Subject, owners)
	if why.Group(l.now, f).State != why.Healthy {
		f.Controller = l.setController(ctx, f.Subject)
	}
	f.Gaps = l.gaps
	return f
}

// deployed reads a deployment's own view and its sets, and returns their UIDs.
func deployed[S client.Object](ctx context.Context, l *look, f *why.GroupFacts, d rollout.Deployment, view func(S) rollout.Set) (owners []types.UID) {
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
func canary(now time.Time, f *why.GroupFacts, d rollout.Deployment, s rollout.Set) {
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

// severity orders answers: what holds a group up most comes first.
var severity = []why.State{why.Failed, why.Stuck, why.Degraded, why.Waiting, why.Unknown, why.Progressing, why.Deleting}

// members are the answers about the machines of the given owners that are not in
// order. All are judged by their own words and their nodes; the worst is looked
// at closely.
func (l *look) members(ctx context.Context, s why.Subject, owners []types.UID) []why.Answer {
	list := kindOf(s.API, "Machine").list()
	if err := l.Control.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		l.gap("machines", err)
		return nil
	}
	nodes, looked := l.nodes(ctx)
	type member struct {
		object client.Object
		answer why.Answer
	}
	var unwell []member
	for _, o := range items(list) {
		if !slices.ContainsFunc(owners, func(uid types.UID) bool { return controls(uid, o) }) {
			continue
		}
		f := machineOf(o)
		f.Node, f.NodeLooked = nodes[f.View.NodeName], looked
		if a := why.Machine(l.now, *f); a.State != why.Healthy {
			unwell = append(unwell, member{o, a})
		}
	}
	slices.SortStableFunc(unwell, func(a, b member) int {
		return slices.Index(severity, a.answer.State) - slices.Index(severity, b.answer.State)
	})
	out := make([]why.Answer, len(unwell))
	for i, m := range unwell {
		out[i] = m.answer
	}
	if len(unwell) > 0 {
		out[0] = why.Machine(l.now, l.machine(ctx, unwell[0].object))
	}
	return out
}

func (l *look) nodes(ctx context.Context) (map[string]*corev1.Node, bool) {
	var list corev1.NodeList
	if err := l.Target.List(ctx, &list); err != nil {
		l.gap("nodes", err)
		return nil, false
	}
	out := map[string]*corev1.Node{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out, true
}
