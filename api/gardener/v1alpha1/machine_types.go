package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is one machine: an instance at a provider and the node that it becomes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machines,scope=Namespaced,categories=millwright,shortName=mc,singular=machine
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.currentStatus.phase",description="Phase of the machine"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the machine was declared"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".metadata.labels.node",description="Name of the machine's node"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID of the machine's instance",priority=1
// +kubebuilder:printcolumn:name="Why",type="string",JSONPath=".status.lastOperation.description",description="What was done last, or why it failed",priority=1
type Machine struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the machine.
	//
	// +optional
	Spec MachineSpec `json:"spec,omitempty"`

	// Status is the last observed state of the machine.
	//
	// +optional
	Status MachineStatus `json:"status,omitempty"`
}

// MachineSpec is what a machine should be.
type MachineSpec struct {
	// Class names the MachineClass, in the machine's namespace, that says how the machine is made.
	//
	// +optional
	Class ClassSpec `json:"class,omitempty"`

	// ProviderID is the provider's ID of the instance. It is set after the instance exists.
	//
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// NodeTemplateSpec is what is mirrored to the node: labels, annotations and taints.
	//
	// +optional
	NodeTemplateSpec NodeTemplateSpec `json:"nodeTemplate,omitempty"`

	// MachineConfiguration overrides timeouts and thresholds of the controller for this machine. It is nil when the
	// object has none of its fields.
	//
	// +optional
	*MachineConfiguration `json:",inline"`
}

// MachineConfiguration overrides flags of the machine controller for one machine. A nil field leaves the flag's value.
// Changing it rolls no machine.
type MachineConfiguration struct {
	// MachineDrainTimeout is how long draining the node may take before pods are deleted by force. Effective default 2h.
	//
	// +optional
	MachineDrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`

	// MachineHealthTimeout is how long the node may be unhealthy before the machine is Failed. Effective default 10m.
	//
	// +optional
	MachineHealthTimeout *metav1.Duration `json:"healthTimeout,omitempty"`

	// MachineCreationTimeout is how long the machine may take from its declaration to a joined node before it is Failed.
	// Effective default 20m; the annotation node.machine.sapcloud.io/effective-creation-timeout wins over it.
	//
	// +optional
	MachineCreationTimeout *metav1.Duration `json:"creationTimeout,omitempty"`

	// MachineInPlaceUpdateTimeout is how long an update in place may take before it is failed. Effective default 20m.
	//
	// +optional
	MachineInPlaceUpdateTimeout *metav1.Duration `json:"inPlaceUpdateTimeout,omitempty"`

	// MachinePreserveTimeout is how long a preserved machine is kept. Effective default 96h.
	//
	// +optional
	MachinePreserveTimeout *metav1.Duration `json:"machinePreserveTimeout,omitempty"`

	// DisableHealthTimeout, when true, keeps the machine from being Failed by the health timeout.
	//
	// +optional
	DisableHealthTimeout *bool `json:"disableHealthTimeout,omitempty"`

	// MaxEvictRetries is how often the eviction of a pod is tried before the pod is deleted. Effective default 360.
	//
	// +optional
	MaxEvictRetries *int32 `json:"maxEvictRetries,omitempty"`

	// NodeConditions lists, separated by commas, the node conditions that make a node unhealthy when they are True.
	//
	// +optional
	NodeConditions *string `json:"nodeConditions,omitempty"`
}

// NodeTemplateSpec is what is mirrored from a machine to its node.
type NodeTemplateSpec struct {
	// Labels and annotations of this metadata are mirrored to the node.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is a node's spec, of which only the taints are mirrored to the node.
	//
	// +optional
	Spec corev1.NodeSpec `json:"spec,omitempty"`
}

// ClassSpec names the class of a machine.
type ClassSpec struct {
	// APIGroup is the API group of the class.
	//
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`

	// Kind is the kind of the class, MachineClass.
	//
	// +optional
	Kind string `json:"kind,omitempty"`

	// Name is the name of the class.
	//
	// +optional
	Name string `json:"name,omitempty"`
}

// MachineStatus is what a machine was last seen to be.
type MachineStatus struct {
	// Addresses are the addresses of the instance, sorted by type and address. They are filled in only where machines join
	// no cluster (no target cluster); elsewhere the node has them.
	//
	// +optional
	Addresses []corev1.NodeAddress `json:"addresses,omitempty"`

	// Conditions are the conditions of the machine's node.
	//
	// +optional
	Conditions []corev1.NodeCondition `json:"conditions,omitempty"`

	// LastOperation is the last operation on the machine, and its result.
	//
	// +optional
	LastOperation LastOperation `json:"lastOperation,omitempty"`

	// CurrentStatus is the phase of the machine and since when.
	//
	// +optional
	CurrentStatus CurrentStatus `json:"currentStatus,omitempty"`

	// LastKnownState is data of the provider about the instance. Only the provider reads it.
	//
	// +optional
	LastKnownState string `json:"lastKnownState,omitempty"`
}

// LastOperation is the last thing done to a machine and how it went.
type LastOperation struct {
	// Description says for people what was done.
	//
	// +optional
	Description string `json:"description,omitempty"`

	// ErrorCode is the code of the provider's error, for example "ResourceExhausted"; empty without an error.
	//
	// +optional
	ErrorCode string `json:"errorCode,omitempty"`

	// LastUpdateTime is when the operation was last written.
	//
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`

	// State is how the operation went: Processing, Failed or Successful.
	//
	// +optional
	State MachineState `json:"state,omitempty"`

	// Type is what was done: Create, Update, InPlaceUpdate, DrainNode, HealthCheck or Delete.
	//
	// +optional
	Type MachineOperationType `json:"type,omitempty"`
}

// CurrentStatus is the phase of a machine and since when.
type CurrentStatus struct {
	// Phase is the phase of the machine. It is empty before the first reconcile.
	//
	// +optional
	Phase MachinePhase `json:"phase,omitempty"`

	// TimeoutActive is true while a timeout of the machine runs.
	//
	// +optional
	TimeoutActive bool `json:"timeoutActive,omitempty"`

	// LastUpdateTime is when the phase was last written.
	//
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`

	// PreserveExpiryTime is when a preserved machine stops being preserved; nil when it is not preserved.
	//
	// +optional
	PreserveExpiryTime *metav1.Time `json:"preserveExpiryTime,omitempty"`
}

// MachineSummary is a machine as its set and deployment report it when it failed.
type MachineSummary struct {
	// Name is the name of the machine.
	//
	// +optional
	Name string `json:"name,omitempty"`

	// ProviderID is the provider's identity of the instance.
	//
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// LastOperation is the last operation on the machine, and its result.
	//
	// +optional
	LastOperation LastOperation `json:"lastOperation,omitempty"`

	// OwnerRef is the name of the machine's owner.
	//
	// +optional
	OwnerRef string `json:"ownerRef,omitempty"`
}

// MachineList is a list of Machines.
//
// +kubebuilder:object:root=true
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Machine `json:"items"`
}
