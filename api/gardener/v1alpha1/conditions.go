package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ConditionStatus is the status of a condition of a set or deployment.
type ConditionStatus string

// The statuses of a condition.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// MachineSetConditionType is what a condition of a set is about.
type MachineSetConditionType string

// The condition types of a set.
const (
	// MachineSetReplicaFailure is True while machines cannot be created or deleted.
	MachineSetReplicaFailure MachineSetConditionType = "ReplicaFailure"
	// MachineSetFrozen is True while the set makes no machines because there are far too many.
	MachineSetFrozen MachineSetConditionType = "Frozen"
)

// Reasons of the conditions of a set.
const (
	// ReasonFailedCreate is the reason of MachineSetReplicaFailure when a machine could not be created.
	ReasonFailedCreate = "FailedCreate"
	// ReasonFailedDelete is the reason of MachineSetReplicaFailure when a machine could not be deleted.
	ReasonFailedDelete = "FailedDelete"
	// ReasonOverShootingReplicaCount is the reason of the Frozen condition of sets and deployments.
	ReasonOverShootingReplicaCount = "OverShootingReplicaCount"
)

// MachineDeploymentConditionType is what a condition of a deployment is about.
type MachineDeploymentConditionType string

// The condition types of a deployment.
const (
	// MachineDeploymentAvailable is True while enough machines are available.
	MachineDeploymentAvailable MachineDeploymentConditionType = "Available"
	// MachineDeploymentProgressing tells how a rollout goes.
	MachineDeploymentProgressing MachineDeploymentConditionType = "Progressing"
	// MachineDeploymentReplicaFailure mirrors the condition of the deployment's sets.
	MachineDeploymentReplicaFailure MachineDeploymentConditionType = "ReplicaFailure"
	// MachineDeploymentFrozen is True while a set of the deployment is frozen.
	MachineDeploymentFrozen MachineDeploymentConditionType = "Frozen"
	// MachineDeploymentReconciling: not all machines are of the present template and available yet. It is there only while
	// that is so; the original does not have it, nor the next.
	MachineDeploymentReconciling MachineDeploymentConditionType = "Reconciling"
	// MachineDeploymentStalled: they will not be by themselves. It is there only while that is so.
	MachineDeploymentStalled MachineDeploymentConditionType = "Stalled"
)

// Reasons of the Available condition of a deployment.
const (
	ReasonMinimumReplicasAvailable   = "MinimumReplicasAvailable"
	ReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"
)

// Reasons of the Progressing condition of a deployment.
const (
	// ReasonNewMachineSetCreated goes with True: the set of the present template was made.
	ReasonNewMachineSetCreated = "NewMachineSetCreated"
	// ReasonFoundNewMachineSet goes with True: a set of the present template was there already.
	ReasonFoundNewMachineSet = "FoundNewMachineSet"
	// ReasonMachineSetUpdated goes with True: the rollout got on.
	ReasonMachineSetUpdated = "MachineSetUpdated"
	// ReasonNewMachineSetAvailable goes with True: the rollout is complete.
	ReasonNewMachineSetAvailable = "NewMachineSetAvailable"
	// ReasonMachineSetCreateError goes with False: the set of the present template cannot be made.
	ReasonMachineSetCreateError = "MachineSetCreateError"
	// ReasonProgressDeadlineExceeded goes with False: the rollout stood still for longer than its deadline.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonDeploymentPaused goes with Unknown.
	ReasonDeploymentPaused = "DeploymentPaused"
	// ReasonDeploymentResumed goes with Unknown.
	ReasonDeploymentResumed = "DeploymentResumed"
)

// ReasonMachineDeploymentStateSync is the reason of the Frozen condition of a deployment that follows its sets.
const ReasonMachineDeploymentStateSync = "MachineDeploymentStateSync"

// Condition types that are put on nodes, beside the kubelet's own.
const (
	// NodeInPlaceUpdate tells how far an update in place is. Its status is always True; the reason is the step.
	NodeInPlaceUpdate corev1.NodeConditionType = "InPlaceUpdate"
	// NodePreserved tells that, or since when not, the machine of the node is preserved.
	NodePreserved corev1.NodeConditionType = "Preserved"
	// NodeTerminating is True while the machine of the node is on its way out.
	NodeTerminating corev1.NodeConditionType = "Terminating"
)

// Reasons of the node condition InPlaceUpdate, in the order in which an update goes through them.
const (
	ReasonCandidateForUpdate = "CandidateForUpdate"
	ReasonSelectedForUpdate  = "SelectedForUpdate"
	ReasonDrainSuccessful    = "DrainSuccessful"
	ReasonReadyForUpdate     = "ReadyForUpdate"
	ReasonUpdateSuccessful   = "UpdateSuccessful"
	ReasonUpdateFailed       = "UpdateFailed"
)

// Reasons of the node condition Preserved. They are sentences on the wire.
const (
	ReasonPreservedByMCM       = "Preserved by MCM."
	ReasonPreservedByUser      = "Preserved by user."
	ReasonPreservationStopped  = "Preservation stopped."
	MessagePreservedDrained    = "Preserved node drained successfully."
	MessagePreservedDrainError = "Preserved node could not be drained."
	// MessagePreservedUntil begins the message that ends with the time at which preservation stops.
	MessagePreservedUntil = "Machine preserved until "
)

// Reasons of the node condition Terminating.
const (
	ReasonNodeUnhealthy = "Unhealthy"
	ReasonNodeScaleDown = "ScaleDown"
)
