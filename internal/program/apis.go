package program

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/provider"
)

// served is what this process does for one API of the table in package apis.
type served struct {
	api string
	// setUp sets up its sets and deployments.
	setUp func(context.Context, program) error
	// patients are its machines, for health checks of any API.
	patients dialect.Patients
	// checks are the kinds of health checks that belong to it, if any do; common reads the
	// conditions that all of a kind share.
	checks []checks
	common func(*corev1.ConfigMap) dialect.CommonConditions
	// link ties nodes to its machines; nil where nobody but machine controllers does.
	link func(context.Context, program) error
	// shown are the kinds of objects that metrics are made of here.
	shown []statemetrics.Kind
}

// apiTable has a row for each API, in the order of the table.
func apiTable() []served {
	return []served{{
		api: provider.OpenShift, patients: openshift.Patients{}, common: openshift.ParseConditions,
		checks: []checks{checksOf(openshift.HealthChecks{}), checksOf(openshift.OldHealthChecks{})},
		link:   func(ctx context.Context, p program) error { return setUpLinks(ctx, p, openshift.Machines{}) },
		// Where the operator runs, it shows both, and tells this process not to.
		shown: []statemetrics.Kind{statemetrics.OpenShiftMachines(), statemetrics.OpenShiftMachineSets()},
		setUp: func(ctx context.Context, p program) error {
			return setUp(ctx, p, openshift.Sets{}, openshift.Deployments{}, sources{
				sets: "machineset_controller", deployments: "machinedeployment_controller", shown: []statemetrics.Kind{statemetrics.OpenShiftMachineDeployments()},
			})
		},
	}, {
		api: provider.Gardener, patients: gardener.Patients{},
		shown: []statemetrics.Kind{statemetrics.GardenerMachineSets(), statemetrics.GardenerMachineDeployments()},
		setUp: func(ctx context.Context, p program) error {
			lens := gardener.Deployments{StayDuringRollout: p.stay, Nodeless: p.Target == nil}
			return setUp(ctx, p, gardener.Sets{}, lens, sources{sets: "machineset-controller", deployments: "machine-controller-manager"})
		},
	}}
}

// checks is one kind of health check.
type checks struct {
	kind  schema.GroupVersionKind
	reads machinehealthcheck.Kind
	setUp func(program, machinehealthcheck.Options) error
}

func checksOf[C client.Object](lens dialect.HealthChecks[C]) checks {
	return checks{
		kind: lens.Traits().Kind, reads: machinehealthcheck.KindOf(lens),
		setUp: func(p program, o machinehealthcheck.Options) error { return setUpChecks(p, lens, o) },
	}
}
