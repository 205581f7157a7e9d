package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of each kind of this package.
const GroupName = "millwright.dev"

// KindMachineDisruptionBudget is the kind as manifests have it.
const KindMachineDisruptionBudget = "MachineDisruptionBudget"

var (
	// GroupVersion is the group and version of each kind of this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add the kinds of this package to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &MachineDisruptionBudget{}, &MachineDisruptionBudgetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
