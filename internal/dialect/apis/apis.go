// Package apis is the table of the APIs in which machines may be declared: their names, and their lenses for
// readers. Wiring ranges over it. The programs that start controllers have a further row for each entry, in
// serve and in internal/program, because controllers are created for the types of one API.
package apis

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// API is one API.
type API struct {
	// Name is the group, Short the word for it on command lines, Version the version.
	Name, Short, Version string
	// Namespace is the default control namespace; empty is all.
	Namespace string
	// Finalizer is that of machines.
	Finalizer string
	// Kinds are the kinds shown to users, machines first.
	Kinds []Kind
	// The lenses for readers.
	Machines    Machines
	Sets        Sets
	Deployments Deployments
	Patients    dialect.Patients
	// Checks are the health checks that belong to this API, for machines of any API; nil: none exist.
	Checks Checks

	// CoreEvents: events are of core/v1, not of events.k8s.io.
	CoreEvents bool
	// Approves: the program that manages its machines also approves the certificate requests of their nodes.
	Approves bool

	// Removal has the events from which the duration of machine deletions is known.
	Removal Removal
	said    func(client.Object) dialect.Said
	// classFaults returns the errors of a machine class; nil: the API has no classes.
	classFaults func(client.Object) []lifecycle.Fault
	// otherFaults returns the errors of kinds that are not among Kinds; nil: none exist.
	otherFaults func(client.Object) []lifecycle.Fault
	leases      leases
	// programs are the programs of the original.
	programs []Program
	types    []func(*runtime.Scheme) error
}

// Removal has the reasons of events about one machine from which the duration of its deletion follows.
type Removal struct {
	// Begins are the first events, of which the earliest counts; Ends is the last event.
	Begins []string
	Ends   string
	// BySet is the reason of a set's event about a machine that the set has deleted; empty: sets report none.
	BySet string
	// Undrained says that the earliest event is sent when the drain is over; Span names the measured time, for users.
	Undrained bool
	Span      string
}

// Kind is one kind of an API.
type Kind struct {
	Name string
	New  func() client.Object
	List func() client.ObjectList
}

// All are the APIs. The first one is the default.
var All = []API{
	{
		Name: provider.OpenShift, Short: "openshift", Version: machinev1.GroupVersion.Version,
		Finalizer: machinev1.MachineFinalizer,
		Kinds: []Kind{
			kind[machinev1.Machine, machinev1.MachineList]("Machine"),
			kind[machinev1.MachineSet, machinev1.MachineSetList]("MachineSet"),
			kind[v1beta1.MachineDeployment, v1beta1.MachineDeploymentList]("MachineDeployment"),
			kind[lenient.MachineHealthCheck, lenient.MachineHealthCheckList]("MachineHealthCheck"),
		},
		Machines:    machines[*machinev1.Machine]{openshift.Machines{}},
		Sets:        sets[*machinev1.MachineSet]{openshift.Sets{}},
		Deployments: deployments[*v1beta1.MachineDeployment, *machinev1.MachineSet]{openshift.Deployments{}},
		Patients:    openshift.Patients{},
		Checks:      checks[*lenient.MachineHealthCheck]{openshift.HealthChecks{}},
		Removal:     Removal{Begins: []string{"DrainSucceeded", "DrainSkipped"}, Ends: "Delete", Undrained: true, Span: "from the end of the drain"},
		Approves:    true,
		said:        openshift.Said,
		otherFaults: func(o client.Object) []lifecycle.Fault {
			if c, is := o.(*healthchecking.MachineHealthCheck); is {
				return openshift.OldHealthChecks{}.View(c, dialect.CommonConditions{}).Faults
			}
			return nil
		},
		leases: leases{prefix: "cluster-api-provider-", suffix: "-leader", sets: "machineset", checks: "healthcheck", links: "nodelink"},
		programs: []Program{
			{Name: "machine-controller-manager", Provider: true, Metrics: ":8081", Health: ":9440"},
			{Name: "machineset-controller", Metrics: ":8082", Health: ":9441"},
			{Name: "machine-healthcheck", Metrics: ":8083", Health: ":9442"},
			{Name: "nodelink-controller", Metrics: "0"},
			{Name: "control-plane-machine-set-operator", Metrics: ":8080", Health: ":8081"},
		},
		types: []func(*runtime.Scheme) error{lenient.AddToScheme, v1beta1.AddToScheme, healthchecking.AddToScheme},
	},
	{
		Name: provider.Gardener, Short: "gardener", Version: v1alpha1.GroupVersion.Version, Namespace: "default",
		Finalizer: v1alpha1.FinalizerMachine,
		Kinds: []Kind{
			kind[v1alpha1.Machine, v1alpha1.MachineList]("Machine"),
			kind[v1alpha1.MachineSet, v1alpha1.MachineSetList]("MachineSet"),
			kind[v1alpha1.MachineDeployment, v1alpha1.MachineDeploymentList]("MachineDeployment"),
			kind[v1alpha1.MachineClass, v1alpha1.MachineClassList]("MachineClass"),
		},
		Machines:    machines[*v1alpha1.Machine]{gardener.Machines{Defaults: gardener.StandardDefaults()}},
		Sets:        sets[*v1alpha1.MachineSet]{gardener.Sets{}},
		Deployments: deployments[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet]{gardener.Deployments{}},
		Patients:    gardener.Patients{},
		Removal:     Removal{Begins: []string{"Deleting", "Draining"}, Ends: "Deleted", BySet: "SuccessfulDelete", Span: "from the first to the last step"},
		CoreEvents:  true,
		said:        gardener.Said,
		classFaults: func(c client.Object) []lifecycle.Fault { return gardener.ClassFaults(c.(*v1alpha1.MachineClass)) },
		leases:      leases{machines: "machine-controller", sets: "machine-controller-manager"},
		// machine-controller-manager has that name only here, and serves the other API too.
		programs: []Program{{Name: "machine-controller", Provider: true}},
		types:    []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	},
}

// ZoneLabels and TypeLabels are the labels with the zone and the type of a machine's instance, the best first: those
// that Kubernetes writes on nodes, and those of machines.
var (
	ZoneLabels = []string{corev1.LabelTopologyZone, "failure-domain.beta.kubernetes.io/zone", openshift.ZoneLabel}
	TypeLabels = []string{corev1.LabelInstanceTypeStable, "beta.kubernetes.io/instance-type", openshift.InstanceTypeLabel}
)

// object is a pointer to a T, an object of an API.
type object[T any] interface {
	*T
	client.Object
}

// listOf is a pointer to a T, a list.
type listOf[T any] interface {
	*T
	client.ObjectList
}

func kind[O, L any, PO object[O], PL listOf[L]](name string) Kind {
	return Kind{Name: name, New: func() client.Object { return PO(new(O)) }, List: func() client.ObjectList { return PL(new(L)) }}
}

// Names returns the groups.
func Names() (out []string) {
	for _, a := range All {
		out = append(out, a.Name)
	}
	return out
}

// Words returns the words for all of them on command lines.
func Words() (out []string) {
	for _, a := range All {
		out = append(out, a.Short)
	}
	return out
}

// Of returns the API of that group, or of that word on a command line.
func Of(name string) (API, bool) {
	i := slices.IndexFunc(All, func(a API) bool { return a.Name == name || a.Short == name })
	if i < 0 {
		return API{}, false
	}
	return All[i], true
}

// OfFlag returns the API of the value of a flag --api. For an unknown value the error names the flag and its values.
func OfFlag(value string) (API, error) {
	known, ok := Of(value)
	if !ok {
		return known, fmt.Errorf("--api: unknown API %q: use %s", value, strings.Join(Words(), " or "))
	}
	return known, nil
}

// KindOf returns the API of an object, and its kind; empty if it is of no API.
func KindOf(o client.Object) (api, kind string) {
	for _, a := range All {
		for _, k := range a.Kinds {
			if reflect.TypeOf(k.New()) == reflect.TypeOf(o) {
				return a.Name, k.Name
			}
		}
	}
	return "", ""
}

// Said returns an object's status; empty if it is of no API.
func Said(o client.Object) dialect.Said {
	name, _ := KindOf(o)
	if a, ok := Of(name); ok {
		return a.said(o)
	}
	return dialect.Said{}
}

// Has reports whether the API has a kind.
func (a API) Has(kind string) bool {
	return slices.ContainsFunc(a.Kinds, func(k Kind) bool { return k.Name == kind })
}

// Needed returns the kinds without which no program serves the API: machines, sets and classes. Other kinds
// may be missing in a cluster.
func (a API) Needed() []Kind {
	return slices.DeleteFunc(slices.Clone(a.Kinds), func(k Kind) bool { return k.Name == "MachineDeployment" || k.Name == "MachineHealthCheck" })
}

// Choice lists the APIs for users: "openshift (machine.openshift.io) or …".
func Choice() string {
	var all []string
	for _, a := range All {
		all = append(all, a.Short+" ("+a.Name+")")
	}
	return strings.Join(all, " or ")
}

// AddToScheme adds the types of all APIs.
func AddToScheme(s *runtime.Scheme) error {
	for _, a := range All {
		for _, add := range a.types {
			if err := add(s); err != nil {
				return err
			}
		}
	}
	return nil
}
