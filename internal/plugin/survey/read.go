// Package survey reads from clusters the objects for a plan, and lets an API server try changes without
// storing them.
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

// Clusters are the clusters to read.
type Clusters struct {
	// Control has the machines, Target the nodes; often one and the same.
	Control client.Client
	Target  client.Reader
}

// Read has the objects that were read.
type Read struct {
	project.Stored
	// Unknown says which objects could not be read, and what is unknown because of that.
	Unknown []string
	// limits are the machine disruption budgets.
	limits []millwright.MachineDisruptionBudget
	// removed are the durations of deletions of machines, by their API.
	removed map[string][]time.Duration
}

// readKinds are the kinds that are read from an API. Without machines and sets no plan is possible;
// deployments may not matter.
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

// All reads the objects that concern these.
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

// unknown notes an object that could not be read, and the consequence.
func (r *Read) unknown(what string, err error, so string) {
	why := err.Error()
	if apierrors.IsForbidden(err) {
		why = "you may not read them"
	}
	r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %s; %s", what, why, so))
}

func items(list client.ObjectList) (out []client.Object) {
	_ = meta.EachListItem(list, func(o runtime.Object) error { // a typed list of objects has no others
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

// mostAsked is how many nodes are read one by one.
const mostAsked = 30

// pods reads those of the machines' nodes, and all disruption budgets.
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

// mostToReady is the longest time after its node appeared in which a machine can have become ready for the
// first time. A later time is about a node that was not ready in between.
const mostToReady = 10 * time.Minute

// Durations are how long machines of an API took, as far as objects show that.
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

// span is the time in which a machine came up.
type span struct{ from, to time.Time }

// atOnce is the greatest number of machines that came up at the same time.
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

// median is the median of the observed durations.
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
