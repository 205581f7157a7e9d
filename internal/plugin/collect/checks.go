package collect

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// remedied adds the health checks that select a machine which is not healthy. Cards, tables and the page about the machine
// derive their advice from them, so each explanation reads them, also a brief one.
func remedied(ctx context.Context, l *look, f *explain.MachineFacts, o client.Object) {
	if f.View.Deleted.IsZero() && f.NodeLooked && !lifecycle.Healthy(f.Node, f.Policy) {
		f.Checks, f.Obstacles.UnreadChecks = l.checks(ctx, f.API, o, f.Node)
	}
}

// checks returns the health checks that select the machine o of the API, each with its verdict from the stored
// objects, and whether some could not be read. A cluster without the kind has no health checks.
func (l *look) checks(ctx context.Context, api string, o client.Object, n *corev1.Node) (out []explain.HealthCheck, unread bool) {
	all, unread := healthChecks(ctx, l, o.GetNamespace())
	for _, c := range all {
		lens := of(subject(c)).Checks
		if among(c) == api && lens.Selector(c).Matches(labels.Set(o.GetLabels())) {
			machines, _ := apis.Of(api)
			v, t := lens.View(c), machines.Patients.Patient(o, health.NodeOf(n, ""))
			out = append(out, explain.HealthCheck{Name: c.GetName(), Said: apis.Said(c).Statements, Verdict: health.Evaluate(l.now, connectivity.State{}, &v, &t)})
		}
	}
	return out, unread
}

// healthChecks returns the health checks of a namespace, which it reads once, and whether some could not be read.
func healthChecks(ctx context.Context, l *look, namespace string) (out []client.Object, unread bool) {
	for _, a := range apis.All {
		if a.Checks == nil {
			continue
		}
		checks, err := l.listed(ctx, kindOf(a.Name, a.Checks.Kind().Kind), namespace)
		if err != nil && !meta.IsNoMatchError(err) {
			l.gap("machinehealthchecks", err)
			unread = true
		}
		out = append(out, checks...)
	}
	return out, unread
}

// among returns the API of the machines that a health check selects.
func among(c client.Object) string {
	return cmp.Or(c.GetAnnotations()[dialect.MachineAPIAnnotation], subject(c).API)
}
