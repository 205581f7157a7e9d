package openshift

import (
	"maps"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// ScaledSets are machine sets for the autoscaler.
type ScaledSets struct{}

// ScaledDeployments are machine deployments for the autoscaler.
type ScaledDeployments struct{}

var (
	_ dialect.Scaled = ScaledSets{}
	_ dialect.Scaled = ScaledDeployments{}
)

// Name implements [dialect.Scaled].
func (ScaledSets) Name() string { return "capacity" }

// New implements [dialect.Scaled].
func (ScaledSets) New() client.Object { return &machinev1.MachineSet{} }

// Machine implements [dialect.Scaled].
func (ScaledSets) Machine(o client.Object) client.Object {
	return Sets{}.NewMachine(o.(*machinev1.MachineSet), o.GetName())
}

// Left implements [dialect.Scaled].
func (ScaledSets) Left(o client.Object) bool { return left(o.(*machinev1.MachineSet)) }

// Differ implements [dialect.Scaled].
func (ScaledSets) Differ(a, b client.Object) bool {
	return differ(a.(*machinev1.MachineSet), b.(*machinev1.MachineSet))
}

// Name implements [dialect.Scaled].
func (ScaledDeployments) Name() string { return "capacity.machinedeployment" }

// New implements [dialect.Scaled].
func (ScaledDeployments) New() client.Object { return &v1beta1.MachineDeployment{} }

// Machine implements [dialect.Scaled].
func (ScaledDeployments) Machine(o client.Object) client.Object {
	return Sets{}.NewMachine(asSet(o), o.GetName())
}

// Left implements [dialect.Scaled].
func (ScaledDeployments) Left(o client.Object) bool { return left(asSet(o)) }

// Differ implements [dialect.Scaled].
func (ScaledDeployments) Differ(a, b client.Object) bool { return differ(asSet(a), asSet(b)) }

// asSet returns a machine set of the machines that a deployment creates.
func asSet(o client.Object) *machinev1.MachineSet {
	d := o.(*v1beta1.MachineDeployment)
	return &machinev1.MachineSet{ObjectMeta: d.ObjectMeta, Spec: machinev1.MachineSetSpec{Template: d.Spec.Template}}
}

func left(s *machinev1.MachineSet) bool { return Deployed(s) || Sets{}.View(s).Paused != "" }

func differ(a, b *machinev1.MachineSet) bool {
	return !maps.Equal(a.Annotations, b.Annotations) ||
		a.Status.AuthoritativeAPI != b.Status.AuthoritativeAPI || Deployed(a) != Deployed(b) ||
		!equality.Semantic.DeepEqual(a.Spec.Template, b.Spec.Template)
}
