package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind of this package.
const GroupName = "machine.openshift.io"

var (
	// GroupVersion is the group and version of every kind of this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

	// SchemeBuilder collects the functions that teach a scheme the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme teaches a scheme the kinds of this package. Machine and MachineSet come from github.com/openshift/api.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind names of this package, as they appear in manifests and owner references.
const (
	KindMachineDeployment = "MachineDeployment"
	KindCluster           = "Cluster"
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&MachineDeployment{}, &MachineDeploymentList{},
		&Cluster{}, &ClusterList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
