package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineSet keeps a number of machines alike.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinesets,scope=Namespaced,categories=millwright,shortName=mcs,singular=machineset
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines asked for"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Machines there are"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines with a ready node"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the set was declared"
// +kubebuilder:printcolumn:name="Why",type="string",JSONPath=".status.machineSetCondition[?(@.status==\"True\")].message",description="What is in the way of the set",priority=1
type MachineSet struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the set.
	//
	// +optional
	Spec MachineSetSpec `json:"spec,omitempty"`

	// Status is the last observed state of the set.
	//
	// +optional
	Status MachineSetStatus `json:"status,omitempty"`
}

// MachineSetSpec is what a set should be.
type MachineSetSpec struct {
	// Replicas is the desired number of machines. An absent value means 0.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Selector selects the machines of the set. It must match the labels of the template.
	//
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// MachineClass belongs to an older version of the API. The class of the template applies.
	//
	// +optional
	MachineClass ClassSpec `json:"machineClass,omitempty"`

	// Template is the template of the machines.
	//
	// +optional
	Template MachineTemplateSpec `json:"template,omitempty"`

	// MinReadySeconds is stored for the deployment of the set. It does not affect the availability of machines.
	//
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// AutoPreserveFailedMachineMax is the number of failed machines of the set that are preserved without a request.
	//
	// +optional
	AutoPreserveFailedMachineMax int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// MachineTemplateSpec is the form of machines to be made.
type MachineTemplateSpec struct {
	// Labels and annotations of this metadata are put on the machines.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the machines.
	//
	// +optional
	Spec MachineSpec `json:"spec,omitempty"`
}

// MachineSetStatus is what a set was last seen to be.
type MachineSetStatus struct {
	// Replicas is the number of machines.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// FullyLabeledReplicas is the number of machines with all labels of the template.
	//
	// +optional
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty"`

	// ReadyReplicas is the number of machines with a Ready node.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// AvailableReplicas is the number of available machines.
	//
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`

	// PreservedFailedReplicas is the number of preserved failed machines.
	//
	// +optional
	PreservedFailedReplicas int32 `json:"preservedFailedReplicas,omitempty"`

	// ObservedGeneration is the generation of the set that this status describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the conditions of the set. Their name on the wire is machineSetCondition.
	//
	// +optional
	Conditions []MachineSetCondition `json:"machineSetCondition,omitempty"`

	// LastOperation is the last operation of the set, and its result.
	//
	// +optional
	LastOperation LastOperation `json:"lastOperation,omitempty"`

	// FailedMachines are the failed machines of the set.
	//
	// +optional
	FailedMachines *[]MachineSummary `json:"failedMachines,omitempty"`

	// AutoPreserveFailedMachineCount is the number of failed machines that were preserved without a request.
	//
	// +optional
	AutoPreserveFailedMachineCount int32 `json:"autoPreserveFailedMachineCount,omitempty"`

	// LabelSelector is the selector of the set as a string, for clients of the scale subresource. It is an addition to the
	// wire: other implementations of this API neither write nor read it.
	//
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// MachineSetCondition is one observation about a set.
type MachineSetCondition struct {
	// Type is what the condition is about.
	Type MachineSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	//
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// Reason is one word for the last change.
	//
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message says for people what the last change was.
	//
	// +optional
	Message string `json:"message,omitempty"`
}

// MachineSetList is a list of MachineSets.
//
// +kubebuilder:object:root=true
type MachineSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineSet `json:"items"`
}
