package main

// The kinds whose CRDs are copied, as [kind.key] has them, and those with descriptions of Kubernetes in them.
const (
	machines    = "machines.machine.openshift.io "
	sets        = "machinesets.machine.openshift.io "
	checks      = "machinehealthchecks.machine.openshift.io "
	deployments = "machinedeployments.machine.openshift.io "
	oldChecks   = "machinehealthchecks.healthchecking.openshift.io "
)

// words are what fields mean where our types do not say it: in CRDs that others publish.
var words = map[string]string{
	machines: "Machine is one machine: an instance at an infrastructure and the node that it becomes.",

	machines + "spec":                                 "what the machine should be",
	machines + "spec.lifecycleHooks":                  "what others want to do before the machine goes. Who wants so adds a hook, and takes it away when it is done. While the machine goes, no hook can be added or changed (webhook)",
	machines + "spec.lifecycleHooks.preDrain":         "hooks before the drain, also where there is no node or the drain is excluded",
	machines + "spec.lifecycleHooks.preDrain[].name":  "name of the hook",
	machines + "spec.lifecycleHooks.preDrain[].owner": "who takes the hook away; events and `kubectl machine why` quote it",

	machines + "spec.lifecycleHooks.preTerminate":         "hooks between the drain and the removal of the instance",
	machines + "spec.lifecycleHooks.preTerminate[].name":  "name of the hook",
	machines + "spec.lifecycleHooks.preTerminate[].owner": "who takes the hook away",

	machines + "spec.metadata":           "labels and annotations that the node gets. They are added, and never removed",
	machines + "spec.providerID":         "the infrastructure's identity of the instance, which its node has too. The machine controller writes it",
	machines + "spec.providerSpec":       "what the instance is made of",
	machines + "spec.providerSpec.value": "the provider's own kind of object, with `apiVersion` and `kind`: [kubemark](../providers/kubemark.md#fields), and for admission those of AWS, Azure, GCP, vSphere, Nutanix and PowerVS. Later changes count for instances to come",
	machines + "spec.taints":             "taints that the node gets. They are added, and never removed",

	machines + "status":              "what the machine was last seen to be",
	machines + "status.addresses":    "addresses of the instance, as the infrastructure has them; the first 64",
	machines + "status.conditions":   "[which](events.md#conditions)",
	machines + "status.errorMessage": "why the machine is Failed, for people",
	machines + "status.errorReason":  "why the machine is Failed, in a word: InvalidConfiguration, InsufficientResources, CreateError or JoinClusterTimeoutError. Only deletion leads out of it",

	machines + "status.lastOperation":             "what an older form of the API has. It is kept, and not written",
	machines + "status.lastOperation.description": "see above",
	machines + "status.lastOperation.lastUpdated": "see above",
	machines + "status.lastOperation.state":       "see above",
	machines + "status.lastOperation.type":        "see above",

	machines + "status.lastUpdated":    "when the status last changed",
	machines + "status.nodeRef":        "the machine's node: kind, name and UID",
	machines + "status.phase":          "Provisioning, Provisioned, Running, Deleting or Failed; absent until the machine was first looked at",
	machines + "status.providerStatus": "the provider's own kind of object about the instance. More than 256 KiB are not kept",

	sets: "MachineSet keeps a number of machines of one form.",

	sets + "spec":                   "what the set should be",
	sets + "spec.deletePolicy":      "which machine goes first when there are too many, after those that are to go by annotation. Random without it",
	sets + "spec.minReadySeconds":   "for how many seconds a machine's node must have been ready for the machine to be available; 0 without it",
	sets + "spec.replicas":          "how many machines there should be. `kubectl scale` and autoscalers write it",
	sets + "spec.selector":          "which machines belong to the set. It must select the labels of the template, must not be empty, and cannot be changed (webhook)",
	sets + "spec.template":          "the form of machines to come. A change of it changes none that is there",
	sets + "spec.template.metadata": "labels and annotations that the machines get",
	sets + "spec.template.spec":     "the spec that the machines get",

	sets + "status":                      "what the set was last seen to be",
	sets + "status.availableReplicas":    "machines whose node has been ready for `minReadySeconds`",
	sets + "status.conditions":           "DeletionHeld, while `millwright.dev/max-deletion-share` holds machines; others' are left alone",
	sets + "status.errorMessage":         "what is wrong with the spec of the set, with the field's path; also what the last attempt at a machine met with, where an original wrote it",
	sets + "status.errorReason":          "InvalidConfiguration while something is wrong with the spec of the set",
	sets + "status.fullyLabeledReplicas": "machines that have all labels of the template",
	sets + "status.labelSelector":        "the selector as text, for clients of the scale subresource",
	sets + "status.observedGeneration":   "the generation of the set that this status is about",
	sets + "status.readyReplicas":        "machines that have a ready node",
	sets + "status.replicas":             "machines that there are",

	checks: "MachineHealthCheck says which machines are to be remedied when their nodes are unhealthy, and when not.",

	checks + "spec":                               "what the check asks for",
	checks + "spec.maxUnhealthy":                  "how many machines may be unhealthy for any to be remedied, as a number, or as a percentage of those selected, rounded down. 0 remedies none",
	checks + "spec.nodeStartupTimeout":            "how long a machine may be without a node. `0` is for ever",
	checks + "spec.remediationTemplate":           "a template of others. A request is made of it for each unhealthy machine, which is not deleted then ([how](../external-remediation.md))",
	checks + "spec.selector":                      "which machines are looked at. An empty one selects all of the namespace",
	checks + "spec.unhealthyConditions":           "node conditions of which one is enough for a machine to be unhealthy",
	checks + "spec.unhealthyConditions[].status":  "the status in which it is bad",
	checks + "spec.unhealthyConditions[].timeout": "for how long it has to be so",
	checks + "spec.unhealthyConditions[].type":    "the condition of the node",

	checks + "status":                     "what came of the last look",
	checks + "status.conditions":          "RemediationAllowed, and of ours Valid (False: the spec cannot be read) and Calm (False: nothing is seen, many became unhealthy together, or something is held back); with a template ExternalRemediationTemplateAvailable and ExternalRemediationRequestAvailable",
	checks + "status.currentHealthy":      "machines that are healthy",
	checks + "status.expectedMachines":    "machines that are selected",
	checks + "status.remediationsAllowed": "how many more machines may become unhealthy before none is remedied",

	deployments + "spec.template.metadata": "labels and annotations that the machines get",
	deployments + "spec.template.spec":     "the spec that the machines get. `configSource` and `versions`, and `creationTimestamp` and `valueFrom` in it, are leftovers of an older form: they are stored, and have no effect",

	oldChecks + "status.currentHealthy": "how many of them are healthy",
}
