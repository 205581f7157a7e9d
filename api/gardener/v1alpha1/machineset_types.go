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

	// Spec is what the set should be.
	//
	// +optional
	Spec MachineSetSpec `json:"spec,omitempty"`

	// Status is what the set was last seen to be.
	//
	// +optional
	Status MachineSetStatus `json:"status,omitempty"`
}

// MachineSetSpec is what a set should be.
type MachineSetSpec struct {
	// Replicas is how many machines there should be. An absent value means 0.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Selector says which machines belong to the set. It must match the labels of the template.
	//
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// MachineClass is a leftover of an older form; the class of the template counts.
	//
	// +optional
	MachineClass ClassSpec `json:"machineClass,omitempty"`

	// Template is the form of the set's machines.
	//
	// +optional
	Template MachineTemplateSpec `json:"template,omitempty"`

	// MinReadySeconds is kept for the deployment that owns the set; it does not count for the availability of machines.
	//
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// AutoPreserveFailedMachineMax is how many failed machines of the set are preserved without being asked.
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
	// Replicas is how many machines there are.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// FullyLabeledReplicas is how many machines have all labels of the template.
	//
	// +optional
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty"`

	// ReadyReplicas is how many machines have a ready node.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// AvailableReplicas is how many machines can be used.
	//
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`

	// PreservedFailedReplicas is how many failed machines are preserved.
	//
	// +optional
	PreservedFailedReplicas int32 `json:"preservedFailedReplicas,omitempty"`

	// ObservedGeneration is the generation of the set that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the conditions of the set. Their name on the wire is machineSetCondition.
	//
	// +optional
	Conditions []MachineSetCondition `json:"machineSetCondition,omitempty"`

	// LastOperation is the last thing done by the set and how it went.
	//
	// +optional
	LastOperation LastOperation `json:"lastOperation,omitempty"`

	// FailedMachines are the machines of the set that failed.
	//
	// +optional
	FailedMachines *[]MachineSummary `json:"failedMachines,omitempty"`

	// AutoPreserveFailedMachineCount is how many failed machines were preserved without being asked.
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
