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
	{"Machines", []string{"internal/controller/machine", "internal/dialect", "internal/dialect/openshift", "internal/dialect/gardener", "internal/controller/nodelink"}, []event{
		{"Create", normal, openshift, "The instance exists, and the machine has recorded its provider ID.", nothing},
		{"FailedValidate", warning, openshift, "A field of the machine is invalid. No instance is created.", "correct the named field"},
		{"FailedCreate", warning, both, "An attempt to create the instance failed, or the machine failed.", "fix what the message names; the next attempt follows by itself, unless the phase is Failed"},
		{"Joined", normal, gardener, "The node has joined, and the machine runs.", nothing},
		{"Adopted", normal, both, "The provider knows an instance that another implementation created under the machine's name. The machine owns it from now on.", "nothing; after taking over a fleet it is expected"},
		{"InstanceDiffers", warning, both, "An adopted instance differs from what its class or provider spec says by now.", "replace the machine if the difference matters"},
		{"InstanceStopped", warning, both, "The infrastructure says that the instance does not run, or does not know it any more.", "start it, or find out who stopped it; a health check or the set replaces a machine that does not come back"},
		{"InstanceRuns", normal, both, "The instance runs again.", nothing},
		{"InstanceContradicted", warning, both, "The provider lists no instance, but the node is Ready, or few instances of other machines are listed either. Millwright does not believe the list.", "look at the infrastructure: see the reason in [reasons](../reasons.md)"},
		{"DuplicateInstance", warning, both, "The machine has another instance beside the recorded one. The orphan collector removes it after its grace period.", "find out which program created it"},
		{"DuplicateGone", normal, both, "That other instance does not exist any more.", nothing},
		{"OtherAccount", warning, both, "The credentials belong to another account than the one in which the instance was requested.", "restore the credentials of the first account"},
		{"FailedUpdate", warning, both, "A webhook or a missing permission refuses writes to the machine; or the upkeep of its instance (tags, load balancers) or an update in place failed.", "fix what the message names"},
		{"NodeMissing", warning, openshift, "The node of a Running machine was deleted. Phase and nodeRef stay.", "restart the kubelet, or delete the machine"},
		{"TargetClusterReplaced", warning, both, "Another cluster answers in place of the one that the machine joined. Nothing is concluded about its node.", why},
		{"NodesMissingTogether", warning, both, "Fewer than half of the recorded nodes of other machines exist. Nothing is concluded about this machine's.", why},
		{"NodeDeleted", warning, gardener, "The machine is deleted because its node was deleted. Its owner creates another.", nothing},
		{"NodeNotLinked", warning, both, "A node looks like the machine's and is not linked to it. The message says why.", "correct the provider ID, the addresses or the name of the node"},
		{"NodeNotUpdated", warning, both, "The API server refuses labels, annotations or taints of the machine on its node.", "correct them on the machine"},
		{"Unhealthy", normal, gardener, "The node is missing, or its conditions are unhealthy. The machine fails after its health timeout.", why},
		{"Recovered", normal, gardener, "The node is healthy again.", nothing},
		{"Deleting", normal, gardener, "The deletion has begun.", nothing},
		{"Draining", normal, gardener, "The node is drained for an update in place.", nothing},
		{"DrainSkipped", normal, openshift, "The node was not drained: it does not exist, or the annotation excludes it.", nothing},
		{"DrainSucceeded", normal, openshift, "The drain is complete.", nothing},
		{"DrainBlocked", normal, openshift, "A pre-drain hook holds the deletion.", "wait for the owner of the hook"},
		{"DrainRequeued", normal, openshift, "Pods cannot leave the node. The message names them.", why},
		{"DrainObstacle", warning, both, "The drain that begins has obstacles: a budget that allows no eviction, several budgets for one pod, data or volumes that exist on the node only.", "change the budget, or move the pods"},
		{"DrainAbandoned", warning, both, "The instance was terminated with pods left on its node: its termination deadline was over, or a forced deletion found no usable answer of the cluster.", "find out whether a workload lost data"},
		{"HookPending", warning, openshift, "A hook has held the deletion for longer than `--hook-report-after`, 1 hour by default.", "ask the owner of the hook, which the message names"},
		{"FailedDelete", warning, both, "The infrastructure refuses to terminate the instance.", "fix what the message names"},
		{"Delete", normal, openshift, "The machine is deleted, or only its instance where finalizers of other programs hold the object.", nothing},
		{"Deleted", normal, gardener, "The same. The message says whether an instance was terminated.", nothing},
		{"Preserved", normal, gardener, "The machine is preserved for inspection until the time in the message.", nothing},
		{"PreservationStopped", normal, gardener, "The preservation is over.", nothing},
		{"InvalidPreservation", warning, gardener, "The value of the annotation `node.machine.sapcloud.io/preserve` is invalid and has no effect.", "write `now`, `when-failed`, `auto-preserved` or `false`"},
		{"Updating", normal, gardener, "An update in place is under way.", nothing},
		{"Updated", normal, gardener, "An update in place succeeded.", nothing},
		{"RebootUnsupported", warning, both, "A reboot was requested, and the provider cannot reboot.", "nothing; the health check replaces the machine"},
		{"RebootFailed", warning, both, "The infrastructure refused to reboot the instance.", "nothing; the health check replaces the machine when the time for the reboot is over"},
		{"Rebooted", normal, both, "The instance was rebooted on request.", nothing},
	}},
	{"MachineSets", []string{"internal/controller/machineset"}, []event{
		{"SuccessfulCreate", normal, gardener, "The set created a machine. Of more than ten in a pass, one event has the number of the rest.", nothing},
		{"SuccessfulDelete", normal, gardener, "The set deleted a machine, for the reason in the message; ten in a pass as above.", nothing},
		{"FailedCreate", warning, gardener, "A machine object could not be created, or a field of the set is invalid.", "fix what the message names: a quota, a webhook, the field"},
		{"FailedDelete", warning, gardener, "A machine object could not be deleted.", "fix what the message names"},
		{"ReconcileError", warning, openshift, "A machine object could not be created or deleted, or a field of the set is invalid.", "fix what the message names"},
		{"Adopted", normal, both, "The set owns a machine that its selector matches, and that had no owner.", nothing},
		{"Released", normal, both, "The set no longer owns a machine that its selector does not match any more.", nothing},
		{"SelectorOverlaps", warning, both, "Two sets match the same labels. A machine without an owner goes to either.", "give each set labels of its own"},
		{"DeletionHeld", warning, both, "More machines would be deleted at once than `millwright.dev/max-deletion-share` allows. None is deleted.", "approve the number with `millwright.dev/approve-mass-deletion`, or correct `spec.replicas`"},
		{"InvalidDeletionShare", warning, both, "That share, or its approval, is unreadable: the share counts as 20%, the approval approves nothing.", "correct the value"},
		{"CreationHeld", warning, both, "More machines would be created at once than `millwright.dev/max-creation-share` allows. None is created.", "approve the number with `millwright.dev/approve-mass-creation`, or correct `spec.replicas`"},
		{"FrozeMachineSet", normal, gardener, "The set has far more machines than it should, and creates none until that is over.", why},
		{"UnfrozeMachineSet", normal, gardener, "The set creates machines again.", nothing},
		{"UnknownAnnotation", warning, both, "An annotation `millwright.dev/...` is unknown, or has no effect on this kind. Deployments and health checks report the same.", "correct the key: [annotations](../annotations.md)"},
		{"UnreadableAnnotation", warning, both, "The value of such an annotation is unreadable. Deployments and health checks report the same.", "correct the value"},
	}},
	{"Capacity for an autoscaler", []string{"internal/controller/capacity"}, []event{
		{"FailedUpdate", warning, both, "The capacity annotations of a set cannot be computed, for example for an unknown instance type: an autoscaler cannot scale it up from zero.", "correct the type, or the permission that the message names"},
	}},
	{"MachineDeployments", []string{"internal/controller/machinedeployment"}, []event{
		{"ScalingMachineSet", normal, both, "A set was scaled. Changes within 5 seconds of each other are one event.", nothing},
		{"Adopted", normal, both, "The deployment owns a set that its selector matches, and that had no owner.", nothing},
		{"Released", normal, both, "The deployment no longer owns a set that its selector does not match any more.", nothing},
		{"MachineSetCreateError", warning, both, "The set of the current template cannot be created.", "fix what the message names"},
		{"ReconcileError", warning, openshift, "A field of the deployment is invalid.", "correct the field"},
		{"InvalidSpec", warning, gardener, "The same.", "correct the field"},
		{"SelectingAll", warning, both, "The selector is empty and would match every set. Nothing is done.", "write a selector"},
		{"DeploymentRollback", normal, both, "The template of an earlier revision was restored.", nothing},
		{"DeploymentRollbackRevisionNotFound", warning, both, "The requested revision does not exist.", "`kubectl machine rollout history`"},
		{"DeploymentRollbackTemplateUnchanged", warning, both, "The requested revision has the current template.", nothing},
		{"RolloutStopped", warning, both, "The rollout stopped: too many new machines failed, or a health check objects to the new template.", "correct the template, or roll back"},
		{"RolloutCanary", normal, both, "The first step of the rollout is done. The rest waits for its time, or for approval.", "look at the new machines; approve with `millwright.dev/rollout-approved`"},
		{"RolloutResumed", normal, both, "The rollout continues.", nothing},
		{"CreationHeld", warning, both, "As for sets.", "as for sets"},
		{"UnknownAnnotation", warning, both, "As for sets.", "as for sets"},
		{"UnreadableAnnotation", warning, both, "As for sets.", "as for sets"},
	}},
	{"MachineHealthChecks, and the machines that they select", []string{"internal/controller/machinehealthcheck"}, []event{
		{"DetectedUnhealthy", normal, both, "On the machine: it has become unhealthy. Once each time, and not while it starts.", nothing},
		{"MachineDeleted", normal, both, "On the machine: the health check deleted it.", nothing},
		{"MachineDeletionFailed", warning, both, "On the machine: the API server refused to delete it.", "fix what the message names"},
		{"SkippedNoController", normal, both, "On the machine: it is unhealthy and has no owner, so that no controller would create another.", "replace it by hand"},
		{"ExternalAnnotationAdded", normal, both, "On the machine: another program is asked to remediate it, or to restart its node.", "nothing; [external remediation](../external-remediation.md)"},
		{"ExternalAnnotationFailed", warning, both, "On the machine: that request could not be written.", "fix what the message names"},
		{"RebootRequested", normal, both, "On the machine: a reboot is requested before it is replaced.", nothing},
		{"RebootRequestFailed", warning, both, "On the machine: that request could not be written.", "fix what the message names"},
		{"RebootDidNotHelp", normal, both, "On the machine: it is replaced, because the reboot did not help or was not possible.", nothing},
		{"RemediationRestricted", warning, both, "On the check: it remediates nothing, because more machines are unhealthy than `maxUnhealthy` allows, or because the target cluster is not trusted.", why},
		{"RemediationStorm", warning, both, "On the check: many machines of one rack, zone, template or of the whole check became unhealthy together.", "look for their common cause: [outages](../outages.md)"},
		{"NoMachines", warning, both, "On the check: its selector matches no machine, two minutes after its creation.", "correct the selector"},
		{"SharedMachines", warning, both, "On the check: another check selects the same machines, and both remediate them.", "give each check machines of its own"},
		{"UnknownAnnotation", warning, both, "As for sets.", "as for sets"},
		{"UnreadableAnnotation", warning, both, "As for sets.", "as for sets"},
	}},
	{"Orphans, on the machine or on the object that the class was read from", []string{"internal/controller/orphan"}, []event{
		{"OrphanQuarantined", warning, both, "An instance without a machine was found. It is removed after its grace period.", "find out which program created it; to keep it, remove its `millwright.dev/` tags"},
		{"OrphanNotDeleted", warning, both, "The grace period is over and the instance stays. The message says why.", "[runbook](../runbooks/OrphansHeld.md)"},
		{"OrphanDeleted", warning, both, "The instance was removed with its resources.", nothing},
		{"OrphansNotCollected", warning, both, "The control plane has no identity, so that orphans are only reported.", "[runbook](../runbooks/OrphanCollectionWithoutIdentity.md)"},
	}},
	{"CertificateSigningRequests, and the machine if it is known", []string{"internal/controller/csr"}, []event{
		{"TooManyPending", warning, both, "More nodes wait for certificates than there are machines or nodes, plus 100. Approval stops.", "[runbook](../runbooks/MachineApproverMaxPendingCSRsReached.md)"},
		{"MalformedRequest", warning, both, "The request cannot be decoded.", "find out who sent it"},
		{"ClientCertificatesDisabled", warning, both, "Client certificates are not approved here: another approver does.", "see whether it runs"},
		{"UntrustedRequestor", warning, both, "The requestor may not request node certificates.", "see whose request it is; approve it yourself if it is meant"},
		{"TokenGone", warning, both, "The bootstrap token of the request does not exist any more.", "the kubelet needs another token: replace the machine"},
		{"UnexpectedUsages", warning, both, "The request has other usages than those of a node certificate.", "find out who sent it"},
		{"UnexpectedSubject", warning, both, "The subject is not that of a node.", "find out who sent it"},
		{"UnexpectedNames", warning, both, "The request has names that its kind of certificate must not have.", "find out who sent it"},
		{"NodeExists", warning, both, "A Node of that name exists already.", "delete the Node if it is stale"},
		{"NoMachine", warning, both, "No machine is known by that node name.", "wait if the machine starts; otherwise check the request and approve it yourself"},
		{"SeveralMachines", warning, both, "Several machines are known by that node name.", "correct the addresses of the machines"},
		{"TokenOfOtherMachine", warning, both, "The bootstrap token belongs to another machine.", "find out who sent it"},
		{"MachineDeleting", warning, both, "The machine is under deletion.", nothing},
		{"MachineHasNode", warning, both, "The machine has a node already.", "find out who sent it"},
		{"OutsideJoinWindow", warning, both, "The request came too long after the creation of the machine.", "replace the machine"},
		{"MachineNotLinked", warning, both, "A serving certificate was requested, and the machine has no node yet.", "wait"},
		{"MachineWithoutAddresses", warning, both, "The machine has no addresses to compare with.", "wait until the provider reports them"},
		{"AddressNotOfMachine", warning, both, "The request has an address that the machine does not have.", "compare both: the kubelet asks for an address that the infrastructure does not report"},
	}},
	{"Processes", []string{"internal/runtime/run", "internal/operator/verdict"}, []event{
		{"LeaderElection", normal, both, "On the Lease: a process became or stopped being the leader.", nothing},
		{"SecretsNotBounded", warning, both, "On the namespace kube-system: no admission policy keeps the machine controller from writing other secrets than bootstrap tokens.", "[runbook](../runbooks/MachineSecretsUnbounded.md)"},
		{"Status upgrade", normal, openshift, "On the ClusterOperator: the operator goes to another version.", nothing},
		{"Status degraded", warning, openshift, "On the ClusterOperator: a pass of the operator failed.", "fix what the message names"},
	}},
}
