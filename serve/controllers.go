package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/capacity"
	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// assembly sets up the controllers of one process.
type assembly struct {
	*server
	process  *run.Process
	provider provider.Provider
	// owner has the identities of the control plane.
	owner   identities
	metrics *machine.Metrics
	// disruptions has the metrics of disruption budgets. It is nil if the control cluster does not have the kind.
	disruptions *disruption.Metrics
	// approvals has the machines of each API for the approver. sources has the watches of these machines.
	approvals csr.Fleets
	sources   []csr.MachineSource
	managers  []ctrl.Manager
	// approves is the approver of certificate requests, or nil if this process has none.
	approves *csr.Approver
}

func (a *assembly) controllers(ctx context.Context) error {
	for _, api := range a.flags.APIs {
		mgr, err := a.process.Manager(api, leaseOf(api, a.plugin))
		if err != nil {
			return err
		}
		row := apiTable[slices.IndexFunc(apiTable, func(r served) bool { return r.api == api })]
		if err := errors.Join(row.setUp(a, ctx, mgr), statemetrics.SetupWithManager(mgr, a.process.Log, row.shown(a.provider.Name())...)); err != nil {
			return fmt.Errorf("set up %s: %w", api, err)
		}
		a.managers = append(a.managers, mgr)
	}
	return errors.Join(a.approver(ctx), a.orphans(ctx), run.WatchSecretBounds(a.process, source(a.plugin)))
}

// capacity publishes, for the autoscaler, the resources that new machines of an API would have.
func (a *assembly) capacity(api string, mgr ctrl.Manager, resolver dialect.Resolver[client.Object], kinds ...dialect.Scaled) error {
	for _, k := range kinds {
		c := capacity.New(capacity.Options{
			Kind: k, Clock: a.process.Clock, Client: mgr.GetClient(), Resolver: resolver, Provider: a.provider,
			Recorder: a.process.Recorder(api, mgr, source(a.plugin)),
		})
		if err := c.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}

// machines sets up the machine controller of one API.
func machines[M client.Object](ctx context.Context, a *assembly, mgr ctrl.Manager, lens dialect.Machines[M], resolver dialect.Resolver[M], also ...machine.Watch) error {
	nodes, err := a.process.Nodes(ctx, leaseOf(lens.API(), a.plugin))
	if err != nil {
		return err
	}
	limits, err := budgets(ctx, a, mgr, lens)
	if err != nil {
		return err
	}
	tenure, err := run.Tenure(mgr, a.process.Clock)
	if err != nil {
		return err
	}
	r := machine.New(machine.Options[M]{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: a.process.Clock, Dialect: lens, Resolver: resolver, Provider: a.guarded(lens.API()),
		Nodes: nodes, Recorder: a.process.Recorder(lens.API(), mgr, source(a.plugin)), Metrics: a.metrics, Tracer: a.process.Tracer,
		Connectivity: a.process.Prober, Settled: tenure.Settled, Budgets: limits, Successor: apis.Successor,
	})
	s := machine.Setup{
		Name: "machine." + lens.API(), Workers: a.flags.Workers, Target: a.targetCache(), Also: also, Around: leading.Finishing,
		NewQueue: run.Queue(ctx, r.Turn),
	}
	a.approvals = append(a.approvals, r)
	a.sources = append(a.sources, csr.MachineSource{Cache: mgr.GetCache(), Object: lens.New(), Machine: r.Approval})
	if err := r.SetupWithManager(ctx, mgr, s); err != nil {
		return err
	}
	return keeper(ctx, a, mgr, lens, resolver)
}

// guarded returns the provider for controllers that act under the lease of an API. Without the lease, the provider
// changes nothing.
func (a *assembly) guarded(api string) provider.Provider {
	return decorate.Guard(a.provider, a.term(api))
}

func (a *assembly) term(api string) *leading.Term { return a.process.Term(leaseOf(api, a.plugin)) }

// leaseOf returns the lease of the machine controller of an API.
func leaseOf(api string, p Plugin) string {
	known, _ := apis.Of(api)
	return known.MachineLease(p.Name)
}

// source returns the name of the source of a provider's events.
func source(p Plugin) string { return p.Name + "controller" }

func (a *assembly) targetCache() cache.Cache {
	if a.process.Target == nil {
		return nil
	}
	return a.process.Target.GetCache()
}

// approver watches the certificate requests of the target cluster for the machines of every API. The process that holds the
// lease of the first API approves.
func (a *assembly) approver(ctx context.Context) error {
	if a.process.Target == nil || !a.machine.approves(a.flags.APIs) {
		return nil
	}
	requests := certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
	if may, err := a.process.MayList(ctx, a.process.Target.GetConfig(), requests, "approve certificate requests of kubelets (--approve-csrs)"); err != nil || !may {
		return err
	}
	if err := csr.SetupIndexes(ctx, a.process.Target.GetFieldIndexer()); err != nil {
		return err
	}
	gauges, err := csr.NewMetrics(run.Metrics)
	if err != nil {
		return fmt.Errorf("register the approver's metrics: %w", err)
	}
	a.approves = csr.New(a.approvals, a.process.Clock)
	a.approves.Client, a.approves.Live = a.term(a.flags.APIs[0]).Guarded(a.process.Target.GetClient()), a.process.Target.GetAPIReader()
	a.approves.Metrics, a.approves.Events = gauges, a.process.Recorder(a.flags.APIs[0], a.managers[0], "machine-approver")
	a.approves.OnRequests = a.process.Target.GetEventRecorder("machine-approver")
	return a.approves.Setup(a.managers[0], csr.Options{Cache: a.process.Target.GetCache(), Machines: a.sources})
}
