package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind of this package.
const GroupName = "machine.sapcloud.io"

var (
	// GroupVersion is the group and version of every kind of this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that teach a scheme the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme teaches a scheme the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind names of this package, as they appear in manifests and owner references.
const (
	KindMachineClass      = "MachineClass"
	KindMachine           = "Machine"
	KindMachineSet        = "MachineSet"
	KindMachineDeployment = "MachineDeployment"
)

// Kind qualifies a kind name with the group of this package.
func Kind(kind string) schema.GroupKind {
	return GroupVersion.WithKind(kind).GroupKind()
}

// Resource qualifies a plural resource name with the group of this package.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&MachineClass{}, &MachineClassList{},
		&Machine{}, &MachineList{},
		&MachineSet{}, &MachineSetList{},
		&MachineDeployment{}, &MachineDeploymentList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
