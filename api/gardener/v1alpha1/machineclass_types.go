package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MachineClass describes how machines of one kind are made: the provider's own spec and the Secrets that go with it.
// It has no spec and status: all fields are at the top level.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machineclasses,scope=Namespaced,categories=millwright,shortName=mcc,singular=machineclass
type MachineClass struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// NodeTemplate describes the nodes of this class. The autoscaler reads it to scale up from zero.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	NodeTemplate *NodeTemplate `json:"nodeTemplate,omitempty"`

	// CredentialsSecretRef names the Secret with the provider credentials. Its data overrides the data of SecretRef.
	//
	// +optional
	CredentialsSecretRef *corev1.SecretReference `json:"credentialsSecretRef,omitempty"`

	// ProviderSpec is the provider's description of a machine. Only the provider reads it.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderSpec runtime.RawExtension `json:"providerSpec"`

	// Provider names the infrastructure that the class is for, for example "AWS". The provider checks it.
	//
	// +optional
	Provider string `json:"provider,omitempty"`

	// SecretRef names the Secret with the user data under the key "userData", and possibly the provider credentials.
	//
	// +optional
	SecretRef *corev1.SecretReference `json:"secretRef,omitempty"`
}

// NodeTemplate describes a node that does not exist yet.
type NodeTemplate struct {
	// Capacity is the capacity of the node. The keys cpu, gpu and memory must be present for the class to be usable.
	Capacity corev1.ResourceList `json:"capacity"`

	// VirtualCapacity lists extended resources that are written into the capacity of the node's status.
	//
	// +optional
	VirtualCapacity corev1.ResourceList `json:"virtualCapacity,omitempty"`

	// InstanceType is the provider's name of the machine type. It must not be empty for the class to be usable.
	InstanceType string `json:"instanceType"`

	// Region is the provider's name of the region. It must not be empty for the class to be usable.
	Region string `json:"region"`

	// Zone is the provider's name of the zone. It must not be empty for the class to be usable.
	Zone string `json:"zone"`

	// Architecture is the processor architecture of the node, for example "amd64".
	//
	// +optional
	Architecture *string `json:"architecture,omitempty"`
}

// MachineClassList is a list of MachineClasses.
//
// +kubebuilder:object:root=true
type MachineClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineClass `json:"items"`
}
