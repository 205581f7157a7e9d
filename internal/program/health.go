package program

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// healthSource is the name under which health checks tell events.
const healthSource = "machinehealthcheck-controller"

// setUpHealth sets up the health checks that belong to p's API, of every generation. They
// look at nodes, so that there are none where machines join no cluster. A kind that the
// API server does not have is left out.
func setUpHealth(ctx context.Context, p program, row served) error {
	m, err := machinehealthcheck.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	o := machinehealthcheck.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Nodes: p.nodes(), LiveNodes: p.Target.GetAPIReader(),
		Identity: p.Identity(),
		Recorder: p.recorder(healthSource), Clock: p.Clock, Metrics: m,
		Connectivity: p.Prober, Tracer: p.Tracer,
		Patients:  []dialect.Patients{row.patients},
		Namespace: cmp.Or(p.Flags.NamespaceOf(p.api), run.ConditionsNamespace),
		Common:    row.common,
	}
	for _, other := range apiTable() {
		if other.api != p.api && p.Flags.Serves(other.api) {
			o.Patients = append(o.Patients, other.patients)
		}
	}
	for i, c := range row.checks {
		if i > 0 { // the metrics of the first are those of the original
			o.Metrics = m.Of(c.kind.GroupVersion().String())
		}
		if has, err := p.Has(ctx, c.kind); err != nil || !has {
			if err != nil {
				return err
			}
			continue
		}
		if err := c.setUp(p, o); err != nil {
			return err
		}
	}
	return nil
}

func setUpChecks[C client.Object](p program, lens dialect.HealthChecks[C], o machinehealthcheck.Options) error {
	return machinehealthcheck.New(lens, o).SetupWithManager(p.mgr, machinehealthcheck.Setup{
		MaxConcurrent: min(p.Flags.Workers, 10), NodeCache: p.Target.GetCache(),
	})
}

// alarmsFor are what the health checks of this process say to the deployments of
// p's API; nil where the process looks after no checks. A check that nobody
// looks after would give its last alarm for ever.
func alarmsFor[S client.Object](ctx context.Context, p program, sets dialect.Sets[S]) (machinedeployment.Alarms, error) {
	if p.Target == nil || !p.runs(machineHealthChecks) {
		return nil, nil
	}
	a := &machinehealthcheck.Alarms{
		Client: p.mgr.GetClient(),
		Sample: func(s client.Object) client.Object { return sets.NewMachine(s.(S), "sample") },
	}
	looked := false
	for _, row := range apiTable() {
		if row.api == p.api {
			a.Patients, a.Default = row.patients, len(row.checks) > 0
		}
		for _, c := range row.checks {
			if !p.Flags.Serves(row.api) {
				continue
			}
			looked = true
			has, err := p.Has(ctx, c.kind)
			if err != nil {
				return nil, err
			}
			if has {
				a.Checks = append(a.Checks, c.reads)
			}
		}
	}
	if !looked {
		return nil, nil
	}
	return a, nil
}
