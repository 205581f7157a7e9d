package v1alpha1

// Finalizers.
const (
	// FinalizerMachine holds Machines and MachineClasses (machine controller), MachineSets and MachineDeployments (set
	// and deployment controllers). The original uses one string for all four.
	FinalizerMachine = "machine.sapcloud.io/machine-controller-manager"
	// FinalizerSecret holds Secrets that a MachineClass refers to.
	FinalizerSecret = "machine.sapcloud.io/machine-controller"
	// FinalizerNode holds Nodes, so that deleting a node becomes deleting its machine.
	FinalizerNode = "node.machine.sapcloud.io/machine-controller"
)

// Labels of Machines.
const (
	// LabelKeyNode holds the name of the machine's node. The autoscaler and the printer column read it.
	LabelKeyNode = "node"
	// LabelKeyName holds, by convention of the template's author, the name of the deployment. It keys the limit on
	// machines that fail at the same time, a metric label and the autoscaler's listing of instances.
	LabelKeyName = "name"
	// LabelKeyMachineTemplateHash tells sets of a deployment and their machines apart, as a decimal number. It is on the set's
	// labels, selector and template as well.
	LabelKeyMachineTemplateHash = "machine-template-hash"
	// LabelKeyForceDeletion asks, with a value that strconv.ParseBool takes for true, to delete without waiting for pods.
	LabelKeyForceDeletion = "force-deletion"
	// LabelKeyForceDrain asks, with exactly LabelValueTrue, for a forced drain of a machine that stays.
	LabelKeyForceDrain = "force-drain"
)

// Labels of MachineSets and MachineDeployments.
const (
	// LabelKeyFreeze, with LabelValueTrue, keeps a set from making machines. On the deployment it mirrors its sets.
	LabelKeyFreeze = "freeze"
	// LabelKeyScaleUpDisabled keeps an old set from making machines during an update in place; its presence counts.
	LabelKeyScaleUpDisabled = "node.machine.sapcloud.io/scale-up-disabled"
)

// LabelValueTrue is the value of LabelKeyFreeze, LabelKeyForceDrain and of the annotation AnnotationKeyUnfreeze.
const LabelValueTrue = "True"

// Labels of Nodes.
const (
	// LabelKeyNodeMachineName holds the name of the node's machine.
	LabelKeyNodeMachineName = "node.gardener.cloud/machine-name"
	// LabelKeyNodeCandidateForUpdate marks with "true" a node that an update in place may select.
	LabelKeyNodeCandidateForUpdate = "node.machine.sapcloud.io/candidate-for-update"
	// LabelKeyNodeSelectedForUpdate marks with "true" a node that an update in place has selected.
	LabelKeyNodeSelectedForUpdate = "node.machine.sapcloud.io/selected-for-update"
	// LabelKeyNodeUpdateResult holds the node agent's result of an update in place. On a Machine it shields the machine
	// from being chosen by a set that shrinks.
	LabelKeyNodeUpdateResult = "node.machine.sapcloud.io/update-result"
)

// Values of LabelKeyNodeUpdateResult.
const (
	LabelValueNodeUpdateSuccessful = "successful"
	LabelValueNodeUpdateFailed     = "failed"
)

// Annotations of Machines.
const (
	// AnnotationKeyMachinePriority holds a whole number; a set that shrinks takes machines with lower numbers first.
	AnnotationKeyMachinePriority = "machinepriority.machine.sapcloud.io"
	// AnnotationKeyMarkedForDeletionTime holds, in RFC 3339, when a deployment marked the machine for the autoscaler.
	AnnotationKeyMarkedForDeletionTime = "machine.sapcloud.io/marked-for-deletion-time"
	// AnnotationKeyMachineJoinDuration holds, as a Go duration, how long the machine took to join.
	AnnotationKeyMachineJoinDuration = "node.machine.sapcloud.io/machine-join-duration"
	// AnnotationKeyLastAppliedNodePreserve holds the node's value of AnnotationKeyPreserve that was last acted upon.
	AnnotationKeyLastAppliedNodePreserve = "node.machine.sapcloud.io/last-applied-node-preserve-value"
	// AnnotationKeyEffectiveCreationTimeout holds, as a Go duration, the creation timeout that wins over the spec. It goes
	// from the deployment to its sets and from them to the machines.
	AnnotationKeyEffectiveCreationTimeout = "node.machine.sapcloud.io/effective-creation-timeout"
)

// Values of AnnotationKeyMachinePriority.
const (
	// MachinePriorityDefault is what the machine controller gives every machine.
	MachinePriorityDefault = "3"
	// MachinePriorityFirst is what machines get that the autoscaler chose.
	MachinePriorityFirst = "1"
)

// AnnotationKeyPreserve asks, on a Node or a Machine, to keep the machine although it failed or would be scaled down.
const AnnotationKeyPreserve = "node.machine.sapcloud.io/preserve"

// Values of AnnotationKeyPreserve.
const (
	// PreserveNow preserves the machine whatever its phase.
	PreserveNow = "now"
	// PreserveWhenFailed preserves the machine once it is Failed.
	PreserveWhenFailed = "when-failed"
	// PreserveAuto is written by a set that preserves a failed machine without being asked.
	PreserveAuto = "auto-preserved"
	// PreserveFalse preserves nothing.
	PreserveFalse = "false"
)

// Annotations of MachineSets and MachineDeployments.
const (
	// AnnotationKeyScalerReplicaChange holds, in RFC 3339, when the autoscaler last changed the replicas of a deployment.
	AnnotationKeyScalerReplicaChange = "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time"
	// AnnotationKeyTriggerDeletion holds the machines that the autoscaler wants gone from a deployment, with the time of its
	// wish, as "machine-a~2026-01-02T15:04:05Z,machine-b~...". It is never copied to sets.
	AnnotationKeyTriggerDeletion = "node.machine.sapcloud.io/trigger-deletion-by-mcm"
	// AnnotationKeyUnfreeze asks, by its presence, to thaw a frozen set or deployment.
	AnnotationKeyUnfreeze = "safety.machine.sapcloud.io/unfreeze"
	// AnnotationKeyPreferNoSchedule marks, with "True", a set whose nodes have TaintKeyPreferNoSchedule.
	AnnotationKeyPreferNoSchedule = "deployment.machine.sapcloud.io/prefer-no-schedule"
	// AnnotationKeyRevision holds the revision of a set, and of the deployment's present template.
	AnnotationKeyRevision = "deployment.kubernetes.io/revision"
	// AnnotationKeyRevisionHistory holds the earlier revisions of a set, separated by commas.
	AnnotationKeyRevisionHistory = "deployment.kubernetes.io/revision-history"
	// AnnotationKeyDesiredReplicas holds the replicas of the deployment when it last scaled the set.
	AnnotationKeyDesiredReplicas = "deployment.kubernetes.io/desired-replicas"
	// AnnotationKeyMaxReplicas holds the replicas and surge of the deployment when it last scaled the set.
	AnnotationKeyMaxReplicas = "deployment.kubernetes.io/max-replicas"
)

// Annotations of Nodes.
const (
	// AnnotationKeyLastAppliedNodeTemplate holds, in JSON, the labels, annotations and taints that were last mirrored from
	// the machine, so that what was removed there can be removed here.
	AnnotationKeyLastAppliedNodeTemplate = "node.machine.sapcloud.io/last-applied-anno-labels-taints"
	// AnnotationKeyLastAppliedVirtualCapacity holds, in JSON, the virtual capacity that was last written.
	AnnotationKeyLastAppliedVirtualCapacity = "node.machine.sapcloud.io/last-applied-virtual-capacity"
	// AnnotationKeyNotManaged marks, by its presence, a node that has no machine.
	AnnotationKeyNotManaged = "node.machine.sapcloud.io/not-managed-by-mcm"
	// AnnotationKeyUpdateFailedReason holds the node agent's reason for a failed update in place.
	AnnotationKeyUpdateFailedReason = "node.machine.sapcloud.io/update-failed-reason"
	// AnnotationKeyScaleDownDisabled keeps, with "true", the autoscaler from removing the node.
	AnnotationKeyScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// AnnotationKeyScaleDownDisabledByUs marks, with "true", that the annotation before it was written by the machine
	// controllers, which therefore may remove it.
	AnnotationKeyScaleDownDisabledByUs = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm"
)

// AnnotationValueNotManaged is what the machine controller writes as AnnotationKeyNotManaged.
const AnnotationValueNotManaged = "1"

// Taints of Nodes.
const (
	// TaintKeyPreferNoSchedule, with the value "True" and the effect PreferNoSchedule, is on nodes of old sets in a rollout.
	TaintKeyPreferNoSchedule = "deployment.machine.sapcloud.io/prefer-no-schedule"
	// TaintKeyCriticalComponentsNotReady, with the effect NoSchedule, keeps a machine Pending until the taint is removed.
	TaintKeyCriticalComponentsNotReady = "node.gardener.cloud/critical-components-not-ready"
	// TaintKeyPreserved, with the effect NoSchedule, is on the node of a preserved failed machine.
	TaintKeyPreserved = "node.machine.sapcloud.io/preserved"
)

// User data and its placeholders.
const (
	// SecretKeyUserData is the key of the user data in a class's Secret.
	SecretKeyUserData = "userData"
	// PlaceholderBootstrapToken is replaced in user data by a bootstrap token, in plain form or escaped for a URL query.
	PlaceholderBootstrapToken = "<<BOOTSTRAP_TOKEN>>"
	// PlaceholderMachineName is replaced in user data by the machine's name, in plain form or escaped for a URL query.
	PlaceholderMachineName = "<<MACHINE_NAME>>"
)
