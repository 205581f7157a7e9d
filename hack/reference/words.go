package main

// The prefixes of the keys of [kind.key]: for the kinds whose CRDs are copied, and for kinds with fields that Kubernetes describes.
const (
	machines    = "machines.machine.openshift.io "
	sets        = "machinesets.machine.openshift.io "
	checks      = "machinehealthchecks.machine.openshift.io "
	deployments = "machinedeployments.machine.openshift.io "
	oldChecks   = "machinehealthchecks.healthchecking.openshift.io "
)

// words describe the fields of CRDs that other projects publish. Our types have no comments for those.
var words = map[string]string{
	machines: "Machine is one machine: an instance of an infrastructure, and its node.",

	machines + "spec":                                 "the desired state of the machine",
	machines + "spec.lifecycleHooks":                  "hooks of other programs that delay the deletion of the machine. A program adds a hook, does its work when the machine is under deletion, and removes the hook. During a deletion, the webhook refuses new and changed hooks",
	machines + "spec.lifecycleHooks.preDrain":         "hooks before the drain. They also apply to a machine that has no node or is not drained",
	machines + "spec.lifecycleHooks.preDrain[].name":  "name of the hook",
	machines + "spec.lifecycleHooks.preDrain[].owner": "the program that removes the hook. Events and `kubectl machine why` quote this field",

	machines + "spec.lifecycleHooks.preTerminate":         "hooks between the drain and the termination of the instance",
	machines + "spec.lifecycleHooks.preTerminate[].name":  "name of the hook",
	machines + "spec.lifecycleHooks.preTerminate[].owner": "the program that removes the hook",

	machines + "spec.metadata":           "labels and annotations for the node. The controller adds them, and never removes them",
	machines + "spec.providerID":         "the ID of the instance at the infrastructure, equal to `spec.providerID` of the node. The machine controller writes it",
	machines + "spec.providerSpec":       "the configuration of the instance",
	machines + "spec.providerSpec.value": "an object of the provider, with `apiVersion` and `kind`, such as that of [kubemark](../providers/kubemark.md#fields). Admission also knows those of AWS, Azure, GCP, vSphere, Nutanix and PowerVS. A change does not affect an existing instance",
	machines + "spec.taints":             "taints for the node. The controller adds them, and never removes them",

	machines + "status":              "the last observed state of the machine",
	machines + "status.addresses":    "the first 64 addresses of the instance that the infrastructure reports",
	machines + "status.conditions":   "the [conditions](events.md#conditions)",
	machines + "status.errorMessage": "the message about the cause if the machine is Failed",
	machines + "status.errorReason":  "the reason if the machine is Failed: InvalidConfiguration, InsufficientResources, CreateError or JoinClusterTimeoutError. A Failed machine stays Failed until it is deleted",

	machines + "status.lastOperation":             "a field of an older version of the API. Millwright keeps its value and does not write it",
	machines + "status.lastOperation.description": "part of `lastOperation`",
	machines + "status.lastOperation.lastUpdated": "part of `lastOperation`",
	machines + "status.lastOperation.state":       "part of `lastOperation`",
	machines + "status.lastOperation.type":        "part of `lastOperation`",

	machines + "status.lastUpdated":    "time of the last change of the status",
	machines + "status.nodeRef":        "the machine's node: kind, name and UID",
	machines + "status.phase":          "Provisioning, Provisioned, Running, Deleting or Failed. Absent until the first reconcile of the machine",
	machines + "status.providerStatus": "an object of the provider about the instance. An object of more than 256 KiB is not stored",

	sets: "MachineSet keeps a number of equal machines running.",

	sets + "spec":                   "the desired state of the set",
	sets + "spec.deletePolicy":      "which machine is deleted first if there are too many: Random (the default), Newest or Oldest. Machines with a delete-machine annotation precede these",
	sets + "spec.minReadySeconds":   "number of seconds that the node of a machine must be Ready before the machine is available. The default is 0",
	sets + "spec.replicas":          "desired number of machines. `kubectl scale` and autoscalers write it",
	sets + "spec.selector":          "selector of the machines that belong to the set. The webhook requires that it selects the labels of the template and is not empty, and refuses changes",
	sets + "spec.template":          "template of new machines. A change does not affect existing machines",
	sets + "spec.template.metadata": "labels and annotations of the machines",
	sets + "spec.template.spec":     "spec of the machines",

	sets + "status":                      "the last observed state of the set",
	sets + "status.availableReplicas":    "number of machines whose node has been Ready for `minReadySeconds`",
	sets + "status.conditions":           "DeletionHeld while `millwright.dev/max-deletion-share` delays the deletion of machines. Millwright does not change conditions of other programs",
	sets + "status.errorMessage":         "the error in the spec of the set, with the path of the field. It may also be the error of the last attempt to create a machine, if machine-api-operator wrote it",
	sets + "status.errorReason":          "InvalidConfiguration while the spec of the set is invalid",
	sets + "status.fullyLabeledReplicas": "number of machines that have all labels of the template",
	sets + "status.labelSelector":        "the selector as a string, for clients of the scale subresource",
	sets + "status.observedGeneration":   "the generation of the set that this status describes",
	sets + "status.readyReplicas":        "number of machines that have a Ready node",
	sets + "status.replicas":             "number of existing machines",

	checks: "MachineHealthCheck selects the machines that are remediated when their nodes are unhealthy, and limits these remediations.",

	checks + "spec":                               "the configuration of the check",
	checks + "spec.maxUnhealthy":                  "maximum number of unhealthy machines, as a number or as a percentage of the selected machines, rounded down. If more are unhealthy, the check remediates none. With 0 it never remediates",
	checks + "spec.nodeStartupTimeout":            "how long a machine may have no node. `0` means forever",
	checks + "spec.remediationTemplate":           "a template of another controller. The check creates a remediation request from it for each unhealthy machine, and does not delete the machine ([external remediation](../external-remediation.md))",
	checks + "spec.selector":                      "selector of the machines that the check watches. An empty selector selects all machines of the namespace",
	checks + "spec.unhealthyConditions":           "node conditions. A machine is unhealthy if one of them applies to its node",
	checks + "spec.unhealthyConditions[].status":  "the unhealthy status of the condition",
	checks + "spec.unhealthyConditions[].timeout": "how long the condition must have this status",
	checks + "spec.unhealthyConditions[].type":    "type of the node condition",

	checks + "status":                     "result of the last check",
	checks + "status.conditions":          "RemediationAllowed. Millwright adds Valid (False if the spec is invalid) and Calm (False if the check cannot observe nodes, many machines became unhealthy together, or remediations wait). With a remediation template also ExternalRemediationTemplateAvailable and ExternalRemediationRequestAvailable",
	checks + "status.currentHealthy":      "number of healthy machines",
	checks + "status.expectedMachines":    "number of selected machines",
	checks + "status.remediationsAllowed": "number of machines that may still become unhealthy before the check remediates none",

	deployments + "spec.template.metadata": "labels and annotations of the machines",
	deployments + "spec.template.spec":     "spec of the machines. The fields `configSource` and `versions`, and `creationTimestamp` and `valueFrom` below them, belong to an older version of the API. They are stored and have no effect",

	oldChecks + "status.currentHealthy": "number of healthy machines",
}
