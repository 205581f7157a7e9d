package collect

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// Detail is one object with everything that a page about it shows.
type Detail struct {
	explain.Answer
	// Object is nil if it does not exist.
	Object client.Object
	// History is that of a machine; nil for other kinds.
	History *explain.History
	// Node is that of a machine, with its pods and the disruption budgets that cover them.
	Node    *corev1.Node
	Pods    []corev1.Pod
	Budgets []policyv1.PodDisruptionBudget
	// Deployed is about a deployment, Cohort about a health check; nil for other kinds.
	Deployed *Deployed
	Cohort   *Cohort
}

// Deployed has the facts about a deployment.
type Deployed struct {
	// Sets are those that it controls.
	Sets []client.Object
	// Rollout is the input of its controller; nil if not all of it could be read.
	Rollout *explain.Rollout
	// Members are the answers about its machines that are not in order, the worst first.
	Members []explain.Answer
}

// Details explains the object that q names, and shows a machine's history, node and pods, the sets of a deployment, and
// the machines of a health check. It fails if nothing could be read at all.
func Details(ctx context.Context, now time.Time, c Clusters, q Question) (Detail, error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}}
	found, err := l.find(ctx, q)
	if err != nil {
		return Detail{}, err
	}
	if len(found) != 1 {
		a, err := Ask(ctx, now, c, q)
		return Detail{Answer: a, History: departed(ctx, l, q, found)}, err
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
	return d
}

func deployed(ctx context.Context, l *look, o client.Object) *Deployed {
	f := l.group(ctx, o)
	sets, _ := l.listed(ctx, kindOf(f.API, "MachineSet"), f.Namespace) // group has noted why they could not be read
	return &Deployed{Sets: owned(sets, []types.UID{o.GetUID()}), Rollout: f.Rollout, Members: f.Members}
}

// departed is the stored history of a machine that does not exist any more; nil if none is kept.
func departed(ctx context.Context, l *look, q Question, found []client.Object) *explain.History {
	if q.Kind != "Machine" || len(found) > 0 {
		return nil
	}
	e := l.evidence(ctx, q, "")
	if e == nil {
		return nil
	}
	h := explain.DepartedHistory(*e, texts(l.gaps))
	return &h
}

// Inactive returns the answers about controllers that do not run, by their leases. All are the explained objects
// of q's namespace.
func Inactive(ctx context.Context, now time.Time, c Clusters, q Question, all []Explained) []explain.Answer {
	l := &look{Clusters: c, now: now, memo: map[string]any{}, many: true}
	answers := make([]explain.Answer, 0, len(all))
	for _, e := range all {
		answers = append(answers, e.Answer)
	}
	return headlines(ctx, l, q.Namespace, answers)
}
