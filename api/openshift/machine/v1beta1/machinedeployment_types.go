package v1beta1

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeployment rolls changes of a template over sets of machines.
//
// What a change of the template does depends on the field:
// - spec.providerSpec.value and spec.providerID roll: machines are replaced as the strategy says. Values are compared, so that the
// order of keys and the form of numbers make no difference.
// - metadata.labels and metadata.annotations are added to the living machines of the present template, and never taken away.
// - spec.metadata and spec.taints replace those of the living machines, from where they are added to nodes.
// - spec.lifecycleHooks are for machines to come.
//
// A deployment owns the sets that it created. It never adopts a set that another client created, even if the selector matches. After
// an orphaning deletion, a deployment of the same name adopts the sets of the deleted deployment.
//
// The short name avoids md, mc, mcd, mcp, mcs, ms and mp, which other groups use for kinds that live in the same clusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedeployments,scope=Namespaced,categories=millwright,shortName=mdp,singular=machinedeployment
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines asked for"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Machines there are"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines with a ready node"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.updatedReplicas",description="Machines of the present template"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Machines ready for long enough"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the deployment was declared"
// +kubebuilder:printcolumn:name="Why",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="How far the rollout is, and what it waits for",priority=1
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
	// Replicas is the desired number of machines.
	//
	// +optional
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector says which sets belong to the deployment. It must match the labels of the template, and must not be empty. Sets that it
	// does not match any more are let go of.
	//
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty"`

	// Template is the form of the deployment's machines: that of a MachineSet.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template machinev1.MachineTemplateSpec `json:"template,omitempty"`

	// Strategy says how machines of an old template are replaced with machines of the present one.
	//
	// +optional
	Strategy MachineDeploymentStrategy `json:"strategy,omitempty"`

	// MinReadySeconds is for how long a machine's node must have been ready for the machine to be available.
	//
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// RevisionHistoryLimit is the number of empty old sets that are kept for a rollback. The effective default is 1.
	//
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// Paused stops the rollout of changes of the template.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// ProgressDeadlineSeconds is how long a rollout may stand still before it is reported as stuck. The effective default is 600; 0
	// is for ever.
	//
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// RollbackTo requests a rollback to an old template. The controller clears it after the rollback.
	//
	// +optional
	RollbackTo *RollbackConfig `json:"rollbackTo,omitempty"`
}

// RollbackConfig asks to go back to an old template.
type RollbackConfig struct {
	// Revision is the revision to restore; 0 is the previous revision.
	//
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// MachineDeploymentStrategyType names a strategy.
type MachineDeploymentStrategyType string

// The strategies.
const (
	// RollingUpdateMachineDeploymentStrategyType replaces machines step by step within bounds.
	RollingUpdateMachineDeploymentStrategyType MachineDeploymentStrategyType = "RollingUpdate"
	// OnDeleteMachineDeploymentStrategyType replaces a machine when a client deletes it.
	OnDeleteMachineDeploymentStrategyType MachineDeploymentStrategyType = "OnDelete"
	// RecreateMachineDeploymentStrategyType removes all old machines before it makes new ones.
	RecreateMachineDeploymentStrategyType MachineDeploymentStrategyType = "Recreate"
)

// MachineDeploymentStrategy is how machines of an old template give way to machines of the present one.
type MachineDeploymentStrategy struct {
	// Type is RollingUpdate, which is the effective default, OnDelete or Recreate.
	//
	// +optional
	Type MachineDeploymentStrategyType `json:"type,omitempty"`

	// RollingUpdate bounds a rolling update.
	//
	// +optional
	RollingUpdate *MachineRollingUpdateDeployment `json:"rollingUpdate,omitempty"`
}

// MachineRollingUpdateDeployment bounds a rolling update. When both bounds come to 0, one machine may be unavailable.
type MachineRollingUpdateDeployment struct {
	// MaxUnavailable is how many machines, or which percentage of replicas rounded down, may be unavailable. The effective default
	// is 0.
	//
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many machines, or which percentage of replicas rounded up, there may be above replicas. The effective
	// default is 1.
	//
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// DeletePolicy is Random, which is the effective default, Newest or Oldest. It selects the machine of a set that is
	// deleted first, after the machines that a user marked and those that are not ready. It applies to every strategy.
	//
	// +optional
	DeletePolicy string `json:"deletePolicy,omitempty"`
}

// Types of conditions.
const (
	// MachineDeploymentAvailable: as many machines are available as must be at all times.
	MachineDeploymentAvailable = "Available"
	// MachineDeploymentProgressing tells how the rollout goes.
	MachineDeploymentProgressing = "Progressing"
	// MachineDeploymentReplicaFailure mirrors a set that cannot create or delete machines. It is there only while that is so.
	MachineDeploymentReplicaFailure = "ReplicaFailure"
	// MachineDeploymentReady: all machines are of the present template, there are as many as wanted, and all are available.
	MachineDeploymentReady = "Ready"
	// MachineDeploymentReconciling: the deployment is on its way to Ready. It is there only while that is so.
	MachineDeploymentReconciling = "Reconciling"
	// MachineDeploymentStalled: it does not get there by itself. It is there only while that is so.
	MachineDeploymentStalled = "Stalled"
)

// MachineDeploymentStatus is what a deployment was last seen to be.
type MachineDeploymentStatus struct {
	// ObservedGeneration is the generation of the deployment that this status describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// LabelSelector is the selector of the deployment as a string, for clients of the scale subresource.
	//
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// Replicas is the number of machines in all sets.
	//
	// +optional
	Replicas int32 `json:"replicas"`

	// UpdatedReplicas is the number of machines with the present template.
	//
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// ReadyReplicas is the number of machines with a Ready node.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is the number of machines that have been ready for long enough.
	//
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// UnavailableReplicas is the number of machines that are missing in all sets.
	//
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas"`

	// CollisionCount is the number of times that another set already had the name of a new set.
	//
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// LastProgressTime is the time of the last progress of the rollout. The progress deadline counts from there.
	//
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`

	// Conditions are the conditions of the deployment.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MachineDeploymentList is a list of MachineDeployments.
//
// +kubebuilder:object:root=true
type MachineDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineDeployment `json:"items"`
}
