package collect

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Detail has the facts that a page about an object shows.
type Detail struct {
	explain.Answer
	// Object is nil if no object or several objects have the name.
	Object client.Object
	// History is the history of a machine. It is nil for other kinds.
	History *explain.History
	// Node is the node of a machine. Pods are on this node, and Budgets cover these pods.
	Node *corev1.Node
	Pods []corev1.Pod
	// PodsRead says that the pods and their budgets could be read.
	PodsRead bool
	Budgets  []policyv1.PodDisruptionBudget
	// Departure is how a machine was deleted that does not exist any more; nil if that is not known.
	Departure *postmortem.Departure
	// Deployed is set for a deployment, Cohort for a health check.
	Deployed *Deployed
	Cohort   *Cohort
}

// Deployed has the facts about a deployment.
type Deployed struct {
	// Sets has the sets that the deployment controls.
	Sets []client.Object
	// Rollout is the input of the deployment's controller. It is nil if a part of the input could not be read.
	Rollout *explain.Rollout
	// Members has the answers about the unhealthy machines, the worst first.
	Members []explain.Answer
}

// Details explains the object that q names. It adds the history, node and pods of a machine, the sets of a
// deployment, or the cohort of a health check. It returns an error if it finds no object and a read fails. A
// forbidden read is a gap, not an error.
func Details(ctx context.Context, now time.Time, c Clusters, q Question) (Detail, error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}}
	found, err := l.find(ctx, q)
	if err != nil {
		return Detail{}, err
	}
	if len(found) != 1 {
		a, err := Ask(ctx, now, c, q)
		d := Detail{Answer: a, History: departed(ctx, l, q, found)}
		if d.History != nil {
			d.Departure = departure(ctx, l, q)
		}
		return d, err
	}
	d := Detail{Object: found[0]}
	switch o := d.Object.(type) {
	case *lenient.MachineHealthCheck:
		d.Cohort = cohort(ctx, l, o)
	default:
		switch subject(o).Kind {
		case "Machine":
			return machineDetail(ctx, l, d), nil
		case "MachineDeployment":
			d.Deployed = deployed(ctx, l, o)
		}
	}
	d.Answer = l.explain(ctx, d.Object)
	b := l.tree(ctx, d.Object, d.Answer)
	d.Answer.Tree, d.Answer.Gaps = &b, texts(l.gaps)
	return d, nil
}

func machineDetail(ctx context.Context, l *look, d Detail) Detail {
	f := l.machine(ctx, d.Object)
	if f.Node != nil && !f.PodsLooked {
		l.workloads(ctx, &f)
	}
	h := explain.MachineHistory(&f)
	h.Instance = explain.InstanceOf(&f, apis.Said(d.Object).Seen)
	d.Answer = explain.Machine(l.now, f).Doubting(apis.Doubts(d.Object))
	d.History, d.Node, d.Pods, d.Budgets = &h, f.Node, f.Pods, f.Budgets
	d.PodsRead = f.PodsLooked && !slices.ContainsFunc(l.gaps, func(g Gap) bool { return strings.HasPrefix(g.Text, budgetsUnread) })
	return d
}

func deployed(ctx context.Context, l *look, o client.Object) *Deployed {
	f := l.group(ctx, o)
	sets, _ := l.listed(ctx, kindOf(f.API, "MachineSet"), f.Namespace) // group has recorded the gap if the sets cannot be read
	return &Deployed{Sets: owned(sets, []types.UID{o.GetUID()}), Rollout: f.Rollout, Members: f.Members}
}

// departed returns the history of a machine that no longer exists, or nil if nothing about it is stored.
func departed(ctx context.Context, l *look, q Question, found []client.Object) *explain.History {
	if q.Kind != "Machine" || len(found) > 0 {
		return nil
	}
	e, d := l.evidence(ctx, q, ""), departure(ctx, l, q)
	var h explain.History
	switch {
	case e == nil && d == nil:
		return nil
	case e == nil:
		h = explain.DeletedHistory(*d, lastEvents(ctx, l, *d), texts(l.gaps))
	default:
		h = explain.DepartedHistory(*e, texts(l.gaps))
		if d != nil && d.UID == e.Record.UID {
			h = h.WithDeparture(*d)
		}
	}
	return &h
}

// Inactive returns the answers about controllers that do not run, according to their leases. all has the explained
// objects in the namespace of q.
func Inactive(ctx context.Context, now time.Time, c Clusters, q Question, all []Explained) []explain.Answer {
	l := &look{Clusters: c, now: now, memo: map[string]any{}, many: true}
	answers := make([]explain.Answer, 0, len(all))
	for _, e := range all {
		answers = append(answers, e.Answer)
	}
	return headlines(ctx, l, q.Namespace, answers)
}
