package inquiry

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/evidence"
	"github.com/millwright-dev/millwright/internal/why"
	"github.com/millwright-dev/millwright/provider"
)

// checks are the health checks that select a machine of the API. A cluster that
// does not know the kind has none.
func (l *look) checks(ctx context.Context, api string, o client.Object) (out []why.HealthCheck) {
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
			out = append(out, why.HealthCheck{Name: c.Name, Said: saidBy(c)})
		}
	}
	return out
}

func saidBy(c *lenient.MachineHealthCheck) (out []evidence.Statement) {
	for _, s := range c.Status.Conditions {
		out = append(out, evidence.Statement{
			About: "condition " + string(s.Type), Status: string(s.Status), Reason: s.Reason, Message: s.Message, Since: s.LastTransitionTime.Time,
		})
	}
	return out
}
