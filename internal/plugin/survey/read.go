// Package survey reads from clusters the objects for plan, preflight and rollout. It also sends changes to an API
// server as dry runs.
package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	millwright "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/project"
)

// Clusters has clients of the clusters to read.
type Clusters struct {
	// Control has the machines, Target has the nodes. Both are often the same cluster.
	Control client.Client
	Target  client.Reader
}

// Read has the objects that [All] has read.
type Read struct {
	project.Stored
	// Unknown has a text about each kind that could not be read, with the consequence for the plan.
	Unknown []string
	// limits has the machine disruption budgets.
	limits []millwright.MachineDisruptionBudget
	// removed has the durations of deletions of machines, by API.
	removed map[string][]time.Duration
}

// readKinds has the kinds that All reads from an API. A plan requires the machines and sets. All continues without
// deployments.
var readKinds = []string{"Machine", "MachineSet", "MachineDeployment"}

func lists(api string) (out []client.ObjectList) {
	a, _ := apis.Of(api)
	for _, k := range a.Kinds {
		if slices.Contains(readKinds, k.Name) {
			out = append(out, k.List())
		}
	}
	return out
}

// All reads the objects for a plan about the given objects. It fails only if machines or sets cannot be read.
func All(ctx context.Context, c Clusters, about []forecast.Object) (*Read, error) {
	r := &Read{}
	type place struct{ api, namespace string }
	seen := map[place]bool{}
	for _, o := range about {
		at := place{o.API, o.Namespace}
		if seen[at] {
			continue
		}
		seen[at] = true
		for i, list := range lists(o.API) {
			err := c.Control.List(ctx, list, client.InNamespace(o.Namespace))
			switch {
			case meta.IsNoMatchError(err):
			case err != nil && i == 2:
				r.unknown("machine deployments", err, "a deployment that controls one of these sets may undo or add to what is planned")
			case err != nil:
				return nil, fmt.Errorf("a plan needs all machines and machine sets: %w", err)
			}
			r.Objects = append(r.Objects, items(list)...)
		}
	}
	r.nodes(ctx, c.Target)
	r.pods(ctx, c.Target)
	r.volumes(ctx, c.Target)
	var err error
	if r.limits, err = budgets.Read(ctx, c.Control); err != nil {
		r.unknown("machine disruption budgets", err, "which disruptions wait for them is not known")
	}
	for at := range seen {
		r.removals(ctx, c.Control, at.api, at.namespace)
	}
	return r, nil
}

// unknown records that objects could not be read, and the consequence for the plan.
func (r *Read) unknown(what string, err error, so string) {
	why := err.Error()
	if apierrors.IsForbidden(err) {
		why = "you may not read them"
	}
	r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %s; %s", what, why, so))
}

func items(list client.ObjectList) (out []client.Object) {
	_ = meta.EachListItem(list, func(o runtime.Object) error { // each item of these lists is an object
		out = append(out, o.(client.Object))
		return nil
	})
	return out
}

func (r *Read) nodes(ctx context.Context, c client.Reader) {
	r.Nodes = map[string]*corev1.Node{}
	var list corev1.NodeList
	if err := c.List(ctx, &list); err != nil {
		r.NodesUnread = "nodes were not read"
		r.unknown("nodes", err, "machines that say that they run are taken for ready, and drains are not foreseen")
		return
	}
	for i := range list.Items {
		r.Nodes[list.Items[i].Name] = &list.Items[i]
	}
}

// mostAsked limits the nodes whose pods are listed node by node. For more nodes, one request lists all pods.
const mostAsked = 30

// pods reads the pods on the machines' nodes, and all disruption budgets.
func (r *Read) pods(ctx context.Context, c client.Reader) {
	r.Pods = map[string][]corev1.Pod{}
	if r.NodesUnread != "" {
		return
	}
	names := r.nodeNames()
	if err := r.listPods(ctx, c, names); err != nil {
		r.PodsUnread = "pods were not read"
		r.unknown("pods", err, "what drains meet is not known")
		return
	}
	var budgets policyv1.PodDisruptionBudgetList
	if err := c.List(ctx, &budgets); err != nil {
		r.PodsUnread = "disruption budgets were not read"
		r.unknown("disruption budgets", err, "what drains meet is not known")
		return
	}
	r.Budgets = budgets.Items
}

func (r *Read) listPods(ctx context.Context, c client.Reader, names []string) error {
	if len(names) > mostAsked {
		var all corev1.PodList
		if err := c.List(ctx, &all); err != nil {
			return err
		}
		for _, p := range all.Items {
			r.Pods[p.Spec.NodeName] = append(r.Pods[p.Spec.NodeName], p)
		}
		return nil
	}
	for _, name := range names {
		var some corev1.PodList
		if err := c.List(ctx, &some, client.MatchingFields{"spec.nodeName": name}); err != nil {
			return err
		}
		r.Pods[name] = some.Items
	}
	return nil
}

func nodeName(o client.Object) string {
	switch m := o.(type) {
	case *machinev1.Machine:
		if m.Status.NodeRef != nil {
			return m.Status.NodeRef.Name
		}
	case *v1alpha1.Machine:
		return m.Labels[v1alpha1.LabelKeyNode]
	}
	return ""
}

func (r *Read) nodeNames() (out []string) {
	for _, o := range r.Objects {
		if name := nodeName(o); name != "" && r.Nodes[name] != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mostToReady limits the time from the creation of a node to its first readiness. If the condition Ready changed
// later, the node was not ready in between.
const mostToReady = 10 * time.Minute

// Durations returns estimates of how long the machines of an API take to create and delete. The estimates use the
// objects and events that All has read.
func (r *Read) Durations(api string) forecast.Durations {
	var all []time.Duration
	var spans []span
	for _, o := range r.Objects {
		n := r.Nodes[nodeName(o)]
		if n == nil || project.ObjectOf(o).API != api {
			continue
		}
		ready := n.CreationTimestamp.Time
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && c.LastTransitionTime.Sub(ready) < mostToReady {
				ready = c.LastTransitionTime.Time
			}
		}
		if took := ready.Sub(o.GetCreationTimestamp().Time); took > 0 {
			all = append(all, took)
			spans = append(spans, span{o.GetCreationTimestamp().Time, ready})
		}
	}
	of, _ := apis.Of(api)
	out := forecast.Durations{
		Create:    median(all, "creations", "from creation to a ready node", "no machine here shows how long it took"),
		Delete:    median(r.removed[api], "deletions that events tell of", of.Removal.Span, "no event tells how long earlier ones took"),
		Undrained: of.Removal.Undrained,
		AtOnce:    atOnce(spans),
	}
	return out
}

// span is the time from the creation of a machine to its ready node.
type span struct{ from, to time.Time }

// atOnce returns the greatest number of spans that overlap.
func atOnce(spans []span) (most int) {
	type change struct {
		at time.Time
		by int
	}
	var all []change
	for _, s := range spans {
		all = append(all, change{s.from, 1}, change{s.to, -1})
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	now := 0
	for _, c := range all {
		now += c.by
		most = max(most, now)
	}
	return most
}

// median returns the median of the observed durations. Without durations, the estimate is unknown, and the parameter
// none is its source.
func median(all []time.Duration, what, span, none string) forecast.Estimate {
	if len(all) == 0 {
		return forecast.Estimate{Source: none}
	}
	all = slices.Sorted(slices.Values(all))
	machines := fmt.Sprintf("%d machines", len(all))
	if len(all) == 1 {
		machines = "1 machine"
	}
	return forecast.Estimate{Length: all[len(all)/2], Known: true, Source: fmt.Sprintf("%s: median of %s, %s", what, machines, span)}
}
