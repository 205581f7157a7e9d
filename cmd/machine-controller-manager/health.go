package main

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/run"
	"github.com/millwright-dev/millwright/provider"
)

// healthSource is the name under which health checks tell events.
const healthSource = "machinehealthcheck-controller"

// setUpHealth sets up the health checks of both generations. They look at
// nodes, so that there are none where machines join no cluster. A kind that the
// API server does not have is left out until the next start.
func setUpHealth(p program) error {
	if p.Target == nil || !p.runs(machineHealthChecks) {
		return nil
	}
	m, err := machinehealthcheck.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	o := machinehealthcheck.Options{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Nodes: p.nodes(), LiveNodes: p.Target.GetAPIReader(),
		Recorder: p.mgr.GetEventRecorder(healthSource), Clock: clock.RealClock{}, Metrics: m,
		Sight:     p.Lookout,
		Patients:  []dialect.Patients{openshift.Patients{}},
		Namespace: cmp.Or(p.Flags.NamespaceOf(provider.OpenShift), run.ConditionsNamespace),
		Common:    openshift.ParseConditions,
	}
	if p.Flags.Serves(provider.Gardener) {
		o.Patients = append(o.Patients, gardener.Patients{})
	}
	if err := setUpChecks(p, openshift.HealthChecks{}, o); err != nil {
		return err
	}
	return setUpChecks(p, openshift.OldHealthChecks{}, o)
}

func setUpChecks[C client.Object](p program, lens dialect.HealthChecks[C], o machinehealthcheck.Options) error {
	kind := lens.Traits().Kind
	_, err := p.mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		p.Log.Info("The API server does not have this kind of health check", "kind", kind.GroupKind().String())
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up %s: %w", kind.GroupKind(), err)
	}
	return machinehealthcheck.New(lens, o).SetupWithManager(p.mgr, machinehealthcheck.Setup{
		MaxConcurrent: min(p.Flags.Workers, 10), NodeCache: p.Target.GetCache(),
	})
}
