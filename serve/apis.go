package serve

import (
	"context"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/controller/machineclass"
	collector "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/provider"
)

// served is the part of this process for one API of the table in package apis.
type served struct {
	api string
	// setUp sets up the controllers of the API that need the infrastructure.
	setUp func(*assembly, context.Context, ctrl.Manager) error
	// kind returns the machines of the API for the orphan collector. mgr is nil if this process does not serve the API.
	kind func(a *assembly, mgr ctrl.Manager) collector.Kind
	// nodes has the options for marking nodes without a machine. It is nil if no client of the API reads such marks.
	nodes *collector.NodeOptions
	// shown returns the kinds of objects that have metrics in this process, for the named provider.
	shown func(providerName string) []statemetrics.Kind
}

// apiTable has a row for each API, in the order of the table.
var apiTable = []served{
	{api: provider.OpenShift, setUp: (*assembly).openshift, kind: (*assembly).openshiftKind, shown: func(name string) []statemetrics.Kind {
		return []statemetrics.Kind{statemetrics.OpenShiftPlaces(name, openshift.ZoneLabel, openshift.InstanceTypeLabel)} // machine-controller-manager serves the metrics of machines
	}},
	{api: provider.Gardener, setUp: (*assembly).gardener, kind: (*assembly).gardenerKind, nodes: &collector.NodeOptions{
		Mark: v1alpha1.AnnotationKeyNotManaged, MarkValue: v1alpha1.AnnotationValueNotManaged,
		Finalizer: v1alpha1.FinalizerNode, API: provider.Gardener,
	}, shown: func(name string) []statemetrics.Kind {
		return []statemetrics.Kind{statemetrics.GardenerMachines(), statemetrics.GardenerPlaces(name)}
	}},
}

// defaults has the values of flags for machines that have no value of their own.
type defaults = gardener.Defaults

func standardDefaults() defaults { return gardener.StandardDefaults() }

// openshift sets up the controllers of machine.openshift.io. It omits machine deployments if the cluster has only the
// original's kinds.
func (a *assembly) openshift(ctx context.Context, mgr ctrl.Manager) error {
	resolver := a.openshiftResolver(mgr)
	if err := machines(ctx, a, mgr, openshift.Machines{HookPatience: a.machine.hooks}, resolver); err != nil {
		return err
	}
	kinds, deployments := []dialect.Scaled{openshift.ScaledSets{}}, openshift.ScaledDeployments{}
	switch has, err := a.process.Has(ctx, openshift.Deployments{}.Traits().Kind); {
	case err != nil:
		return err
	case has:
		kinds = append(kinds, deployments)
	}
	return a.capacity(provider.OpenShift, mgr, dialect.AnyResolver(resolver), kinds...)
}

func (a *assembly) openshiftResolver(mgr ctrl.Manager) dialect.Resolver[*machinev1.Machine] {
	return openshift.Resolver{
		Reader: mgr.GetClient(), Clusters: mgr.GetClient(),
		Provider: a.provider, DefaultCluster: a.machine.cluster,
		TokenGroups: a.machine.tokenGroups, TokenLifetime: a.machine.tokenTTL,
	}
}

func (a *assembly) openshiftKind(mgr ctrl.Manager) collector.Kind {
	k := collector.Machines[*machinev1.Machine]{
		Lens: openshift.Machines{}, GVK: machinev1.GroupVersion.WithKind("Machine"),
		Live: a.managers[0].GetAPIReader(), Namespace: a.reads(provider.OpenShift),
	}
	if mgr != nil {
		k.Cache, k.Resolver = mgr.GetClient(), a.openshiftResolver(mgr)
	}
	return k
}

func (a *assembly) gardener(ctx context.Context, mgr ctrl.Manager) error {
	classes := machine.Watch{
		Object: &v1alpha1.MachineClass{}, Handler: machineclass.Handler(mgr.GetClient()), Which: machineclass.Changed(),
	}
	if err := machines(ctx, a, mgr, gardener.Machines{Defaults: a.machine.defaults}, a.gardenerResolver(mgr), classes); err != nil {
		return err
	}
	return machineclass.SetupWithManager(ctx, mgr, machineclass.Setup{Namespace: a.flags.NamespaceOf(provider.Gardener)})
}

func (a *assembly) gardenerResolver(mgr ctrl.Manager) dialect.Resolver[*v1alpha1.Machine] {
	return gardener.Resolver{
		Reader: mgr.GetClient(), Defaults: a.machine.defaults, Cluster: a.machine.cluster, TokenGroups: a.machine.tokenGroups,
	}
}

func (a *assembly) gardenerKind(mgr ctrl.Manager) collector.Kind {
	k := collector.Machines[*v1alpha1.Machine]{
		Lens: gardener.Machines{Defaults: a.machine.defaults}, GVK: v1alpha1.GroupVersion.WithKind("Machine"), Untagged: true,
		Live: a.managers[0].GetAPIReader(), Namespace: a.reads(provider.Gardener),
	}
	if mgr != nil {
		k.Cache, k.Resolver = mgr.GetClient(), a.gardenerResolver(mgr)
	}
	return k
}
