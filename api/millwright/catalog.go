package millwright

// Author is who writes a key.
type Author string

// The authors.
const (
	Person     Author = "person"
	Controller Author = "controller"
	// Either: a controller writes it, and a person may, too.
	Either Author = "either"
)

// Form is how a value is read.
type Form string

// The forms. All but Switch, Word, Approval and Time are as Go and Kubernetes read them elsewhere.
const (
	// Switch is on with any value but "false".
	Switch Form = "switch"
	// Duration is Go's, from zero on; PositiveDuration above zero.
	Duration         Form = "duration"
	PositiveDuration Form = "duration above zero"
	// Count is a number from zero on, Percentage a share from "1%" to "100%", CountOrPercentage either.
	Count             Form = "count"
	Percentage        Form = "percentage"
	CountOrPercentage Form = "count or percentage"
	// Integer may be negative.
	Integer Form = "integer"
	// Word is one of Key.Words.
	Word Form = "word"
	// Time is RFC 3339.
	Time Form = "time"
	// List is separated by commas. Approval is such a list of numbers and of names of instances.
	List     Form = "list"
	Approval Form = "approval"
	// Bound is what a field of the API may be as well, and is read as that is.
	Bound Form = "bound"
	// JSON is for machines to read; Text is all else.
	JSON Form = "JSON"
	Text Form = "text"
)

// Key is one annotation, label or taint.
type Key struct {
	Name string
	// On are the objects that it may stand on; what is no annotation says so. An API in brackets: only there.
	On []string
	By Author
	// Form is how the value is read, Words are those that are understood beside it, or instead.
	Form  Form
	Words []string
	// Want completes "must be", for people.
	Want string
	// Default is what holds without it.
	Default string
	Meaning string
}

// Keys are all, by what they are for.
func Keys() []Key {
	var all []Key
	for _, some := range [][]Key{machineKeys, setKeys, rolloutKeys, healthKeys, writtenKeys, kubernetesKeys} {
		all = append(all, some...)
	}
	return all
}

const nothing = "nothing"

var (
	machine    = []string{"Machine"}
	sets       = []string{"MachineSet", "MachineDeployment"}
	deployment = []string{"MachineDeployment"}
	check      = []string{"MachineHealthCheck"}
	node       = []string{"Node"}
)

var machineKeys = []Key{
	{
		AbandonInstance, machine, Person, Switch, nil, `any value; "false" is off`, "off",
		"Completes the deletion of a Machine whose instance is unreachable, or whose instance is not listed although its node is Ready. If the instance exists, the orphan collector decides about the instance.",
	},
	{
		MovedTo, machine, Either, Text, nil, "a Machine of the other API: `api/namespace/name`", nothing,
		"Another Machine has the instance. The controller leaves this Machine, its instance and its node alone, and its deletion deletes only the object. `kubectl machine migrate` writes it ([moving between the APIs](migrate.md)).",
	},
	{
		TargetCluster, machine, Person, Text, nil, "the UID of a namespace kube-system", "the cluster that the machine joined",
		"Confirms the cluster in which the Machine's node is, by the UID of the cluster's namespace `kube-system`. If a Machine joined a cluster other than the configured target cluster, the controller no longer changes the Machine. Set this annotation to the UID of the target cluster to continue.",
	},
	{
		DrainTimeout, machine, Person, PositiveDuration,
		[]string{"never"},
		`a duration above zero like "90m", or "never"`, "`never` for machine.openshift.io; `spec.drainTimeout`, else `--machine-drain-timeout`, for machine.sapcloud.io",
		"The controller forces the drain when this time has passed after the deletion of the Machine.",
	},
	{
		CordonLead, machine, Person, PositiveDuration, nil, `a duration above zero like "30s"`, "no time",
		"The controller waits for this time between the cordon of the node and the first eviction, so that load balancers notice the cordon.",
	},
	{
		SkipRemediation, machine, Person, Switch, nil, `any value; "false" is off`, "off",
		"Health checks do not remediate the machine. The machine still counts as unhealthy.",
	},
	{
		CreationTimeout, machine, Person, PositiveDuration, nil, `a duration above zero like "20m"`, "the startup timeout of the check",
		"How long after its creation the machine may be without a node. After that time, a Machine of machine.openshift.io is Failed.",
	},
	{
		HealthTimeout, machine, Person, PositiveDuration, nil, `a duration above zero like "10m"`, "the timeouts of the check",
		"How long the node may have an unhealthy condition of the check. After that time, a Machine of machine.openshift.io is Failed.",
	},
	{
		NodeConditions, machine, Person, List, nil, "types of node conditions", nothing,
		"Node conditions that must be False on a healthy node, in addition to the conditions of the check. Needs `health-timeout`.",
	},
	{
		RebootRequest, machine, Either, JSON, nil, "an object with `at` (a time like `2026-11-21T12:00:00Z`) and, if wanted, `until`, `by` and `for`", nothing,
		"Requests one reboot. The value of `at` identifies the request. Health checks write this annotation ([decision 15](decisions/0015-a-reboot-is-asked-for-by-name.md)).",
	},
	{
		ClusterDefaults,
		[]string{"Machine (OpenShift)", "template of a MachineSet (OpenShift)"},
		Either, JSON, nil, "a provider spec", "the values of the Cluster",
		"The values that the Machine gets from its Cluster, stored before its instance is created. With `{}` on a template, Machines of the template get no values.",
	},
	{
		DrainOrder,
		[]string{"Pod"},
		Person, Integer, nil, "an integer", "`0`",
		"The order in which a drain evicts pods: it evicts a pod after all pods with a lower number have left the node.",
	},
}

var setKeys = []Key{
	{
		MaxDeletionShare, sets, Person, Percentage, nil, `a percentage from "1%" to "100%"`, "no bound",
		"Deletions wait for approval if more than this share of the machines would be in deletion at once. One machine may always be deleted.",
	},
	{
		ApproveDeletion, sets, Person, Count, nil, "a number of machines", nothing,
		"Allows a set with `max-deletion-share` to delete this number of machines at once ([decision 16](decisions/0016-an-approval-is-for-one-thing.md)).",
	},
	{
		MaxCreationShare, sets, Person, Percentage, nil, `a percentage from "1%" to "100%"`, "no bound",
		"Creations wait for approval if an increase of `replicas` would add more than this share of the current machines at once. A set may always create one machine, replace lost machines, and create its first machines. For a set of a deployment, the deployment's annotation applies.",
	},
	{
		ApproveCreation, sets, Person, Count, nil, "a number of machines", nothing,
		"Allows a set or deployment with `max-creation-share` to add this number of machines at once.",
	},
	{
		ApproveOrphans,
		[]string{"MachineClass", "MachineSet (OpenShift)", "Machine (OpenShift)"},
		Person, Approval, nil, "a number of instances, or provider IDs", nothing,
		"Allows the orphan collector to delete this number of instances at once, or the named instances. It deletes a named instance even if another program created it or its node is Ready.",
	},
	{
		Fallback,
		[]string{"MachineClass", "MachineSet (OpenShift)", "Machine"},
		Person, JSON, nil, "a list of merge patches of the provider spec, best first", nothing,
		"Alternatives for machines, such as other zones and instance types. The controller uses an alternative while the alternatives before it are exhausted ([how](providers/fallback.md)). A Machine's annotation takes precedence over that of its set or class.",
	},
	{
		ScaleUpDisabled,
		[]string{"MachineSet (OpenShift)"},
		Either, Switch, nil, `any value; "false" is off`, "off",
		"The set creates no machines. A rollout writes this annotation on sets that must not grow.",
	},
}

var rolloutKeys = []Key{
	{
		RolloutMaxFailures, deployment, Person, Count, nil, "a number of machines", "no limit",
		"Stops a rollout after this number of consecutive new machines did not become ready.",
	},
	{
		RolloutReadyWithin, deployment, Person, Duration, nil, `a duration like "20m"`, "only the phase Failed counts",
		"A new machine that is not ready after this time counts as failed.",
	},
	{
		RolloutOnFailure, deployment, Person, Word,
		[]string{"stop", "rollback"},
		`"stop" or "rollback"`, "`stop`",
		"Whether a failing rollout only stops, or also rolls back.",
	},
	{
		RolloutCanary, deployment, Person, CountOrPercentage, nil, "a number of machines or a percentage", "no canary",
		"How many machines are updated first. The others wait for `rollout-approved` or `rollout-canary-soak`.",
	},
	{
		RolloutCanarySoak, deployment, Person, Duration, nil, `a duration like "20m"`, "a user approves",
		"After the canary has been available for this time, the rollout continues by itself.",
	},
	{
		RolloutApproved, deployment, Person, Count, nil, "a revision", nothing,
		"The revision whose canary a user approves.",
	},
	{
		RolloutEstimate, deployment, Person, Switch, nil, `any value; "false" is off`, "off",
		"Adds the progress of the rollout and an estimate of its duration to the condition Progressing.",
	},
	{
		RolloutOverlap, deployment, Person, Switch, nil, `any value; "false" is off`, "off",
		"The rollout creates new machines while old machines are still in deletion, so that slow drains do not delay it. The number of instances then exceeds replicas plus surge.",
	},
}

var healthKeys = []Key{
	{
		RemediationBreaker, check, Person, Word,
		[]string{"report", "enforce", "off"},
		`"report", "enforce" or "off"`, "`report`",
		"What the check does in a storm, when many machines become unhealthy together: `report` reports the storm in the condition Calm, `enforce` also stops remediation. If the machines have one template, `enforce` also stops the rollout to this template.",
	},
	{
		RemediationRate, check, Person, Bound, nil, `a number of machines or a percentage like "20%"`, "`20%`; a percentage allows at least 3",
		"How many remediations may begin within an hour.",
	},
	{
		RemediationStormShare, check, Person, Percentage, nil, `a percentage from "1%" to "100%"`, "`55%`",
		"The check recognizes a storm if at least this share, and at least 3, of the machines of one zone, rack or template, or of the whole check, are unhealthy.",
	},
	{
		RemediationCooldown, check, Person, Duration, nil, `a duration like "10m"`, "`10m`",
		"The pause after a storm. During the pause, the check remediates no machine of the group (zone, rack, template or whole check) that had the storm.",
	},
	{
		RemediationBackoff, check, Person, Duration, nil, `a duration like "1m"`, "`1m`",
		"The pause before the check remediates a machine that replaced a failed machine. The pause doubles with each further replacement, up to an hour.",
	},
	{
		RackLabel, check, Person, Text, nil, "the key of a label of nodes", "`topology.kubernetes.io/rack`",
		"The label of nodes whose value is the node's rack.",
	},
	{
		MachineAPI, check, Person, Text, nil, "an API group of machines that is served", "the check's own group",
		"The API group of the machines that the check selects.",
	},
	{
		Escalation, check, Person, Word,
		[]string{"reboot", "none"},
		`"reboot" or "none"`, "`none`",
		"What the check tries before it replaces a machine.",
	},
	{
		RebootTimeout, check, Person, PositiveDuration, nil, `a duration above zero like "5m"`, "the check's startup timeout, else `10m`",
		"The time limit for the reboot. After the reboot, the machine has the same time to become healthy.",
	},
	{
		AggregateToExternalRemediation,
		[]string{"ClusterRole (label)"},
		Person, Word,
		[]string{"true"},
		`"true"`, nothing,
		"Gives the health check controller the permissions of the role, for the templates and requests of an [external remediation](external-remediation.md).",
	},
}

var writtenKeys = []Key{
	{
		Origin, machine, Controller, JSON, nil, "cluster, region, zone, account, the chosen zone if the spec has several, and the Machine's UID", nothing,
		"Where the instance is requested. The controller stores this annotation before the request, and then uses it instead of labels, class and flags ([decision 20](decisions/0020-where-an-instance-is-asked-for-is-stored-first.md)). The controller also spreads a set's machines by the chosen zones ([decision 31](decisions/0031-equal-choices-are-spread.md)).",
	},
	{
		UnrecordedInstances, machine, Controller, List, nil, "IDs of instances", nothing,
		"Instances of the machine besides its recorded instance. The orphan collector deletes them after its grace period.",
	},
	{
		InstanceStopped, machine, Controller, Text, nil, "the state that the infrastructure reports, or `missing`", nothing,
		"The infrastructure reports that the machine's instance does not run, although the machine is not in deletion.",
	},
	{
		DeletedBecause, machine, Controller, Text, nil, "a clause", nothing,
		"Why a controller deleted the Machine.",
	},
	{
		OnNode, machine, Controller, JSON, nil, "names of labels, annotations, taints and capacity", nothing,
		"The labels, annotations, taints and capacity that the controller copied from the Machine to its node. If a name is removed from the Machine, the controller also removes it from the node.",
	},
	{
		Reboot, machine, Controller, JSON, nil, "an object with `request` (its name) and `state` (Begun, Done, Failed or Unsupported)", nothing,
		"The result of the last `reboot-request`.",
	},
	{
		Remediations, check, Controller, JSON, nil, "remediations and storms", nothing,
		"The check's remediations, each stored before it begins, and the check's storms.",
	},
	{
		RolloutFailed,
		[]string{"MachineSet"},
		Controller, List, nil, "names of machines", nothing,
		"The names of the new machines that have failed to become ready since a new machine last became ready.",
	},
	{
		RolloutCanarySince,
		[]string{"MachineSet"},
		Controller, Time, nil, "a time in RFC 3339", nothing,
		"The time from which the canary has been available.",
	},
	{
		MachineDeployment,
		[]string{"MachineSet (OpenShift)"},
		Controller, Text, nil, "a name", nothing,
		"The MachineDeployment that created the set, so that a new deployment of that name can adopt it.",
	},
	{
		Template,
		[]string{"MachineSet (OpenShift)"},
		Controller, Text, nil, "a fingerprint", nothing,
		"A fingerprint of the template from which the set was created. With this fingerprint, the controller does not treat defaults that a client added later as a change.",
	},
	{
		Capacity,
		[]string{"MachineSet (OpenShift)", "MachineDeployment (OpenShift)"},
		Controller, JSON, nil, "the autoscaler's annotations, with the controller's part of each", nothing,
		"Records which values of the scale-from-zero annotations the controller wrote. All other values are the user's. This annotation replaces `capacity-labels`, which the controller reads once and removes.",
	},
	{
		AllowedSize, sets, Controller, Count, nil, "a number of machines", nothing,
		"The number of machines that `max-creation-share` allowed last. The set replaces lost machines up to this number.",
	},
}

var kubernetesKeys = []Key{
	{
		Outdated,
		[]string{"Node (taint, OpenShift)", "MachineSet (OpenShift)"},
		Controller, Text, nil, "`true` on a set; the effect PreferNoSchedule on a node", nothing,
		"Marks nodes that a rollout is about to remove, and the set of their machines.",
	},
	{
		ScaleDownDisabledBy, node, Controller, Word,
		[]string{"rollout"},
		"`rollout`", nothing,
		"A rollout disabled scale-down for this node. Therefore the rollout may enable scale-down again.",
	},
	{
		DrainedAgain, node, Controller, Text, nil, "`true`", nothing,
		"The node got pods again after its recorded drain, and is drained again.",
	},
	{
		TerminationDeadline, node, Controller, Time, nil, "a time in RFC 3339", nothing,
		"When the infrastructure terminates the instance. The [termination handler](termination-handler.md) writes it; a drain ends by then.",
	},
	{
		BootstrapMachine,
		[]string{"Secret (bootstrap token)"},
		Controller, Text, nil, "a namespace and a name", nothing,
		"The Machine for which the token was created.",
	},
	{
		BootstrapMachineUID,
		[]string{"Secret (bootstrap token)"},
		Controller, Text, nil, "a UID", nothing,
		"The UID of that Machine: the token is valid for no other Machine of that name.",
	},
	{
		Evidence,
		[]string{"ConfigMap (label)"},
		Controller, Word,
		[]string{"machine"},
		"`machine`", nothing,
		"The ConfigMap has the evidence of a machine that failed ([decision 13](decisions/0013-evidence-is-kept-in-configmaps.md)).",
	},
	{
		EvidenceOf,
		[]string{"ConfigMap"},
		Controller, Text, nil, "`<plural>.<group>/<name>`", nothing,
		"The machine that the evidence is about.",
	},
	{
		EvidenceExpires,
		[]string{"ConfigMap"},
		Either, Time, nil, "a time in RFC 3339", "7 days after the failure",
		"The time until which the evidence is kept. A user may change this time.",
	},
}
