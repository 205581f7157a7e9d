package main

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
)

// The APIs whose objects have an event or a condition, as the tables have them.
const (
	openshift = "o"
	gardener  = "g"
	both      = "o, g"
)

// event is a row of the catalogue. A reason that means different things has a row for each.
type event struct {
	reason, kind, api string
	means, do         string
}

// group are the events about some objects.
type group struct {
	title string
	// of are the folders whose code records them.
	of     []string
	events []event
}

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
	nothing = "nothing"
	why     = "`kubectl machine why`"
)

// followed are the struct types whose fields are reasons, with the folder of the code that reads them.
var followed = map[string]string{
	"DeploymentEvents": "internal/controller/machinedeployment", "SetEvents": "internal/controller/machineset", "change": "internal/controller/machineset",
}

// foreign are the constants of other modules that reasons and types are.
var foreign = map[string]string{
	"corev1.EventTypeNormal": normal, "corev1.EventTypeWarning": warning,
	"machinev1.MachineDrainable": string(machinev1.MachineDrainable), "machinev1.MachineTerminable": string(machinev1.MachineTerminable),
	"machinev1.MachineDrained": string(machinev1.MachineDrained), "machinev1.InstanceExistsCondition": string(machinev1.InstanceExistsCondition),
	"machinev1.MachineHookPresent":       machinev1.MachineHookPresent,
	"configv1.OperatorProgressing":       string(configv1.OperatorProgressing),
	"configv1.OperatorDegraded":          string(configv1.OperatorDegraded),
	"configv1.OperatorAvailable":         string(configv1.OperatorAvailable),
	"configv1.OperatorUpgradeable":       string(configv1.OperatorUpgradeable),
	"certificatesv1.CertificateApproved": string(certificatesv1.CertificateApproved),
}

// eventGroups are the tables of the page.
var eventGroups = []group{
	{"Control plane machine sets", []string{"internal/controller/controlplanemachineset"}, []event{
		{"Created", normal, openshift, "A machine of the control plane was created: a missing one, or a replacement.", nothing},
		{"Deleted", normal, openshift, "A machine of the control plane was deleted, because its replacement is ready.", nothing},
	}},
	{"Machines", []string{"internal/controller/machine", "internal/admission", "internal/dialect", "internal/dialect/openshift", "internal/dialect/gardener", "internal/controller/nodelink"}, []event{
		{"DeletionRequested", normal, both, "A client other than Millwright's programs requested the deletion of the machine. The message names the client.", nothing},
		{"Create", normal, openshift, "The instance exists, and the machine has recorded its provider ID.", nothing},
		{"FailedValidate", warning, openshift, "A field of the machine is invalid. No instance is created.", "correct the named field"},
		{"FailedCreate", warning, both, "An attempt to create the instance failed, or the machine failed.", "fix what the message names; the next attempt follows by itself, unless the phase is Failed"},
		{"Joined", normal, gardener, "The node has joined, and the machine runs.", nothing},
		{"Adopted", normal, both, "The provider knows an instance that another implementation created under the machine's name. The machine now owns this instance.", "nothing; this is expected after you take over a fleet"},
		{"InstanceDiffers", warning, both, "An adopted instance differs from its current class or provider spec.", "replace the machine if the difference matters"},
		{"InstanceStopped", warning, both, "The infrastructure reports that the instance does not run or does not exist.", "start the instance, or find out who stopped it; if the machine does not recover, a health check or its set replaces it"},
		{"InstanceRuns", normal, both, "The instance runs again.", nothing},
		{"InstanceContradicted", warning, both, "The provider lists no instance, but the node is Ready, or the list lacks most instances of other machines as well. Millwright does not trust the list.", "look at the infrastructure: see the reason in [reasons](../reasons.md)"},
		{"DuplicateInstance", warning, both, "The machine has a second instance besides the recorded one. The orphan collector removes the second instance after its grace period.", "find out which program created it"},
		{"DuplicateGone", normal, both, "The second instance no longer exists.", nothing},
		{"OtherAccount", warning, both, "The credentials do not belong to the account in which the instance was requested.", "restore the credentials of the first account"},
		{"FailedUpdate", warning, both, "The API server refuses writes to the machine, because of a webhook or a missing permission. Or an update of its instance failed: tags, load balancers, or an update in place.", "fix what the message names"},
		{"NodeMissing", warning, openshift, "The node of a Running machine was deleted. Phase and nodeRef do not change.", "restart the kubelet, or delete the machine"},
		{"TargetClusterReplaced", warning, both, "Another cluster answers instead of the one that the machine joined. Millwright concludes nothing about the node.", why},
		{"NodesMissingTogether", warning, both, "Fewer than half of the recorded nodes of other machines exist. Millwright concludes nothing about this machine's node.", why},
		{"NodeDeleted", warning, gardener, "The machine is deleted because its node was deleted. Its owner creates another machine.", nothing},
		{"NodeNotLinked", warning, both, "A node looks like that of the machine, but is not linked to the machine. The message says why.", "correct the provider ID, the addresses or the name of the node"},
		{"NodeNotUpdated", warning, both, "The API server refuses to write labels, annotations or taints of the machine to its node.", "correct them in the machine"},
		{"Unhealthy", normal, gardener, "The node is missing, or its conditions are unhealthy. The machine fails after its health timeout.", why},
		{"Recovered", normal, gardener, "The node is healthy again.", nothing},
		{"Deleting", normal, gardener, "The deletion has begun.", nothing},
		{"Draining", normal, gardener, "The node is drained for an update in place.", nothing},
		{"DrainSkipped", normal, openshift, "The node was not drained: it does not exist, or the annotation excludes it.", nothing},
		{"DrainSucceeded", normal, openshift, "The drain is complete.", nothing},
		{"DrainBlocked", normal, openshift, "A pre-drain hook blocks the deletion.", "wait for the owner of the hook"},
		{"DrainRequeued", normal, openshift, "Pods cannot leave the node. The message names them.", why},
		{"DisruptionDelayed", normal, both, "A [disruption budget](../disruption-budgets.md) does not permit the drain, the update in place or the reboot of the machine yet. The note names the budget and the limit.", "wait, or change the budget"},
		{"DrainObstacle", warning, both, "The drain begins and has obstacles: a budget that allows no eviction, several budgets for one pod, or data or volumes that exist only on the node.", "change the budget, or move the pods"},
		{"DrainAbandoned", warning, both, "The instance was terminated with pods left on its node, because its termination deadline had passed, or because the cluster gave no usable answer during a forced deletion.", "find out whether a workload lost data"},
		{"HookPending", warning, openshift, "A hook has blocked the deletion for longer than `--hook-report-after` (default: 1 hour).", "ask the owner of the hook, which the message names"},
		{"FailedDelete", warning, both, "The infrastructure refuses to terminate the instance.", "fix what the message names"},
		{"Delete", normal, openshift, "The machine is deleted. If finalizers of other programs hold the object, only its instance is deleted.", nothing},
		{"Deleted", normal, gardener, "The machine is deleted. The message says whether an instance was terminated.", nothing},
		{"Preserved", normal, gardener, "The machine is kept for inspection until the time in the message.", nothing},
		{"PreservationStopped", normal, gardener, "The preservation has ended.", nothing},
		{"InvalidPreservation", warning, gardener, "The value of the annotation `node.machine.sapcloud.io/preserve` is invalid and has no effect.", "write `now`, `when-failed`, `auto-preserved` or `false`"},
		{"Updating", normal, gardener, "An update in place is in progress.", nothing},
		{"Updated", normal, gardener, "An update in place succeeded.", nothing},
		{"RebootUnsupported", warning, both, "A reboot was requested, but the provider does not support reboots.", "nothing; the health check replaces the machine"},
		{"RebootFailed", warning, both, "The infrastructure refused to reboot the instance.", "nothing; the health check replaces the machine after the reboot timeout"},
		{"Rebooted", normal, both, "The instance was rebooted on request.", nothing},
	}},
	{"MachineSets", []string{"internal/controller/machineset"}, []event{
		{"SuccessfulCreate", normal, gardener, "The set created a machine. After ten events within a minute, events have the numbers of further machines.", nothing},
		{"SuccessfulDelete", normal, gardener, "The set deleted a machine for the reason in the message. The number of events is limited as for creations.", nothing},
		{"FailedCreate", warning, gardener, "A machine object could not be created, or a field of the set is invalid.", "fix what the message names: a quota, a webhook, the field"},
		{"FailedDelete", warning, gardener, "A machine object could not be deleted.", "fix what the message names"},
		{"ReconcileError", warning, openshift, "A machine object could not be created or deleted, or a field of the set is invalid.", "fix what the message names"},
		{"Adopted", normal, both, "The set became the owner of a machine that its selector matches and that had no owner.", nothing},
		{"Released", normal, both, "The set no longer owns a machine, because its selector does not match the machine any more.", nothing},
		{"SelectorOverlaps", warning, both, "Two sets match the same labels. Either set may adopt a machine without an owner.", "give each set different labels"},
		{"DeletionHeld", warning, both, "The set would delete more machines at once than `millwright.dev/max-deletion-share` allows. It deletes none.", "approve the number with `millwright.dev/approve-mass-deletion`, or correct `spec.replicas`"},
		{"InvalidDeletionShare", warning, both, "`millwright.dev/max-deletion-share` or its approval is unreadable. An unreadable share is treated as 20%; an unreadable approval approves nothing.", "correct the value"},
		{"CreationHeld", warning, both, "The set would create more machines at once than `millwright.dev/max-creation-share` allows. It creates none.", "approve the number with `millwright.dev/approve-mass-creation`, or correct `spec.replicas`"},
		{"FrozeMachineSet", normal, gardener, "The set has far more machines than `spec.replicas`, and creates none until the number is lower.", why},
		{"UnfrozeMachineSet", normal, gardener, "The set creates machines again.", nothing},
		{"UnknownAnnotation", warning, both, "An annotation `millwright.dev/...` is unknown, or has no effect on this kind. Deployments and health checks have the same event.", "correct the key: [annotations](../annotations.md)"},
		{"UnreadableAnnotation", warning, both, "The value of an annotation `millwright.dev/...` is unreadable. Deployments and health checks have the same event.", "correct the value"},
	}},
	{"Capacity for an autoscaler", []string{"internal/controller/capacity"}, []event{
		{"FailedUpdate", warning, both, "The capacity annotations of a set cannot be computed, for example for an unknown instance type: an autoscaler cannot scale it up from zero.", "correct the type, or the permission that the message names"},
	}},
	{"MachineDeployments", []string{"internal/controller/machinedeployment"}, []event{
		{"ScalingMachineSet", normal, both, "The deployment scaled a set. Changes within 5 seconds of each other are one event.", nothing},
		{"Adopted", normal, both, "The deployment became the owner of a set that its selector matches and that had no owner.", nothing},
		{"Released", normal, both, "The deployment no longer owns a set, because its selector does not match the set any more.", nothing},
		{"MachineSetCreateError", warning, both, "The set of the current template cannot be created.", "fix what the message names"},
		{"ReconcileError", warning, openshift, "A field of the deployment is invalid.", "correct the field"},
		{"InvalidSpec", warning, gardener, "A field of the deployment is invalid.", "correct the field"},
		{"SelectingAll", warning, both, "The selector is empty and would match every set. The deployment does nothing.", "write a selector"},
		{"DeploymentRollback", normal, both, "The template of an earlier revision was restored.", nothing},
		{"DeploymentRollbackRevisionNotFound", warning, both, "The requested revision does not exist.", "`kubectl machine rollout history`"},
		{"DeploymentRollbackTemplateUnchanged", warning, both, "The requested revision has the same template as the deployment.", nothing},
		{"RolloutStopped", warning, both, "The rollout stopped: too many new machines failed, or a health check objects to the new template.", "correct the template, or roll back"},
		{"RolloutCanary", normal, both, "The first step of the rollout is done. The rest waits for its time, or for approval.", "look at the new machines; approve with `millwright.dev/rollout-approved`"},
		{"RolloutResumed", normal, both, "The rollout continues.", nothing},
		{"CreationHeld", warning, both, "The same as for sets.", "the same as for sets"},
		{"UnknownAnnotation", warning, both, "The same as for sets.", "the same as for sets"},
		{"UnreadableAnnotation", warning, both, "The same as for sets.", "the same as for sets"},
	}},
	{"MachineHealthChecks, and the machines that they select", []string{"internal/controller/machinehealthcheck"}, []event{
		{"DetectedUnhealthy", normal, both, "On the machine: it has become unhealthy. The event is recorded once each time, and not while the machine starts.", nothing},
		{"MachineDeleted", normal, both, "On the machine: the health check deleted it.", nothing},
		{"MachineDeletionFailed", warning, both, "On the machine: the API server refused to delete it.", "fix what the message names"},
		{"SkippedNoController", normal, both, "On the machine: it is unhealthy but has no owner, so no controller would replace it.", "replace it by hand"},
		{"ExternalAnnotationAdded", normal, both, "On the machine: the health check requests that another program remediates it or restarts its node.", "nothing; [external remediation](../external-remediation.md)"},
		{"ExternalAnnotationFailed", warning, both, "On the machine: the health check could not write this request.", "fix what the message names"},
		{"RebootRequested", normal, both, "On the machine: the health check requests a reboot before it replaces the machine.", nothing},
		{"RebootRequestFailed", warning, both, "On the machine: the health check could not write this request.", "fix what the message names"},
		{"RebootDidNotHelp", normal, both, "On the machine: the health check replaces it, because the reboot did not help or was not possible.", nothing},
		{"RemediationRestricted", warning, both, "On the check: it remediates nothing, because more machines are unhealthy than `maxUnhealthy` allows, or because the target cluster is not trusted.", why},
		{"RemediationStorm", warning, both, "On the check: many machines of one rack, zone, template or of the whole check became unhealthy together.", "look for their common cause: [outages](../outages.md)"},
		{"NoMachines", warning, both, "On the check: two minutes after its creation, its selector matches no machine.", "correct the selector"},
		{"SharedMachines", warning, both, "On the check: another check selects the same machines, and both remediate them.", "let each check select different machines"},
		{"UnknownAnnotation", warning, both, "The same as for sets.", "the same as for sets"},
		{"UnreadableAnnotation", warning, both, "The same as for sets.", "the same as for sets"},
	}},
	{"Orphans, on the machine or on the object that has the class", []string{"internal/controller/orphan"}, []event{
		{"OrphanQuarantined", warning, both, "The collector found an instance without a machine. It removes the instance after the grace period.", "find out which program created it; to keep it, remove its `millwright.dev/` tags"},
		{"OrphanNotDeleted", warning, both, "The grace period has ended, but the instance is not removed. The message says why.", "[runbook](../runbooks/OrphansHeld.md)"},
		{"OrphanDeleted", warning, both, "The instance was removed with its resources.", nothing},
		{"OrphansNotCollected", warning, both, "The control plane has no identity, so orphans are only reported.", "[runbook](../runbooks/OrphanCollectionWithoutIdentity.md)"},
	}},
	{"CertificateSigningRequests, and the machine if it is known", []string{"internal/controller/csr"}, []event{
		{"TooManyPending", warning, both, "More nodes wait for certificates than the limit allows: the number of machines or nodes, whichever is larger, plus 100. Approvals stop.", "[runbook](../runbooks/MachineApproverMaxPendingCSRsReached.md)"},
		{"MalformedRequest", warning, both, "The request cannot be decoded.", "find out who sent it"},
		{"ClientCertificatesDisabled", warning, both, "Millwright does not approve client certificates here; another approver does.", "check whether the other approver runs"},
		{"UntrustedRequestor", warning, both, "The requestor may not request node certificates.", "find out whose request it is; approve it yourself if it is legitimate"},
		{"TokenGone", warning, both, "The bootstrap token of the request no longer exists.", "the kubelet needs another token: replace the machine"},
		{"UnexpectedUsages", warning, both, "The usages of the request are not those of a node certificate.", "find out who sent it"},
		{"UnexpectedSubject", warning, both, "The subject is not that of a node.", "find out who sent it"},
		{"UnexpectedNames", warning, both, "The request has names that its kind of certificate must not have.", "find out who sent it"},
		{"NodeExists", warning, both, "A Node of that name exists already.", "delete the Node if it is stale"},
		{"NoMachine", warning, both, "No machine has that node name.", "wait if the machine starts; otherwise check the request and approve it yourself"},
		{"SeveralMachines", warning, both, "Several machines have that node name.", "correct the addresses of the machines"},
		{"TokenOfOtherMachine", warning, both, "The bootstrap token belongs to another machine.", "find out who sent it"},
		{"MachineDeleting", warning, both, "The machine is under deletion.", nothing},
		{"MachineHasNode", warning, both, "The machine has a node already.", "find out who sent it"},
		{"OutsideJoinWindow", warning, both, "The request came too long after the creation of the machine.", "replace the machine"},
		{"MachineNotLinked", warning, both, "A serving certificate was requested, and the machine has no node yet.", "wait"},
		{"MachineWithoutAddresses", warning, both, "The machine has no addresses to compare with.", "wait until the provider reports them"},
		{"AddressNotOfMachine", warning, both, "The request has an address that the machine does not have.", "compare the request with the machine: the kubelet requests an address that the infrastructure does not report"},
	}},
	{"Processes", []string{"internal/runtime/run", "internal/operator/verdict"}, []event{
		{"LeaderElection", normal, both, "On the Lease: a process became the leader, or stopped being the leader.", nothing},
		{"SecretsNotBounded", warning, both, "On the namespace kube-system: no admission policy restricts the machine controller to bootstrap tokens. It can write other secrets.", "[runbook](../runbooks/MachineSecretsUnbounded.md)"},
		{"Status upgrade", normal, openshift, "On the ClusterOperator: the operator changes to another version.", nothing},
		{"Status degraded", warning, openshift, "On the ClusterOperator: a reconcile of the operator failed.", "fix what the message names"},
	}},
}
