package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// mostCloseLooks limits the machines that one answer examines in detail, because each examination costs several
// requests. The answer says that it did not examine the other machines.
const mostCloseLooks = 40

// clusterKind is the kind of the subject of a question about all namespaces.
const clusterKind = "Cluster"

// overview explains all objects in a namespace, or in all namespaces, the worst first.
func (l *look) overview(ctx context.Context, q Question) (explain.Answer, error) {
	s, namespace := explain.Subject{Kind: q.Kind, Name: q.Name}, q.Name
	if q.Everywhere {
		s.Kind, namespace = clusterKind, ""
	}
	objects, err := everything(ctx, l, q, namespace)
	if err != nil {
		return explain.Answer{}, err
	}
	l.many = true
	f := explain.OverviewFacts{Subject: s, NoKinds: noKinds(ctx, l, q, namespace)}
	for _, o := range objects {
		f.Objects = append(f.Objects, l.glance(ctx, o))
	}
	f.Controllers = headlines(ctx, l, namespace, f.Objects)
	if !q.Everywhere {
		f.Deleted, f.Held = leaving(ctx, l, namespace)
	}
	if !q.Everywhere && q.Namespace == "" { // the user named no namespace
		f.Elsewhere = elsewhere(ctx, l, q)
	}
	f.Gaps = texts(l.gaps)
	return explain.Overview(l.now, f), nil
}

// elsewhere returns the number of objects outside of the question's namespace that may need the user's attention. It
// returns 0 if the user may not list all namespaces.
func elsewhere(ctx context.Context, l *look, q Question) (n int) {
	b := &look{Clusters: l.Clusters, now: l.now, memo: map[string]any{}, many: true, brief: true}
	objects, err := everything(ctx, b, Question{API: q.API}, "")
	if err != nil {
		return 0
	}
	for _, o := range objects {
		if o.GetNamespace() == q.Name {
			continue
		}
		switch b.glance(ctx, o).State {
		case explain.Failed, explain.Stuck, explain.Degraded, explain.Waiting:
			n++
		}
	}
	return n
}

// noKinds reports whether the API server serves none of the kinds.
func noKinds(ctx context.Context, l *look, q Question, namespace string) bool {
	for _, k := range all {
		if k.core() || q.API != "" && q.API != k.api {
			continue
		}
		if _, err := l.listed(ctx, k, namespace); !meta.IsNoMatchError(err) {
			return false
		}
	}
	return true
}

// leaving returns the time at which the deletion of a namespace began, and what blocks the deletion. The time is zero
// if the namespace is not under deletion.
func leaving(ctx context.Context, l *look, name string) (deleted time.Time, held []string) {
	var n corev1.Namespace
	err := l.Control.Get(ctx, client.ObjectKey{Name: name}, &n)
	l.gap("namespace "+name, err)
	if err != nil || n.DeletionTimestamp == nil {
		return deleted, nil
	}
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			held = append(held, c.Message)
		}
	}
	return n.DeletionTimestamp.Time, held
}

// headlines returns the answers about controllers that do not run, for the APIs with objects.
func headlines(ctx context.Context, l *look, namespace string, answers []explain.Answer) (out []explain.Answer) {
	for _, a := range apis.All {
		var machines, groups []explain.Answer
		for _, o := range answers {
			switch {
			case o.API != a.Name || o.Kind == "MachineClass":
			case o.Kind == "Machine":
				machines = append(machines, o)
			default:
				groups = append(groups, o)
			}
		}
		s := explain.Subject{API: a.Name, Namespace: namespace}
		if len(machines) > 0 {
			out = append(out, some(l.machineController(ctx, s).Headline(l.now, a.Name, unseen(machines)))...)
		}
		if len(groups) > 0 {
			out = append(out, some(l.setController(ctx, s).Headline(l.now, a.Name, unseen(groups)))...)
		}
	}
	return out
}

// unseen returns the answers about objects that their controller has not reconciled. A controller may not serve every
// namespace. So unseen omits a namespace without a reconciled object, if another namespace has one.
func unseen(answers []explain.Answer) []explain.Answer {
	seen := map[string]bool{}
	for _, a := range answers {
		if !a.Unseen() {
			seen[a.Namespace] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(answers), func(a explain.Answer) bool { return !a.Unseen() || len(seen) > 0 && !seen[a.Namespace] })
}

func some(a *explain.Answer) []explain.Answer {
	if a == nil {
		return nil
	}
	return []explain.Answer{*a}
}

// everything returns the objects of the APIs in a namespace; empty means all namespaces. It fails if it could read no
// kind.
func everything(ctx context.Context, l *look, q Question, namespace string) (objects []client.Object, err error) {
	var failed []error
	read := false
	for _, k := range all {
		if k.core() || q.API != "" && q.API != k.api {
			continue
		}
		list, err := l.listed(ctx, k, namespace)
		switch {
		case meta.IsNoMatchError(err):
			continue
		case err != nil:
			l.note(Gap{API: k.api, Kind: k.name, Text: k.plural() + "." + k.api + ": " + err.Error()})
			failed = append(failed, fmt.Errorf("list %s.%s: %w", k.plural(), k.api, err))
			continue
		}
		read = true
		objects = append(objects, list...)
	}
	if !read && len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return objects, nil
}

// Explained is an object with the answer about it.
type Explained struct {
	Object client.Object
	// Machine has the facts in a machine's status, and its node. It is nil for other kinds.
	Machine *explain.MachineFacts
	// Rollout is the input of a deployment's controller. It is nil for other kinds, and if a part of the input could
	// not be read.
	Rollout *explain.Rollout
	explain.Answer
}

// Brief explains all objects as [Each] does, but reads only lists of objects and nodes. The readers may answer from a
// cache, because Brief does not change the objects.
func Brief(ctx context.Context, now time.Time, c Clusters, q Question) (out []Explained, gaps []Gap, err error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}, many: true, brief: true}
	return each(ctx, l, q)
}

// Each explains each object of the APIs in the namespace of q; empty means all namespaces. It fails if it could read
// no kind.
func Each(ctx context.Context, now time.Time, c Clusters, q Question) (out []Explained, gaps []Gap, err error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}, many: true}
	return each(ctx, l, q)
}

func each(ctx context.Context, l *look, q Question) (out []Explained, gaps []Gap, err error) {
	objects, err := everything(ctx, l, q, q.Namespace)
	for _, o := range objects {
		e := Explained{Object: o, Answer: l.glance(ctx, o)}
		switch e.Kind {
		case "Machine":
			e.Machine = outline(ctx, l, o).facts
		case "MachineDeployment":
			e.Rollout, _ = l.memo[rolloutKey(o)].(*explain.Rollout)
		}
		out = append(out, e)
	}
	return out, l.gaps, err
}

// glance explains one of many objects. It examines an unhealthy machine in detail, up to the limit mostCloseLooks.
func (l *look) glance(ctx context.Context, o client.Object) explain.Answer {
	if subject(o).Kind != "Machine" {
		return l.explain(ctx, o)
	}
	a := outline(ctx, l, o).answer
	if a.State != explain.Healthy {
		a = closer(ctx, l, o, a)
	}
	return a.Doubting(apis.Doubts(o))
}

// outlined is a machine that was explained from only its status and its node.
type outlined struct {
	facts  *explain.MachineFacts
	answer explain.Answer
}

// outline explains a machine from only its status, its node, its class and its health checks. It stores the result for the answer about the
// machine's set.
func outline(ctx context.Context, l *look, o client.Object) outlined {
	out, _ := once(l, "outline/"+string(o.GetUID()), func() (outlined, error) {
		f := machineOf(o)
		nodes, looked := l.nodes(ctx)
		l.withNode(ctx, f, nodes[f.View.Recorded.NodeName], looked)
		remedied(ctx, l, f, o)
		a := explain.Machine(l.now, *f)
		if a.State != explain.Healthy { // its provider spec and its class matter only then
			l.made(ctx, f, o)
			a = explain.Machine(l.now, *f)
		}
		return outlined{f, a}, nil
	})
	return out
}

// closer explains an unhealthy machine from all facts, for at most mostCloseLooks machines per answer. It records a
// gap for the others. It stores the result, so that the answers about the machine's set and its namespace agree.
func closer(ctx context.Context, l *look, o client.Object, a explain.Answer) explain.Answer {
	if l.brief {
		return a
	}
	known := l.memo["closer/"+string(o.GetUID())] != nil
	if !known && l.closely >= mostCloseLooks {
		l.note(Gap{Text: fmt.Sprintf("facts outside the status of the machine, for unhealthy machines after the first %d: `why machine/<name>` reads them", mostCloseLooks)})
		return a
	}
	a, _ = once(l, "closer/"+string(o.GetUID()), func() (explain.Answer, error) {
		l.closely++
		return explain.Machine(l.now, l.machine(ctx, o)), nil
	})
	return a
}

// tree returns the objects that o controls as branches, each with its answer.
func (l *look) tree(ctx context.Context, o client.Object, a explain.Answer) explain.Branch {
	var parts []explain.Branch
	part := map[string]string{"MachineDeployment": "MachineSet", "MachineSet": "Machine"}[a.Kind]
	if part == "" {
		return explain.Grow(a)
	}
	list, err := l.listed(ctx, kindOf(a.API, part), a.Namespace)
	l.gap(kindOf(a.API, part).plural(), err)
	var answers []explain.Answer
	made := map[explain.Subject]client.Object{}
	for _, p := range list {
		if controls(o.GetUID(), p) {
			pa := l.glance(ctx, p)
			answers = append(answers, pa)
			made[pa.Subject] = p
		}
	}
	slices.SortFunc(answers, explain.WorstFirst)
	for _, pa := range answers {
		parts = append(parts, l.tree(ctx, made[pa.Subject], pa))
	}
	return explain.Grow(a, parts...)
}

// listed returns the objects of a kind in a namespace; empty means all namespaces. It reads them once.
func (l *look) listed(ctx context.Context, k kind, namespace string) ([]client.Object, error) {
	key := k.api + "/" + k.name + "/"
	return once(l, key+namespace, func() ([]client.Object, error) {
		if whole, ok := l.memo[key].(result[[]client.Object]); ok && whole.err == nil {
			return slices.DeleteFunc(slices.Clone(whole.value), func(o client.Object) bool { return o.GetNamespace() != namespace }), nil
		}
		list := k.list()
		if err := l.Control.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		return items(list), nil
	})
}

// result is the result of a read.
type result[T any] struct {
	value T
	err   error
}

// once returns the value of the key. It calls read only for the first request of the key.
func once[T any](l *look, key string, read func() (T, error)) (T, error) {
	if r, ok := l.memo[key].(result[T]); ok {
		return r.value, r.err
	}
	value, err := read()
	l.memo[key] = result[T]{value, err}
	return value, err
}

// owned returns the objects in list that the owners control.
func owned(list []client.Object, owners []types.UID) (out []client.Object) {
	for _, o := range list {
		if slices.ContainsFunc(owners, func(uid types.UID) bool { return controls(uid, o) }) {
			out = append(out, o)
		}
	}
	return out
}
