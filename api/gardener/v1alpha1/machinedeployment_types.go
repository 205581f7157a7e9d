package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeployment rolls changes of a template over sets of machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedeployments,scope=Namespaced,categories=millwright,shortName=mcd,singular=machinedeployment
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines with a ready node"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines asked for"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.updatedReplicas",description="Machines of the present template"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Machines that can be used"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the deployment was declared"
// +kubebuilder:printcolumn:name="Why",type="string",JSONPath=".status.conditions[?(@.type==\"Progressing\")].message",description="How far the rollout is, and what it waits for",priority=1
type MachineDeployment struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the deployment.
	//
	// +optional
	Spec MachineDeploymentSpec `json:"spec,omitempty"`

	// Status is the last observed state of the deployment.
	//
	// +optional
	Status MachineDeploymentStatus `json:"status,omitempty"`
}

// MachineDeploymentSpec is what a deployment should be.
type MachineDeploymentSpec struct {
	// Replicas is the desired number of machines. An absent value means 0.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Selector selects the sets of the deployment. It must match the labels of the template.
	//
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Template is the template of the machines.
	Template MachineTemplateSpec `json:"template"`

	// Strategy says how machines of an old template are replaced with machines of the present one.
	//
	// +optional
	Strategy MachineDeploymentStrategy `json:"strategy,omitempty"`

	// MinReadySeconds is copied to the sets. It does not affect the availability of machines.
	//
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// RevisionHistoryLimit is the number of empty old sets that are kept for a rollback. Nil keeps all.
	//
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// Paused stops the rollout of changes of the template.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// RollbackTo requests a rollback to an old template. The controller clears it after the rollback.
	//
	// +optional
	RollbackTo *RollbackConfig `json:"rollbackTo,omitempty"`

	// ProgressDeadlineSeconds is how long a rollout may stand still before it is reported as stuck. Nil is for ever.
	//
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// AutoPreserveFailedMachineMax is the number of failed machines that are preserved without a request.
	//
	// +optional
	AutoPreserveFailedMachineMax int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// RollbackConfig asks to go back to an old template.
type RollbackConfig struct {
	// Revision is the revision to restore; 0 is the previous revision.
	//
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// MachineDeploymentStrategy is how machines of an old template give way to machines of the present one.
type MachineDeploymentStrategy struct {
	// Type is Recreate, RollingUpdate or InPlaceUpdate. There is no default: an empty type is refused by the controller.
	//
	// +optional
	Type MachineDeploymentStrategyType `json:"type,omitempty"`

	// RollingUpdate bounds a rolling update; needed when Type is RollingUpdate.
	//
	// +optional
	RollingUpdate *RollingUpdateMachineDeployment `json:"rollingUpdate,omitempty"`

	// InPlaceUpdate bounds an update in place; needed when Type is InPlaceUpdate.
	//
	// +optional
	InPlaceUpdate *InPlaceUpdateMachineDeployment `json:"inPlaceUpdate,omitempty"`
}

// UpdateConfiguration bounds a rollout from below and from above. When both bounds come to 0, one machine may be unavailable.
type UpdateConfiguration struct {
	// MaxUnavailable is how many machines, or which percentage of replicas rounded down, may be unavailable.
	//
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many machines, or which percentage of replicas rounded up, there may be above replicas.
	//
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// RollingUpdateMachineDeployment bounds a rolling update.
type RollingUpdateMachineDeployment struct {
	UpdateConfiguration `json:",inline"`
}

// InPlaceUpdateMachineDeployment bounds an update in place.
type InPlaceUpdateMachineDeployment struct {
	UpdateConfiguration `json:",inline"`

	// OrchestrationType says who selects the machines to update: Auto (the controller) or Manual (a user).
	//
	// +optional
	OrchestrationType OrchestrationType `json:"orchestrationType,omitempty"`
}

// MachineDeploymentStatus is what a deployment was last seen to be.
type MachineDeploymentStatus struct {
	// ObservedGeneration is the generation of the deployment that this status describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of machines in all sets.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// UpdatedReplicas is the number of machines with the present template.
	//
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

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

	// UnavailableReplicas is the number of machines that are missing in all sets.
	//
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`

	// Conditions are the conditions of the deployment.
	//
	// +optional
	Conditions []MachineDeploymentCondition `json:"conditions,omitempty"`

	// CollisionCount is the number of times that another set already had the name of a new set.
	//
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// FailedMachines are the failed machines of all sets.
	//
	// +optional
	FailedMachines []*MachineSummary `json:"failedMachines,omitempty"`

	// LabelSelector is the selector of the deployment as a string, for clients of the scale subresource. It is an addition to
	// the wire: other implementations of this API neither write nor read it.
	//
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// MachineDeploymentCondition is one observation about a deployment.
type MachineDeploymentCondition struct {
	// Type is what the condition is about.
	Type MachineDeploymentConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status ConditionStatus `json:"status"`

	// LastUpdateTime is when the condition was last written.
	//
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`

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

// MachineDeploymentList is a list of MachineDeployments.
//
// +kubebuilder:object:root=true
type MachineDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineDeployment `json:"items"`
}
