package millwright

// What a person asks of machines. Each means the same in both APIs unless [Keys] says otherwise.
const (
	AbandonInstance  = "millwright.dev/abandon-instance"
	DrainTimeout     = "millwright.dev/drain-timeout"
	CordonLead       = "millwright.dev/cordon-lead"
	SkipRemediation  = "millwright.dev/skip-remediation"
	CreationTimeout  = "millwright.dev/creation-timeout"
	HealthTimeout    = "millwright.dev/health-timeout"
	NodeConditions   = "millwright.dev/node-conditions"
	RebootRequest    = "millwright.dev/reboot-request"
	ClusterDefaults  = "millwright.dev/cluster-defaults"
	DrainOrder       = "millwright.dev/drain-order"
	ApproveOrphans   = "millwright.dev/approve-orphan-removal"
	MaxDeletionShare = "millwright.dev/max-deletion-share"
	ApproveDeletion  = "millwright.dev/approve-mass-deletion"
	MaxCreationShare = "millwright.dev/max-creation-share"
	ApproveCreation  = "millwright.dev/approve-mass-creation"
	ScaleUpDisabled  = "millwright.dev/scale-up-disabled"
	Fallback         = "millwright.dev/fallback"
	TargetCluster    = "millwright.dev/target-cluster"
	MovedTo          = "millwright.dev/moved-to"
)

// What a person asks of the rollout of a MachineDeployment.
const (
	RolloutMaxFailures = "millwright.dev/rollout-max-failures"
	RolloutReadyWithin = "millwright.dev/rollout-ready-within"
	RolloutOnFailure   = "millwright.dev/rollout-on-failure"
	RolloutCanary      = "millwright.dev/rollout-canary"
	RolloutCanarySoak  = "millwright.dev/rollout-canary-soak"
	RolloutApproved    = "millwright.dev/rollout-approved"
	RolloutEstimate    = "millwright.dev/rollout-estimate"
	RolloutOverlap     = "millwright.dev/rollout-overlap"
)

// What a person asks of a MachineHealthCheck.
const (
	RemediationBreaker    = "millwright.dev/remediation-breaker"
	RemediationRate       = "millwright.dev/remediation-rate"
	RemediationStormShare = "millwright.dev/remediation-storm-share"
	RemediationCooldown   = "millwright.dev/remediation-cooldown"
	RemediationBackoff    = "millwright.dev/remediation-backoff"
	RackLabel             = "millwright.dev/rack-label"
	MachineAPI            = "millwright.dev/machine-api"
	Escalation            = "millwright.dev/escalation"
	RebootTimeout         = "millwright.dev/reboot-timeout"
	// AggregateToExternalRemediation is a label of ClusterRoles.
	AggregateToExternalRemediation = "millwright.dev/aggregate-to-external-remediation"
)

// What controllers write on machines, sets, deployments and health checks.
const (
	Origin              = "millwright.dev/origin"
	UnrecordedInstances = "millwright.dev/unrecorded-instances"
	InstanceStopped     = "millwright.dev/instance-stopped"
	DeletedBecause      = "millwright.dev/deleted-because"
	OnNode              = "millwright.dev/on-node"
	Reboot              = "millwright.dev/reboot"
	Remediations        = "millwright.dev/remediations"
	RolloutFailed       = "millwright.dev/rollout-failed"
	RolloutCanarySince  = "millwright.dev/rollout-canary-since"
	MachineDeployment   = "millwright.dev/machinedeployment"
	Template            = "millwright.dev/template"
	Capacity            = "millwright.dev/capacity"
	AllowedSize         = "millwright.dev/allowed-size"
)

// What controllers write on objects of Kubernetes.
const (
	// Outdated is a taint of nodes, and an annotation of the set of their machines.
	Outdated            = "millwright.dev/outdated"
	ScaleDownDisabledBy = "millwright.dev/scale-down-disabled-by"
	DrainedAgain        = "millwright.dev/drained-again"
	TerminationDeadline = "millwright.dev/termination-deadline"
	BootstrapMachine    = "millwright.dev/machine"
	BootstrapMachineUID = "millwright.dev/machine-uid"
	Evidence            = "millwright.dev/evidence"
	EvidenceOf          = "millwright.dev/evidence-of"
	EvidenceExpires     = "millwright.dev/evidence-expires"
)
