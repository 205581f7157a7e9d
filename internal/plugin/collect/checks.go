package collect

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/provider"
)

var patients = map[string]dialect.Patients{provider.OpenShift: openshift.Patients{}, provider.Gardener: gardener.Patients{}}

// checks are the health checks that select a machine of the API. A cluster that
// does not know the kind has none. Each judges the machine by what is stored.
func (l *look) checks(ctx context.Context, api string, o client.Object, n *corev1.Node) (out []explain.HealthCheck) {
	var list lenient.MachineHealthCheckList
	err := l.Control.List(ctx, &list, client.InNamespace(o.GetNamespace()))
	if meta.IsNoMatchError(err) {
		return nil
	}
	l.gap("machinehealthchecks", err)
	for i := range list.Items {
		c := &list.Items[i]
		among := c.Annotations[dialect.MachineAPIAnnotation]
		if among == "" {
			among = provider.OpenShift
		}
		if among == api && (openshift.HealthChecks{}).Selector(c).Matches(labels.Set(o.GetLabels())) {
			v, t := (openshift.HealthChecks{}).View(c, dialect.CommonConditions{}), patients[api].Patient(o, health.NodeOf(n, ""))
			out = append(out, explain.HealthCheck{Name: c.Name, Said: status.By(c), Verdict: health.Evaluate(l.now, connectivity.State{}, &v, &t)})
		}
	}
	return out
}
