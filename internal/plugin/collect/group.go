package collect

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// group reads all facts about a set or a deployment.
func (l *look) group(ctx context.Context, o client.Object) explain.GroupFacts {
	said := apis.Said(o)
	f := explain.GroupFacts{Subject: subject(o), Created: o.GetCreationTimestamp().Time, Said: said.Statements, Frozen: said.Frozen}
	if t := o.GetDeletionTimestamp(); t != nil {
		f.Deleted = t.Time
	}
	owners, counts := []types.UID{o.GetUID()}, said.Counts
	f.Have, f.Ready, f.Available, f.Updated = counts.Have, counts.Ready, counts.Available, counts.Updated
	f.Unseen = counts.Observed < o.GetGeneration()
	if api := of(f.Subject); f.Kind == "MachineSet" {
		v := api.Sets.View(o)
		f.Wanted, f.Updated, f.Faults, f.Decision = v.Replicas, v.Replicas, v.Faults, l.decided(ctx, f.Subject, o)
	} else {
		owners = l.deployed(ctx, &f, o)
	}
	f.Said = append(f.Said, refused(ctx, l, f, o)...)
	f.Rivals = l.rivals(ctx, f.Subject, o)
	f.Members = l.members(ctx, f.Subject, owners)
	if explain.Group(l.now, f).State != explain.Healthy {
		f.Controller = l.setController(ctx, f.Subject)
	}
	f.Gaps = texts(l.gaps)
	return f
}

// refused returns the last failed creation of a machine, from the set's events. The controllers of the original and
// of earlier versions do not write a condition about it.
func refused(ctx context.Context, l *look, f explain.GroupFacts, o client.Object) []postmortem.Statement {
	if f.Kind != "MachineSet" || f.Have >= f.Wanted || f.Said != nil && slices.ContainsFunc(f.Said, func(s postmortem.Statement) bool { return s.About == explain.ReplicaFailure }) {
		return nil
	}
	for _, e := range slices.Backward(l.events(ctx, o)) {
		switch {
		case e.Type == corev1.EventTypeNormal && l.now.Sub(e.At) < freshEvent: // the set creates machines
			return nil
		case e.Type == corev1.EventTypeWarning && l.now.Sub(e.At) < freshEvent && (e.Reason == "ReconcileError" || e.Reason == "FailedCreate"):
			return []postmortem.Statement{{About: explain.RefusedEvent, Reason: e.Reason, Message: e.Message, Since: e.At}}
		}
	}
	return nil
}

// freshEvent is the maximum age of an event that explains missing machines. Each attempt repeats the event, and two
// attempts may be 15 minutes apart.
const freshEvent = 30 * time.Minute

// decided returns the decision that the controller of a set would make from the stored objects. It returns the zero
// value if the machines cannot be read.
func (l *look) decided(ctx context.Context, at explain.Subject, s client.Object) (d replicas.Decision) {
	list, err := l.listed(ctx, kindOf(at.API, "Machine"), at.Namespace)
	if err != nil {
		return d
	}
	nodes, _ := l.nodes(ctx)
	machines := owned(list, []types.UID{s.GetUID()})
	return of(at).Sets.Decide(l.now, s, machines, func(name string) *corev1.Node { return nodes[name] })
}

// deployed reads the objects that the controller of a deployment reads, and returns the UIDs of its sets. If some
// objects cannot be read, f.Rollout stays nil.
func (l *look) deployed(ctx context.Context, f *explain.GroupFacts, o client.Object) (owners []types.UID) {
	api := of(f.Subject)
	d := api.Deployments.View(o, l.now)
	f.Wanted, f.Paused, f.Faults = d.Replicas, d.Paused, d.Faults
	list, err := l.listed(ctx, kindOf(f.API, "MachineSet"), f.Namespace)
	l.gap("machinesets", err)
	sets := owned(list, []types.UID{o.GetUID()})
	for _, s := range sets {
		owners = append(owners, s.GetUID())
	}
	machines, unread := l.listed(ctx, kindOf(f.API, "Machine"), f.Namespace)
	nodes, looked := l.nodes(ctx)
	if err != nil || unread != nil || !looked {
		return owners
	}
	var r explain.Rollout
	r.Deployment, r.Sets, r.Policy = api.Deployments.Rollout(l.now, o, sets, func(s client.Object) []client.Object { return owned(machines, []types.UID{s.GetUID()}) },
		func(name string) *corev1.Node { return nodes[name] })
	alarm(ctx, l, f.Namespace, r.Sets)
	f.Rollout = &r
	l.memo[rolloutKey(o)] = &r
	return owners
}

// rolloutKey returns the key of the input of a deployment's controller.
func rolloutKey(deployment client.Object) string { return "rollout/" + string(deployment.GetUID()) }

// alarm sets the alarm of each set to AlarmUnsure if the namespace has health checks: this package does not ask them
// whether they stop a rollout. A rollout that a health check has stopped then stays stopped.
func alarm(ctx context.Context, l *look, namespace string, sets []rollout.Set) {
	for _, a := range apis.All {
		if a.Checks == nil {
			continue
		}
		checks, err := l.listed(ctx, kindOf(a.Name, a.Checks.Kind().Kind), namespace)
		if meta.IsNoMatchError(err) || err == nil && len(checks) == 0 {
			continue
		}
		for i := range sets {
			sets[i].Alarm = rollout.Alarm{State: rollout.AlarmUnsure}
		}
	}
}

// members returns the answers about the unhealthy machines of the owners, the worst first. It judges all machines by
// their status and node, and examines some of the worst in detail.
func (l *look) members(ctx context.Context, s explain.Subject, owners []types.UID) (out []explain.Answer) {
	list, err := l.listed(ctx, kindOf(s.API, "Machine"), s.Namespace)
	l.gap("machines", err)
	unwell := map[explain.Subject]client.Object{}
	for _, o := range owned(list, owners) {
		if a := outline(ctx, l, o).answer; a.State != explain.Healthy {
			out = append(out, a)
			unwell[a.Subject] = o
		}
	}
	slices.SortStableFunc(out, explain.WorstFirst)
	l.many = l.many || len(out) > 1
	for i := range out {
		out[i] = closer(ctx, l, unwell[out[i].Subject], out[i])
	}
	slices.SortStableFunc(out, explain.WorstFirst)
	return out
}

// nodes returns the nodes of the target cluster by name, and whether they could be read. It reads the nodes once.
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
