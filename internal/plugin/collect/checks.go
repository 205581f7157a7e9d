package collect

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// checks returns the health checks that select the machine o of the API, each with its verdict from the stored
// objects. A cluster without the kind has no health checks.
func (l *look) checks(ctx context.Context, api string, o client.Object, n *corev1.Node) (out []explain.HealthCheck) {
	var list lenient.MachineHealthCheckList
	err := l.Control.List(ctx, &list, client.InNamespace(o.GetNamespace()))
	if meta.IsNoMatchError(err) {
		return nil
	}
	l.gap("machinehealthchecks", err)
	for i := range list.Items {
		c := &list.Items[i]
		lens := of(subject(c)).Checks
		if among(c) == api && lens.Selector(c).Matches(labels.Set(o.GetLabels())) {
			machines, _ := apis.Of(api)
			v, t := lens.View(c), machines.Patients.Patient(o, health.NodeOf(n, ""))
			out = append(out, explain.HealthCheck{Name: c.Name, Said: apis.Said(c).Statements, Verdict: health.Evaluate(l.now, connectivity.State{}, &v, &t)})
		}
	}
	return out
}

// among returns the API of the machines that a health check selects.
func among(c client.Object) string {
	return cmp.Or(c.GetAnnotations()[dialect.MachineAPIAnnotation], subject(c).API)
}
