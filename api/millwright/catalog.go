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
		"Lets a Machine under deletion go although its instance cannot be reached, or is missing while its node is Ready. The instance, if there is one, is left to the orphan collector.",
	},
	{
		TargetCluster, machine, Person, Text, nil, "the UID of a namespace kube-system", "the cluster that the machine joined",
		"The cluster in which the node of the Machine is, as the UID of its namespace `kube-system`. Lets a Machine go on that is frozen because the target cluster is another one than it joined.",
	},
	{
		DrainTimeout, machine, Person, PositiveDuration,
		[]string{"never"},
		`a duration above zero like "90m", or "never"`, "`never` for machine.openshift.io; `spec.drainTimeout`, else `--machine-drain-timeout`, for machine.sapcloud.io",
		"How long after the deletion of the Machine its drain is forced.",
	},
	{
		CordonLead, machine, Person, PositiveDuration, nil, `a duration above zero like "30s"`, "no time",
		"How long after the cordon of the node its first pod is evicted, so that load balancers notice.",
	},
	{
		SkipRemediation, machine, Person, Switch, nil, `any value; "false" is off`, "off",
		"Keeps health checks from remedying the machine. It counts as unhealthy all the same.",
	},
	{
		CreationTimeout, machine, Person, PositiveDuration, nil, `a duration above zero like "20m"`, "the startup timeout of the check",
		"How long the machine may be without a node, from its creation. A Machine of machine.openshift.io is Failed after it.",
	},
	{
		HealthTimeout, machine, Person, PositiveDuration, nil, `a duration above zero like "10m"`, "the timeouts of the check",
		"How long its node may show a condition that the check minds. A Machine of machine.openshift.io is Failed after it.",
	},
	{
		NodeConditions, machine, Person, List, nil, "types of node conditions", nothing,
		"Node conditions that must be False on a healthy node, besides those of the check. It needs `health-timeout`.",
	},
	{
		RebootRequest, machine, Either, JSON, nil, "an object with `at` (a time like `2026-11-21T12:00:00Z`) and, if wanted, `until`, `by` and `for`", nothing,
		"Asks for one reboot, named by its time. Health checks write it ([decision 15](decisions/0015-a-reboot-is-asked-for-by-name.md)).",
	},
	{
		ClusterDefaults,
		[]string{"Machine (OpenShift)", "template of a MachineSet (OpenShift)"},
		Either, JSON, nil, "a provider spec", "what the Cluster says",
		"Keeps what the Machine's Cluster handed down to it, from before its instance is made. `{}` on a template keeps Clusters from having a say.",
	},
	{
		DrainOrder,
		[]string{"Pod"},
		Person, Integer, nil, "an integer", "`0`",
		"When the pod leaves a node that is drained: those with a lower number are gone before those with a higher one are asked.",
	},
}

var setKeys = []Key{
	{
		MaxDeletionShare, sets, Person, Percentage, nil, `a percentage from "1%" to "100%"`, "no bound",
		"Holds what would have more than that share of the machines on their way out at once. One machine may always go.",
	},
	{
		ApproveDeletion, sets, Person, Count, nil, "a number of machines", nothing,
		"Allows that so many machines of a set with `max-deletion-share` go at once ([decision 16](decisions/0016-an-approval-is-for-one-thing.md)).",
	},
	{
		MaxCreationShare, sets, Person, Percentage, nil, `a percentage from "1%" to "100%"`, "no bound",
		"Holds a number of replicas that would add more than that share of the machines at once. One machine may always come, what was lost is made again, and a set that never had a machine is not held. A set of a deployment goes by the deployment.",
	},
	{
		ApproveCreation, sets, Person, Count, nil, "a number of machines", nothing,
		"Allows that so many machines are added at once to a set or deployment with `max-creation-share`.",
	},
	{
		ApproveOrphans,
		[]string{"MachineClass", "MachineSet (OpenShift)", "Machine (OpenShift)"},
		Person, Approval, nil, "a number of instances, or provider IDs", nothing,
		"Allows the orphan collector to remove so many instances at once, or just those named, whoever made them and although their nodes are Ready.",
	},
	{
		Fallback,
		[]string{"MachineClass", "MachineSet (OpenShift)", "Machine"},
		Person, JSON, nil, "a list of merge patches of the provider spec, best first", nothing,
		"What machines are made of while what comes before is exhausted: other zones, other instance types ([how](providers/fallback.md)). A Machine's own counts before that of its set or class.",
	},
	{
		ScaleUpDisabled,
		[]string{"MachineSet (OpenShift)"},
		Either, Switch, nil, `any value; "false" is off`, "off",
		"Keeps a set from creating machines. A rollout writes it on sets that may not grow.",
	},
}

var rolloutKeys = []Key{
	{
		RolloutMaxFailures, deployment, Person, Count, nil, "a number of machines", "no limit",
		"Stops a rollout after so many new machines in a row did not become ready.",
	},
	{
		RolloutReadyWithin, deployment, Person, Duration, nil, `a duration like "20m"`, "only a machine that was given up counts as failed",
		"How long a new machine may take until it counts as failed.",
	},
	{
		RolloutOnFailure, deployment, Person, Word,
		[]string{"stop", "rollback"},
		`"stop" or "rollback"`, "`stop`",
		"What a stopped rollout does.",
	},
	{
		RolloutCanary, deployment, Person, CountOrPercentage, nil, "a number of machines or a percentage", "no canary",
		"How many machines are updated first. The rest waits for `rollout-approved` or `rollout-canary-soak`.",
	},
	{
		RolloutCanarySoak, deployment, Person, Duration, nil, `a duration like "20m"`, "a person approves",
		"How long the canary must have been available until the rest follows by itself.",
	},
	{
		RolloutApproved, deployment, Person, Count, nil, "a revision", nothing,
		"The revision whose canary was found good.",
	},
	{
		RolloutEstimate, deployment, Person, Switch, nil, `any value; "false" is off`, "off",
		"Adds to the condition Progressing how far the rollout is and how long it may take.",
	},
	{
		RolloutOverlap, deployment, Person, Switch, nil, `any value; "false" is off`, "off",
		"Lets new machines be made while old ones are still on their way out, so that slow drains do not hold up a rollout. There are then more instances than replicas and surge.",
	},
}

var healthKeys = []Key{
	{
		RemediationBreaker, check, Person, Word,
		[]string{"report", "enforce", "off"},
		`"report", "enforce" or "off"`, "`report`",
		"What becomes of a storm: it is reported in the condition Calm, or stops remedies as well. Enforced, a storm of machines of one template also stops the rollout to it.",
	},
	{
		RemediationRate, check, Person, Bound, nil, `a number of machines or a percentage like "20%"`, "`20%`; 3 are the least of a percentage",
		"How many remedies may begin within an hour.",
	},
	{
		RemediationStormShare, check, Person, Percentage, nil, `a percentage from "1%" to "100%"`, "`55%`",
		"Which share of a zone, a rack, the machines of a template, or all of them, is a storm when it is sick. At least 3 have to be.",
	},
	{
		RemediationCooldown, check, Person, Duration, nil, `a duration like "10m"`, "`10m`",
		"How long after a storm its machines are left alone.",
	},
	{
		RemediationBackoff, check, Person, Duration, nil, `a duration like "1m"`, "`1m`",
		"How long a machine is left alone that was made in the place of one that failed. It doubles with each further one, up to an hour.",
	},
	{
		RackLabel, check, Person, Text, nil, "the key of a label of nodes", "`topology.kubernetes.io/rack`",
		"Which label of nodes holds their rack.",
	},
	{
		MachineAPI, check, Person, Text, nil, "an API group of machines that is served", "the check's own group",
		"The API group of the machines that the check selects.",
	},
	{
		Escalation, check, Person, Word,
		[]string{"reboot", "none"},
		`"reboot" or "none"`, "`none`",
		"What is tried before a machine is replaced.",
	},
	{
		RebootTimeout, check, Person, PositiveDuration, nil, `a duration above zero like "5m"`, "the check's startup timeout, else `10m`",
		"How long a machine may take to be rebooted, and then to be healthy.",
	},
	{
		AggregateToExternalRemediation,
		[]string{"ClusterRole (label)"},
		Person, Word,
		[]string{"true"},
		`"true"`, nothing,
		"Gives the health check controller the rights of the role, for the templates and requests of an [external remediation](external-remediation.md).",
	},
}

var writtenKeys = []Key{
	{
		Origin, machine, Controller, JSON, nil, "cluster, region, zone, account, the zone that was chosen where specs have several, and the Machine's UID", nothing,
		"Where the instance is asked for. It is stored before the instance is, and counts instead of labels, class and flags from then on ([decision 20](decisions/0020-where-an-instance-is-asked-for-is-stored-first.md)). By the chosen zone a set's machines are spread ([decision 31](decisions/0031-equal-choices-are-spread.md)).",
	},
	{
		UnrecordedInstances, machine, Controller, List, nil, "IDs of instances", nothing,
		"Instances of the machine besides the one that it has recorded. The orphan collector removes them after its grace period.",
	},
	{
		InstanceStopped, machine, Controller, Text, nil, "the infrastructure's word, or `missing`", nothing,
		"The infrastructure says that the instance of this living machine does not run.",
	},
	{
		DeletedBecause, machine, Controller, Text, nil, "a clause", nothing,
		"Why a controller deleted the Machine.",
	},
	{
		OnNode, machine, Controller, JSON, nil, "names of labels, annotations, taints and capacity", nothing,
		"What the Machine has put on its node, so that it is taken off again when the Machine wants it no more.",
	},
	{
		Reboot, machine, Controller, JSON, nil, "an object with `request` (its name) and `state` (Begun, Done, Failed or Unsupported)", nothing,
		"What came of the last `reboot-request`.",
	},
	{
		Remediations, check, Controller, JSON, nil, "remedies and storms", nothing,
		"What the check has begun, written before it begins, and the storms that it knows.",
	},
	{
		RolloutFailed,
		[]string{"MachineSet"},
		Controller, List, nil, "names of machines", nothing,
		"The new machines that did not become ready since the last one that did.",
	},
	{
		RolloutCanarySince,
		[]string{"MachineSet"},
		Controller, Time, nil, "a time in RFC 3339", nothing,
		"Since when the canary has been available.",
	},
	{
		MachineDeployment,
		[]string{"MachineSet (OpenShift)"},
		Controller, Text, nil, "a name", nothing,
		"The MachineDeployment that made the set, so that one of the same name can take it over.",
	},
	{
		Template,
		[]string{"MachineSet (OpenShift)"},
		Controller, Text, nil, "a fingerprint", nothing,
		"Which template the set was made from, so that defaults which somebody filled in are told from a change.",
	},
	{
		Capacity,
		[]string{"MachineSet (OpenShift)", "MachineDeployment (OpenShift)"},
		Controller, JSON, nil, "annotations of the autoscaler, and what of each is the controller's", nothing,
		"What of the annotations that the autoscaler reads to scale from zero is the controller's, so that it is told from the user's. It took the place of `capacity-labels`, which is read once and taken off.",
	},
	{
		AllowedSize, sets, Controller, Count, nil, "a number of machines", nothing,
		"How many machines the guard of `max-creation-share` allowed last: up to that many are made again when they are lost.",
	},
}

var kubernetesKeys = []Key{
	{
		Outdated,
		[]string{"Node (taint, OpenShift)", "MachineSet (OpenShift)"},
		Controller, Text, nil, "`true` on a set; the effect PreferNoSchedule on a node", nothing,
		"Nodes that a rollout is about to remove, and the set of their machines.",
	},
	{
		ScaleDownDisabledBy, node, Controller, Word,
		[]string{"rollout"},
		"`rollout`", nothing,
		"A rollout has kept the autoscaler off the node, and may take that back.",
	},
	{
		DrainedAgain, node, Controller, Text, nil, "`true`", nothing,
		"The node took pods again after its drain was recorded as finished, and is drained again.",
	},
	{
		TerminationDeadline, node, Controller, Time, nil, "a time in RFC 3339", nothing,
		"When the infrastructure takes the instance back. The [termination handler](termination-handler.md) writes it; a drain is done by then.",
	},
	{
		BootstrapMachine,
		[]string{"Secret (bootstrap token)"},
		Controller, Text, nil, "a namespace and a name", nothing,
		"The Machine that the token was made for.",
	},
	{
		BootstrapMachineUID,
		[]string{"Secret (bootstrap token)"},
		Controller, Text, nil, "a UID", nothing,
		"Its UID: the token is good for no other Machine of that name.",
	},
	{
		Evidence,
		[]string{"ConfigMap (label)"},
		Controller, Word,
		[]string{"machine"},
		"`machine`", nothing,
		"The ConfigMap has what was known of a machine that failed ([decision 13](decisions/0013-evidence-is-kept-in-configmaps.md)).",
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
		"How long the evidence is kept. A person may change it.",
	},
}
