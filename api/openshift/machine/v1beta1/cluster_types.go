package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Cluster holds what the machines of a cluster have in common. It is optional: without one, machines are what they say
// themselves.
//
// A machine belongs to the Cluster of its namespace that has the name in its label machine.openshift.io/cluster-api-cluster, or to
// the only one there is. The value of the Cluster's providerSpec is then laid beneath the machine's: objects are merged
// field by field, and where both say something, and in lists, the machine wins. The fields apiVersion, kind and metadata are not
// handed down, and a Cluster whose value names another apiVersion or kind than the machine's hands down nothing.
//
// A machine keeps what was handed down to it, in its annotation millwright.dev/cluster-defaults, from before its instance is made.
// A Cluster that is changed, deleted or made later has no say in it: all of that is meant for machines to come.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusters,scope=Namespaced,categories=millwright,singular=cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the cluster was declared"
type Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the cluster.
	//
	// +optional
	Spec ClusterSpec `json:"spec,omitempty"`

	// Status is the last observed state of the cluster. No controller of Millwright writes it.
	//
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is what a cluster should be.
type ClusterSpec struct {
	// ClusterNetwork are the address ranges of the cluster. They are kept for who reads them.
	//
	// +optional
	ClusterNetwork ClusterNetworkingConfig `json:"clusterNetwork,omitempty"`

	// ProviderSpec is the common configuration of the cluster's machines.
	//
	// +optional
	ProviderSpec ClusterProviderSpec `json:"providerSpec,omitempty"`
}

// ClusterProviderSpec holds what machines have in common.
type ClusterProviderSpec struct {
	// Value is laid beneath spec.providerSpec.value of machines.
	//
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	Value *runtime.RawExtension `json:"value,omitempty"`

	// ValueFrom is a leftover of an older form. It is stored and has no effect.
	//
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	ValueFrom *runtime.RawExtension `json:"valueFrom,omitempty"`
}

// ClusterNetworkingConfig are the address ranges of a cluster.
type ClusterNetworkingConfig struct {
	// Services are the ranges of services.
	//
	// +optional
	Services NetworkRanges `json:"services,omitempty"`

	// Pods are the ranges of pods.
	//
	// +optional
	Pods NetworkRanges `json:"pods,omitempty"`

	// ServiceDomain is the domain of service names ("cluster.local").
	//
	// +optional
	ServiceDomain string `json:"serviceDomain,omitempty"`
}

// NetworkRanges are ranges of addresses.
type NetworkRanges struct {
	// CIDRBlocks are ranges like "10.128.0.0/14".
	//
	// +optional
	// +nullable
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`
}

// ClusterStatus is what a cluster was last seen to be.
type ClusterStatus struct {
	// APIEndpoints are the addresses of the cluster's API server.
	//
	// +optional
	// +nullable
	APIEndpoints []APIEndpoint `json:"apiEndpoints,omitempty"`

	// ErrorReason names an error that a user must fix.
	//
	// +optional
	ErrorReason string `json:"errorReason,omitempty"`

	// ErrorMessage explains an error that a user must fix.
	//
	// +optional
	ErrorMessage string `json:"errorMessage,omitempty"`

	// ProviderStatus is the state of the cluster at the infrastructure.
	//
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
}

// APIEndpoint is where an API server is reached.
type APIEndpoint struct {
	// Host is a name or an address.
	//
	// +optional
	Host string `json:"host,omitempty"`

	// Port is a TCP port.
	//
	// +optional
	Port int `json:"port,omitempty"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Cluster `json:"items"`
}
