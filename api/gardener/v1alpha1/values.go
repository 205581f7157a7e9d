package v1alpha1

// MachinePhase is where a machine is in its life (status.currentStatus.phase).
type MachinePhase string

// The phases of a machine.
const (
	// MachinePhaseNone is the phase of a machine before its first reconcile.
	MachinePhaseNone MachinePhase = ""
	// MachinePending means that the instance exists and its node is awaited.
	MachinePending MachinePhase = "Pending"
	// MachineAvailable means that the instance exists and no node is awaited, since there is no target cluster.
	MachineAvailable MachinePhase = "Available"
	// MachineRunning means that the node is healthy.
	MachineRunning MachinePhase = "Running"
	// MachineTerminating means that the machine is on its way out.
	MachineTerminating MachinePhase = "Terminating"
	// MachineUnknown means that the node is unhealthy or missing, and not yet for too long.
	MachineUnknown MachinePhase = "Unknown"
	// MachineFailed means that the machine did not join, or was unhealthy, for too long: its set replaces it.
	MachineFailed MachinePhase = "Failed"
	// MachineCrashLoopBackOff means that creating the instance failed and is tried again.
	MachineCrashLoopBackOff MachinePhase = "CrashLoopBackOff"
	// MachineInPlaceUpdating means that the node is drained and being updated in place.
	MachineInPlaceUpdating MachinePhase = "InPlaceUpdating"
	// MachineInPlaceUpdateSuccessful means that the update in place went well.
	MachineInPlaceUpdateSuccessful MachinePhase = "InPlaceUpdateSuccessful"
	// MachineInPlaceUpdateFailed means that the update in place failed or took too long.
	MachineInPlaceUpdateFailed MachinePhase = "InPlaceUpdateFailed"
)

// MachineState is how an operation went (status.lastOperation.state).
type MachineState string

// The states of an operation.
const (
	// MachineStateProcessing means that the operation goes on.
	MachineStateProcessing MachineState = "Processing"
	// MachineStateFailed means that the operation failed; it may be tried again.
	MachineStateFailed MachineState = "Failed"
	// MachineStateSuccessful means that the operation is done.
	MachineStateSuccessful MachineState = "Successful"
)

// MachineOperationType is what was done to a machine (status.lastOperation.type).
type MachineOperationType string

// The types of operation.
const (
	// MachineOperationCreate makes the instance and waits for its node.
	MachineOperationCreate MachineOperationType = "Create"
	// MachineOperationUpdate changes something about an existing machine.
	MachineOperationUpdate MachineOperationType = "Update"
	// MachineOperationInPlaceUpdate updates the node without replacing the instance.
	MachineOperationInPlaceUpdate MachineOperationType = "InPlaceUpdate"
	// MachineOperationDrainNode drains the node of a machine that stays: an update in place, or preservation.
	MachineOperationDrainNode MachineOperationType = "DrainNode"
	// MachineOperationHealthCheck judges the node.
	MachineOperationHealthCheck MachineOperationType = "HealthCheck"
	// MachineOperationDelete drains the node and deletes instance and node.
	MachineOperationDelete MachineOperationType = "Delete"
)

// MachineDeploymentStrategyType is how a deployment replaces machines (spec.strategy.type).
type MachineDeploymentStrategyType string

// The strategies of a deployment.
const (
	// RecreateMachineDeploymentStrategyType removes all old machines before it makes new ones.
	RecreateMachineDeploymentStrategyType MachineDeploymentStrategyType = "Recreate"
	// RollingUpdateMachineDeploymentStrategyType replaces machines step by step within bounds.
	RollingUpdateMachineDeploymentStrategyType MachineDeploymentStrategyType = "RollingUpdate"
	// InPlaceUpdateMachineDeploymentStrategyType updates nodes step by step without replacing instances.
	InPlaceUpdateMachineDeploymentStrategyType MachineDeploymentStrategyType = "InPlaceUpdate"
)

// OrchestrationType is who selects machines for an update in place (spec.strategy.inPlaceUpdate.orchestrationType).
type OrchestrationType string

// The orchestration types of an update in place.
const (
	// OrchestrationTypeAuto lets the controller select.
	OrchestrationTypeAuto OrchestrationType = "Auto"
	// OrchestrationTypeManual lets a person select, by LabelKeyNodeSelectedForUpdate on the node.
	OrchestrationTypeManual OrchestrationType = "Manual"
)
