package serve

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// budgets returns the disruption budgets for the machines of one API, or nil if the control cluster does not have the
// kind. If a user installs the kind later, the process ends and starts again.
func budgets[M client.Object](ctx context.Context, a *assembly, mgr ctrl.Manager, lens dialect.Machines[M]) (machine.Budgets, error) {
	has, err := a.process.Has(ctx, disruption.Kind)
	if err != nil {
		return nil, fmt.Errorf("look for disruption budgets: %w", err)
	}
	if !has {
		return nil, nil
	}
	c, err := disruption.Client(a.process.Control)
	if err != nil {
		return nil, fmt.Errorf("connect to disruption budgets: %w", err)
	}
	server, err := a.machine.prometheus.Client()
	if err != nil {
		return nil, err
	}
	if a.disruptions == nil {
		a.disruptions = disruption.NewMetrics(run.Metrics)
	}
	return disruption.New(disruption.Options[M]{
		Budgets: a.term(lens.API()).Guarded(c), Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: a.process.Clock,
		Dialect: lens, Namespace: a.flags.NamespaceOf(lens.API()), Metrics: a.disruptions, Prometheus: server,
	}), nil
}
