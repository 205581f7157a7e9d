package judge

// The statements that are judged, as they are named in reports.
const (
	OneInstance    = "at most one instance per machine, ever"
	HeldFirst      = "the finalizer is in place before an instance is created"
	NoOrphan       = "no instance is created for a machine that is gone"
	WantedStays    = "no wanted machine is terminated"
	DrainedFirst   = "nothing is terminated before its drain is done"
	HooksHonoured  = "hooks are always honoured"
	NoEarlyRelease = "a machine is not released while anything of it exists"
	NodeLast       = "a node is deleted only after its instance"
	NodesApart     = "nodes of machines of one API are not touched by the controllers of another"
	NodeLossReal   = "a machine is given up for its node's loss only when the node is gone"
	NotTooMany     = "a set never makes more machines than it wants"
	NotTooFew      = "a set never deletes machines that it wants"
	TokenThere     = "an instance that may still join keeps its bootstrap token"
	PassEnds       = "every pass comes to an end"
	Converges      = "without faults the world comes to what was asked for"
	Rests          = "at rest nothing is written"
	LeavesNothing  = "deleting everything leaves nothing behind"
	// ReadyCounts is about clouds that a controller asks in the wrong place.
	ReadyCounts = "no machine is given up for an answer that its ready node contradicts"
	// ReadyStays is about caches that have stopped.
	ReadyStays = "no machine is given up for its node while that is ready"
	// ClassHeld is about the finalizer of machine classes.
	ClassHeld = "no class is let go while a machine uses it"
	// SecretHeld is about the finalizer of secrets.
	SecretHeld = "no secret is let go while a class names it"
	// CertOwn: names and addresses are those of the requesting instance, by the cloud's records; its machine
	// stays, and its node has not joined yet.
	CertOwn = "a certificate is approved only for who asks for it, an instance of ours that has no node yet"
	// TokenEnds: no instance joins for a deleted machine.
	TokenEnds = "no bootstrap token outlives its machine"
	// OwnNode is about kubelets that write false statements to their nodes.
	OwnNode = "no machine takes the node of another machine for its own"
	// Bounded is about the size of such statements.
	Bounded = "what a node says makes no object large"
	// ForceInTime: a pod that its budget protects is deleted only when a user forces the deletion, or after the
	// drain timeout of its machine, counted in time in which the clusters were watched, or where the kubelet of
	// its node does not answer any more.
	ForceInTime = "no pod is forced off its node before the drain timeout of its machine"

	// NotHeld is about pods whose end no kubelet confirms.
	NotHeld = "no drain waits out the grace period of a pod whose kubelet is silent"

	// OthersHold is about finalizers.
	OthersHold = "nobody takes off what holds an object for somebody else"

	// NotBusy and SaysWhy are about objects that cannot reach the desired state.
	NotBusy = "what cannot be done is not tried all the time"
	SaysWhy = "what cannot be done says why"

	// About accepted instances that failed.

	// CauseReported: in the message in either API, and in the reason or code that the autoscaler uses where it is
	// about capacity.
	CauseReported = "a machine whose instance was given up says why"
	// NoHaste is about the API that gives such a machine a creation timeout, and about instances that the cloud
	// may still repair.
	NoHaste = "no machine fails early for an instance that was given up"
	// NoStorm bounds how many instances are requested one after the other.
	NoStorm = "what is given up is not asked for again and again"

	// About choices of an instance's type and zone.

	// NextChoice is about the time after the faults.
	NextChoice = "no machine waits for its instance while some choice has room"
	// OneAsked is about replies that got lost.
	OneAsked = "no machine is asked for of another choice while nobody knows what came of the first"
	// NotInVain: not within a minute, for any machine.
	NotInVain = "what is sold out is not asked for again at once"

	// About the collector of orphans.
	WantedKept    = "no wanted instance is collected"
	OthersKept    = "what was not made for a machine of this cluster is not collected"
	OrphansWait   = "an orphan is collected only after its time in quarantine"
	OrphansCapped = "no more orphans are collected within an hour than may be"
	OrphansFew    = "no more orphans are collected at once than may be"

	// About volumes.
	VolumesInTurn = "pods with volumes leave a node one after another, with their volumes"
	VolumesFirst  = "nothing is terminated with a volume attached that is on its way"

	// About outages of API servers.
	SeenOnly       = "nothing is given up for what happened out of sight"
	StillWhenBlind = "nobody makes, gives up or collects anything while an API server is out of reach"

	// About deployments.

	// NotAbove: when a deployment lets a set grow, the machines that its sets have or will have are at most
	// replicas plus surge, including those that the deployment is deleting.
	NotAbove = "a deployment never grows beyond replicas and surge"
	// NotBelow: when one of its sets deletes a machine that works, or a node is selected for an update, replicas
	// minus unavailable machines go on working.
	NotBelow = "a deployment never gives up machines that have to be available"
	// OldFirst is about the strategy that deletes all old machines before it creates new ones.
	OldFirst = "Recreate makes no machine while an old one is there"
	// OneSet: a template has one set.
	OneSet = "no template gets a second set"
	// OwnOnly: foreign sets, and their machines, are not changed.
	OwnOnly = "a deployment changes nothing that is not its own"
	// NoNeed: machines of the present template stay.
	NoNeed = "no machine is given up without a change of template or size"
	// UpdatedStays: a set to which an updated machine was handed over deletes no machine for it.
	UpdatedStays = "an update in place costs no machine"
	// FrozenRests: a set with far too many machines creates no more.
	FrozenRests = "a frozen set makes no machine"
	// AlarmStops is about checks whose breaker enforces.
	AlarmStops = "a rollout to what a health check sees fall ill makes no machine of it and gives up no other"
	// ShareKept is about sets and deployments with a limit for deletions.
	ShareKept = "a guarded set gives up no machine while more than its share are on their way out"
	// OneByOne is about the timeouts of machines: an outage that makes all machines of a group unhealthy replaces
	// them one after the other.
	OneByOne = "no machine is given up for its health while another of its group is on its way in or out"

	// About health checks. A check's remedy is judged when it is requested, whatever
	// the outcome of the call, by the pass's view and the real changes since.

	// BudgetKept: machines count that are unhealthy, that the check remedied, or that were deleted and not
	// replaced.
	BudgetKept = "a check never remedies anything while more machines are unhealthy or being remedied than its budget allows"
	// RateKept is about checks whose breaker enforces.
	RateKept = "an enforcing check begins no more remedies within an hour than it may"
	// SightedOnly: not while a cluster is unreachable, nor for a minute after, except for machines that became
	// unhealthy since.
	SightedOnly = "no check remedies anything while blind, or for what it may have been blind to"
	// WatchedOnly: time in an outage, or before the process started, does not count.
	WatchedOnly = "no check counts time in which nobody watched"
	// HealthyStay: only machines that were unhealthy for longer than their timeout are remedied.
	HealthyStay = "a machine that is not unhealthy beyond its timeout is never remedied"
	// OthersRepair is about checks that leave the repair of unhealthy machines, other than failed ones, to an
	// external controller, which removes the annotation from the machine.
	OthersRepair = "a check that leaves remedies to others deletes nothing"
	// BudgetPermits is about the numbers of disruptions that a MachineDisruptionBudget allows, and about its emergency stop. BudgetAsked is
	// about drains of machines that a budget has selected since before their deletion, unless a user forces the deletion.
	BudgetPermits = "a disruption budget permits no more disruptions than it allows"
	BudgetAsked   = "no drain begins without the permits of the disruption budgets"
	// RebootsApart is about machines that are rebooted before they are replaced: once in an hour, or twice for one
	// request where the cloud does not recognize it.
	RebootsApart = "no machine is rebooted twice within the time that a reboot has"
	// PausedRests is about checks that users paused.
	PausedRests = "a paused check remedies nothing"
	// ChosenOnly: a check remedies no machine that it does not select, none of another API unless an annotation
	// names that, none that users exclude, and none that no controller would replace.
	ChosenOnly = "a check remedies only what it selects and somebody replaces"
	// SickGo is the promise for the time after the faults.
	SickGo = "every machine that stays unhealthy beyond its timeout and within the budget is replaced"
)
