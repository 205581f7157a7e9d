package serve

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	collector "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// orphanFlags has the flags about instances without a machine.
type orphanFlags struct {
	policy orphan.Policy
	share  string
}

func (o *orphanFlags) add(fs *pflag.FlagSet) {
	o.policy = orphan.DefaultPolicy()
	p := &o.policy
	fs.DurationVar(&p.Period, "machine-safety-orphan-vms-period", p.Period, "interval at which the collector lists instances without a machine; 0 for never")
	fs.DurationVar(&p.Grace, "orphan-grace-period", p.Grace, "how long an instance must have been listed without a machine, in at least three listings, before it is deleted")
	fs.IntVar(&p.PerHour, "orphan-max-per-hour", p.PerHour, "maximum number of instances without a machine that are deleted per hour in one account and region; 0 for none")
	fs.StringVar(&o.share, "orphan-max-share", fmt.Sprintf("%d%%", p.Limit.Percent), "maximum share of all instances that is deleted without the annotation "+orphan.ApproveAnnotation+"; one instance is always deleted")
	fs.BoolVar(&p.ReportOnly, "orphan-report-only", false, "report instances without a machine, and delete none")
}

// complete validates the flags.
func (o *orphanFlags) complete() (orphan.Policy, error) {
	p := o.policy
	for name, d := range map[string]time.Duration{"machine-safety-orphan-vms-period": p.Period, "orphan-grace-period": p.Grace} {
		if d < 0 {
			return p, fmt.Errorf("--%s: must not be negative, and is %s", name, d)
		}
	}
	if p.PerHour < 0 {
		return p, fmt.Errorf("--orphan-max-per-hour: must not be negative, and is %d", p.PerHour)
	}
	p, err := p.WithShare(o.share)
	if err != nil {
		return p, fmt.Errorf("--orphan-max-share: %w", err)
	}
	return p, nil
}

// orphans sets up the collector of instances without a machine, for the machines of every API, and the controller of nodes
// without a machine. The process that holds the lease of the first API collects.
func (a *assembly) orphans(ctx context.Context) error {
	policy, err := a.machine.orphans.complete()
	if err != nil {
		return err
	}
	kinds, sources := a.machineKinds()
	policy.Owner, policy.Also, policy.Lacks = a.owner.owner, a.owner.also, a.owner.lacks
	for _, api := range apis.Names() {
		policy.Namespace = cmp.Or(policy.Namespace, a.reads(api))
	}
	if err := a.nodesWithoutMachine(kinds, sources); err != nil || policy.Period == 0 {
		return err
	}
	m, err := collector.NewMetrics(run.Metrics)
	if err != nil {
		return err
	}
	nodes, err := a.process.Nodes(ctx, leaseOf(a.flags.APIs[0], a.plugin))
	if err != nil {
		return err
	}
	return a.managers[0].Add(collector.New(collector.Options{
		Nodes: nodes, Kinds: kinds, Provider: a.guarded(a.flags.APIs[0]), Connectivity: a.process.Prober, Clock: a.process.Clock, Policy: policy,
		Recorder: a.process.Recorder(a.flags.APIs[0], a.managers[0], "orphan-collector"), Metrics: m,
	}))
}

// reads returns the namespace that has machines of the API; empty means all namespaces. If this process serves an API
// earlier in the table, it reads the machines in the namespace of that API. An instance stores the namespace of its
// machine but not the API.
func (a *assembly) reads(api string) string {
	for _, above := range apis.Names() {
		if above == api || a.flags.Serves(above) {
			return a.flags.NamespaceOf(above)
		}
	}
	return a.flags.NamespaceOf(api)
}

// nodesWithoutMachine marks nodes for clients of the APIs that read such marks.
func (a *assembly) nodesWithoutMachine(kinds []collector.Kind, sources []collector.MachineSource) error {
	for _, row := range apiTable {
		mgr := a.managerOf(row.api)
		if a.process.Target == nil || mgr == nil || row.nodes == nil {
			continue
		}
		o := *row.nodes
		o.Client, o.Kinds, o.Clock = a.term(row.api).Guarded(a.process.Target.GetClient()), kinds, a.process.Clock
		o.JoinTimeout = a.machine.defaults.CreationTimeout
		if err := collector.NewNodes(o).SetupWithManager(mgr, a.process.Target.GetCache(), sources); err != nil {
			return err
		}
	}
	return nil
}

// machineKinds returns the machines of all APIs. It reads machines of an API that this process does not serve without
// a cache: their instances may be in the same scope, and are not orphans.
func (a *assembly) machineKinds() (kinds []collector.Kind, sources []collector.MachineSource) {
	for _, row := range apiTable {
		mgr := a.managerOf(row.api)
		k := row.kind(a, mgr)
		kinds = append(kinds, k)
		if mgr != nil {
			sources = append(sources, collector.MachineSource{Cache: mgr.GetCache(), Kind: k})
		}
	}
	return kinds, sources
}

// managerOf returns the manager of an API, or nil if the process does not serve the API.
func (a *assembly) managerOf(api string) ctrl.Manager {
	for n, served := range a.flags.APIs {
		if served == api {
			return a.managers[n]
		}
	}
	return nil
}
