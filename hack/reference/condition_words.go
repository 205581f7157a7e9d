package main

import (
	"slices"
	"strings"
)

// condition is a row of the catalog.
type condition struct {
	// names are types, separated by commas; in asterisks they are prose.
	of, names, api string
	// says are its statuses with their reasons, one per line.
	says string
	// clients are the known clients that depend on the condition.
	clients string
}

const (
	ours    = "none known; Millwright added it"
	theirs  = "clients of the original"
	kstatus = "kstatus (Flux, Argo CD), `kubectl wait`"
)

// assumedReasons are the reasons of events that the code computes elsewhere, by "folder expression". A value without reasons
// means that the code only forwards events, whose origin is already collected.
func assumedReasons(s *sources) map[string][]string {
	distrusted := []string{"TargetClusterReplaced", "NodesMissingTogether"}
	return map[string][]string{
		"internal/controller/machine e.Reason": {},
		"internal/controller/csr string(d.Reason)": s.declared("internal/engine/approval", "Reason",
			"NodeCSRApprove", "AlreadyDecided", "OtherSigner", "ClientRenewal"), // the reasons of approved requests, or of another approver
		"internal/dialect/openshift c.Reason":        append(distrusted, "NodeMissing"),
		"internal/dialect/gardener string(o.Reason)": distrusted,
	}
}

// assumedTypes are the same for types and reasons of conditions.
func assumedTypes() map[string][]string {
	var began []string
	for _, step := range []string{"PreDrainHook", "DisruptionBudget", "Drain", "VolumeDetach", "PreTerminateHook", "InstanceDeletion", "NodeDeletion"} {
		began = append(began, step+"Started")
	}
	return map[string][]string{
		"internal/controller/csr string(d.Reason)":                                               {"NodeCSRApprove"},
		"internal/controller/controlplanemachineset configv1.ClusterStatusConditionType(c.Type)": {"Available", "Degraded", "Progressing"},
		"internal/engine/interruption row.is":                                                    {"Terminating", "RebalanceRecommended", "MaintenanceScheduled"},
		"internal/dialect/openshift t":                                                           began,
		"internal/dialect/gardener corev1.NodeConditionType(dialect.StartedCondition(b.Step))":   began,
	}
}

// conditions are the rows of the page, by object.
var conditions = []condition{
	{"Machine", "InstanceExists", openshift, `True: the instance exists
False, InstanceNotCreated: the instance is not created yet; the message has the last error
False, InstanceMissing: the instance no longer exists; the machine is Failed
Unknown, ErrorCheckingProvider: the controller could not call the infrastructure, or got no answer
Unknown, InstanceContradicted: the infrastructure lists no instance, but the node is Ready`, theirs},
	{"Machine", "Drainable", openshift, `True
False, HookPresent: pre-drain hooks are set; the message names their owners`, "owners of hooks, such as etcd's operator"},
	{"Machine", "Terminable", openshift, `True
False, HookPresent: pre-terminate hooks are set`, "owners of hooks, such as etcd's operator"},
	{"Machine", "Drained", openshift, `True: the drain is complete, skipped or abandoned, as the message says
False, DrainError: pods are left`, "owners of pre-terminate hooks, which wait for it"},
	{"Machine", "NodeExists", openshift, `False, NodeMissing: the node of a Running machine was deleted
Unknown, TargetClusterReplaced or NodesMissingTogether: Millwright concludes nothing about the node; absent otherwise`, ours},
	{"Machine", "NodeHealthy", openshift, "False, NodeUnhealthy or another reason of [why](../reasons.md): the node is unhealthy since that time, and the machine itself has a health timeout; absent otherwise", ours},
	{"Machine", "InstanceRecord", both, "True, Recorded: the message is the machine's [record](../record.md)", ours},
	{"Machine", "PreDrainHookStarted, DisruptionBudgetStarted, DrainStarted, VolumeDetachStarted, PreTerminateHookStarted, InstanceDeletionStarted, NodeDeletionStarted", both, `True since that step of the deletion began; absent before that
InstanceListed, a reason of InstanceDeletionStarted: the infrastructure listed the instance at that time. In o, the message is the error of a failing termination, or the [disruption budget](../disruption-budgets.md) that the deletion waits for`, ours},
	{"Machine", "*(those of the node)*", gardener, "copies of the node's conditions", theirs},
	{"MachineSet", "Ready", openshift, `True: all wanted machines exist and are available
False, MachinesUnavailable
False, InvalidSpec: a field is invalid`, kstatus},
	{"MachineSet", "ReplicaFailure", both, `True, FailedCreate: a machine cannot be created
True, FailedDelete: a machine cannot be deleted
True, CreationHeld or DeletionHeld (the latter: g): the number is larger than one of the shares allows`, "g: clients of the original; o: none known"},
	{"MachineSet", "DeletionHeld", openshift, "True, MassDeletion: the set would delete more machines than the share allows; absent otherwise", ours},
	{"MachineSet", "Frozen", gardener, "True, OverShootingReplicaCount: far too many machines exist, and none is created", theirs},
	{"MachineDeployment", "Available", both, `True, MinimumReplicasAvailable
False, MinimumReplicasUnavailable`, "g: clients of the original; o: kstatus"},
	{"MachineDeployment", "Progressing", both, `True, NewMachineSetCreated, FoundNewMachineSet or MachineSetUpdated: the rollout is in progress
True, NewMachineSetAvailable: the rollout is complete
Unknown, DeploymentPaused or DeploymentResumed
Unknown, DeletionHeld: a set waits for an approval
False, MachineSetCreateError, ProgressDeadlineExceeded or RolloutStopped
False, InvalidSpec or SelectingAll: a field is invalid`, "g: clients of the original; o: kstatus; `kubectl machine rollout status`"},
	{"MachineDeployment", "ReplicaFailure", both, "True: a set has this condition; the reason is that of the set, or MachineSetFailed if the set has none; absent otherwise", theirs},
	{"MachineDeployment", "Frozen", gardener, "True, OverShootingReplicaCount or MachineDeploymentStateSync: a set is frozen; absent otherwise", theirs},
	{"MachineDeployment", "Ready", openshift, "True or False. The reason is that of the condition Progressing, or MachinesUnavailable or Deleting", kstatus},
	{"MachineDeployment", "Reconciling", both, "True: the rollout is in progress without an obstacle; absent otherwise", kstatus},
	{"MachineDeployment", "Stalled", both, "True: the rollout will not complete by itself; absent otherwise", kstatus},
	{"MachineHealthCheck", "RemediationAllowed", openshift, `True
False, TooManyUnhealthy: more machines are unhealthy than maxUnhealthy allows; severity Info if they are only starting
False, TargetClusterReplaced, TargetClusterUnknown or NodesMissingTogether: the target cluster is not trusted
False, InvalidSpec: maxUnhealthy is invalid`, theirs},
	{"MachineHealthCheck", "ExternalRemediationTemplateAvailable", openshift, `True
False, ExternalRemediationTemplateNotFound; absent until the first problem`, theirs},
	{"MachineHealthCheck", "ExternalRemediationRequestAvailable", openshift, `True
False, ExternalRemediationRequestCreationFailed; absent until the first problem`, theirs},
	{"MachineHealthCheck", "Valid", openshift, "False, InvalidSpec: a field is unreadable, and no machine is remediated; absent until the first problem", ours},
	{"MachineHealthCheck", "Calm", openshift, `True; with reason NoMachines if the selector matches no machine
False, Blind: the controller cannot observe nodes, or began to do so only recently
False, Storm: many machines of a group are unhealthy together, or were recently
False, Held: the rate or the back-off delays remediation; absent if the breaker is off`, ours},
	{"ControlPlaneMachineSet", "Available", openshift, `True, AllReplicasAvailable
False, UnavailableReplicas: an index has no ready machine`, theirs},
	{"ControlPlaneMachineSet", "Degraded", openshift, `False, AsExpected
True, NoReadyMachines
True, UnmanagedNodes: a node of the control plane belongs to no machine of the set
True, ExcessIndexes: the machines have more indexes than replicas; the message names those in excess
True, ExcessUpdatedReplicas: as OnDelete, two machines of an index are as the template; delete one
True, FailedReplacement: a new machine has failed; delete it
True, MachinesAlreadyOwned: another controller owns a machine
True, InvalidStrategy
In each case that is True, no machine is created or deleted`, theirs},
	{"ControlPlaneMachineSet", "Progressing", openshift, `True, NeedsUpdateReplicas: machines are missing, unready or outdated
True, ExcessReplicas: an old machine is being removed
False, AllReplicasUpdated
False, OperatorDegraded: see Degraded`, theirs},
	{"ControlPlaneMachineSet", "Error", openshift, `True, ContinuousErrors: 15 passes in a row failed with the error of the message
False, AsExpected`, theirs},
	{"Node", "Terminating", both, `True, TerminationRequested: the cloud has announced the end of the instance
False, NoticeWithdrawn
True, Unhealthy or ScaleDown (g): its machine is under deletion`, "the health check of spot machines; g: clients of the original"},
	{"Node", "RebalanceRecommended", both, `True, CapacityAtRisk
False, NoticeWithdrawn`, ours},
	{"Node", "MaintenanceScheduled", both, `True, MaintenanceNotice
False, NoticeWithdrawn`, ours},
	{"Node", "InPlaceUpdate", gardener, "always True; CandidateForUpdate, SelectedForUpdate, DrainSuccessful, ReadyForUpdate, UpdateSuccessful, UpdateFailed", "the program that updates nodes"},
	{"Node", "Preserved", gardener, "True or False; `Preserved by MCM.`, `Preserved by user.`, `Preservation stopped.`", theirs},
	{"CertificateSigningRequest", "Approved", both, "True, NodeCSRApprove", "kubelets, kube-controller-manager"},
	{"ClusterOperator `machine-api`, or `Operands...` on the operator's Deployment", "Available", openshift, "True, AsExpected; False, Initializing", "the cluster version operator, the console"},
	{"ClusterOperator `machine-api`, or `Operands...` on the operator's Deployment", "Progressing", openshift, "True, Initializing or SyncingResources; False, AsExpected", "the same"},
	{"ClusterOperator `machine-api`, or `Operands...` on the operator's Deployment", "Degraded", openshift, "True, SyncingFailed; False, AsExpected", "the same"},
	{"ClusterOperator `machine-api`, or `Operands...` on the operator's Deployment", "Upgradeable", openshift, "True", "the same"},
	{"ClusterOperator `control-plane-machine-set`", "Available, Degraded, Progressing, Upgradeable", openshift, `as those of an active ControlPlaneMachineSet; Error of the set is shown as Degraded
True or False, AsExpected: no set is active; of Upgradeable also while a set is active: True if it is available`, "the cluster version operator, the console"},
}

// is reports whether a row is about a type.
func (c condition) is(name string) bool {
	return slices.Contains(strings.Split(c.names, ", "), name)
}

// mentions reports whether a row has a reason.
func (c condition) mentions(reason string) bool {
	return strings.Contains(c.says, reason)
}
