package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// Defaults of [Policy].
const (
	// DefaultRetryEvery keeps evictions of one pod apart.
	DefaultRetryEvery = 5 * time.Second
	// FullRetryEvery keeps them apart while a budget that refused the pod says
	// that it allows none. Whoever drains is woken when it does.
	FullRetryEvery = 30 * time.Second
	// DefaultUnreachableSkip and DefaultUnreachableGrace are for nodes whose
	// kubelet does not answer: nobody is there to confirm that a pod ended.
	DefaultUnreachableSkip  = time.Second
	DefaultUnreachableGrace = time.Second
	// DefaultForceGrace is the longest grace period of a pod that is forced off a
	// node whose kubelet answers.
	DefaultForceGrace = 30 * time.Second
)

// Policy selects how patient a drain is. The zero value evicts all pods at
// once, honours every budget, waits for ever, and for no volume.
type Policy struct {
	// Force deletes pods instead of evicting them, so budgets are not asked,
	// all at once, and waits for none longer than its grace period, nor for
	// volumes.
	Force bool
	// ForceGracePeriod is the longest grace period that Force leaves a pod; zero
	// means [DefaultForceGrace]. Pods are killed at once only on an unreachable
	// node: elsewhere one may still write when its successor begins.
	ForceGracePeriod time.Duration
	// GracePeriod replaces each pod's own grace period; nil keeps it.
	GracePeriod *time.Duration
	// RetryEvery is the least time between two requests about one pod; zero
	// means [DefaultRetryEvery]. Up to a fifth is added, a different share for
	// each pod, so that the pods of a node do not ask in step.
	RetryEvery time.Duration
	// MaxEvictAttempts is how often a budget may refuse a pod before the pod is
	// deleted, with its own grace period; zero: the budget is always honoured.
	MaxEvictAttempts int
	// DeleteFinished deletes pods that have run to their end instead of
	// evicting them. No budget protects those either way.
	DeleteFinished bool
	// SkipTerminatingAfter: a pod whose time to end passed so long ago is not
	// waited for any more; zero: it is waited for until it is gone.
	SkipTerminatingAfter time.Duration
	// NodeUnreachable says that the node's kubelet does not answer. Pods get a
	// grace period of [DefaultUnreachableGrace] and are not waited for longer
	// than [DefaultUnreachableSkip] (or SkipTerminatingAfter) past their end.
	// Budgets still hold.
	NodeUnreachable bool
	// VolumesOneByOne evicts pods with volumes that one node at a time may have
	// one after another, the most important first, and calls a drain done only
	// when no such volume is attached to the node any more. Pods without them
	// leave meanwhile. Else volumes are not looked at.
	VolumesOneByOne bool
	// DetachTimeout is how long a volume may stay attached after its pod is gone
	// before the next pod with volumes has to leave all the same; zero: for ever.
	// It does not end the wait for the volume itself.
	DetachTimeout time.Duration
	// ReattachTimeout is how long the next pod with volumes waits, once a volume
	// is detached, for it to be attached where another pod wants it; zero: not at
	// all.
	ReattachTimeout time.Duration
	// RemoveAttachments asks for the detachment of all volumes of an unreachable
	// node after Force took its pods away.
	RemoveAttachments bool
	// CordonLead is the time between the cordon and the first request: load
	// balancers and schedulers get it to look elsewhere. Force and an unreachable
	// node have none.
	CordonLead time.Duration
	// Deadline is when the instance is taken away, whatever is on it; zero: it is
	// not. Until then all pods are asked at once, without the time for a cordon,
	// an order or one volume after another, and with grace periods that end in
	// time; MaxEvictAttempts does not count. From then on nothing is waited for.
	Deadline time.Time
	// ForceLate deletes the pods that are still there [DeadlineMargin] before the
	// deadline, with the time that is left, so budgets are not asked any more.
	ForceLate bool
	// Connectivity is how well the cluster was seen: what takes too long is counted in
	// watched time. The zero value has seen everything.
	Connectivity connectivity.State
	// Remark is what of the policy could not be understood, and what was taken
	// instead; it ends the message.
	Remark string
}

// Facts are one look at a node.
type Facts struct {
	// Node is the node; only VolumesOneByOne, RemoveAttachments and CordonLead
	// look at it.
	Node *corev1.Node
	// Pods are those of the node.
	Pods []corev1.Pod
	// Budgets serve to name what blocks, and to ask less often what they refuse.
	Budgets []policyv1.PodDisruptionBudget
	// Volumes are those behind the claims of Pods and behind Attachments.
	Volumes []Volume
	// Attachments are all those to the node, and those to other nodes of volumes
	// that left it.
	Attachments []storagev1.VolumeAttachment
	// Claimants are pods that are not on the node and use a claim whose volume
	// left it.
	Claimants []corev1.Pod
}

// Memory is what the looks at a node have to remember. Losing it costs a
// request more, and waits that begin anew.
type Memory struct {
	// Begun is when the drain was first looked at.
	Begun    time.Time
	Attempts Attempts
	// Ending is when pods were first seen to end. Their time runs by the clock of the
	// API server, which may be behind the one that is looked at here.
	Ending map[types.UID]time.Time
	// Passages are the volumes that were or are used on the node, by name.
	Passages map[string]Passage
	// Obstacles are what [Foresee] found before the first request.
	Obstacles []Obstacle
}

// Attempt is what was asked about one pod, and what came of it.
type Attempt struct {
	// At is when the last request was sent.
	At time.Time
	// Evicted says that it was an eviction, which a budget can refuse.
	Evicted bool
	// Accepted says that it was granted: the pod is on its way out.
	Accepted bool
	// Unclear says that nobody knows whether it was granted: the connection
	// broke, or the API server failed.
	Unclear bool
	// Gone says that the API server no longer knows the pod.
	Gone bool
	// Refusals counts refusals by a budget; other failures do not count.
	Refusals int
	// Since is when the first of the requests that failed in a row was sent.
	Since time.Time
	// Reply is what the API server said to the last one that failed.
	Reply string
}

// Attempts are the attempts by the UID of a pod or of a volume attachment.
type Attempts map[types.UID]Attempt

// Reason is a stable CamelCase word for why a pod is not gone.
type Reason string

// Why a pod stays.
const (
	ReasonMirror    Reason = "MirrorPod"
	ReasonDaemonSet Reason = "DaemonSetPod"
	ReasonFinished  Reason = "Finished"
	ReasonStuck     Reason = "TerminatingTooLong"
	ReasonGone      Reason = "Gone"
	// ReasonDeadline: the instance was taken away with the pod on it.
	ReasonDeadline Reason = "DeadlinePassed"
)

// Why a pod or a volume is waited for.
const (
	ReasonEvicted     Reason = "Evicted"
	ReasonTerminating Reason = "Terminating"
	// ReasonLead: the node was cordoned only just before.
	ReasonLead Reason = "CordonLead"
	// ReasonTurn: other pods leave before this one.
	ReasonTurn Reason = "NotItsTurn"
	// ReasonDetaching: the pod is gone, its volume is still attached.
	ReasonDetaching Reason = "VolumeDetaching"
	// ReasonReattaching: the volume is detached and wanted on another node. Only
	// other pods with volumes wait for that.
	ReasonReattaching Reason = "VolumeReattaching"
)

// Why a pod cannot leave yet.
const (
	// ReasonBudget: a disruption budget has no room now.
	ReasonBudget Reason = "DisruptionBudget"
	// ReasonBudgetNever: a disruption budget has no room although all of its
	// pods are healthy, so waiting alone does not help.
	ReasonBudgetNever Reason = "DisruptionBudgetNeverAllows"
	// ReasonBudgets: several budgets cover the pod; the eviction API refuses
	// that whatever they say.
	ReasonBudgets Reason = "SeveralDisruptionBudgets"
	// ReasonRefused: the API server refused for another reason.
	ReasonRefused Reason = "EvictionRefused"
	// ReasonStillAttached: a volume is attached past its time. The other pods go
	// on, the node must not.
	ReasonStillAttached Reason = "VolumeStillAttached"
)

// Target is a pod to evict or delete.
type Target struct {
	Pod types.NamespacedName
	UID types.UID
	// Grace is the grace period to ask for; nil: the pod's own.
	Grace *time.Duration
}

// Attached is a volume attachment to delete, which asks for the detachment.
type Attached struct {
	Name string
	UID  types.UID
}

// Ignored is a pod that may stay.
type Ignored struct {
	Pod    types.NamespacedName
	Reason Reason
}

// Blocker is a pod that must go and has not, or a volume that one left behind.
type Blocker struct {
	// Pod is the pod; of a volume the last that used it, empty when that is not
	// known.
	Pod types.NamespacedName
	// Volume is the persistent volume that is waited for; empty when it is the
	// pod itself.
	Volume string
	// Budget is the disruption budget in the way; empty when none is. Also are
	// the others, where several cover the pod.
	Budget types.NamespacedName
	Also   []types.NamespacedName
	// Cause is what in the budget's spec forbids every disruption; empty when
	// only its state shows that it does.
	Cause  string
	Reason Reason
	// Detail is what the API server said, if it refused.
	Detail string
	// Since is when the wait for this pod began.
	Since time.Time
	// Until is when to look at the pod again.
	Until time.Time
}

// Decision is what to do about a node's pods now.
type Decision struct {
	// Done: no pod is left that must go, and no volume that is waited for.
	Done bool
	// Began: this is the first look.
	Began bool
	// Evict and Delete are the pods to ask to leave now.
	Evict, Delete []Target
	// Detach are the volume attachments to delete now.
	Detach []Attached
	// Waiting are pods and volumes on their way out and those whose turn has not
	// come, Blocked those that may not leave yet.
	Waiting, Blocked []Blocker
	// Ignored are pods that may stay.
	Ignored []Ignored
	// Obstacles were foreseen, concern pods that are still to leave, and are not
	// among Blocked.
	Obstacles []Obstacle
	// Next is when to look again, from now; zero when Done.
	Next time.Duration
	// Message says in one line what is in the way, since when. It does not change
	// while nothing does, so it may be recorded; empty when Done.
	Message string
}

// Decide says what to do about the pods of one node and the volumes that they
// leave behind. Pods that the attempts record as gone are not counted.
func Decide(now time.Time, f Facts, m Memory, p Policy) Decision {
	d := Decision{Began: m.Begun.IsZero()}
	m = m.Seen(now, f, p)
	pods := questions(now, f, m, p)
	v := look{now: now, facts: f, memory: m, policy: p}
	turns := turnsOf(pods, v)
	for _, q := range pods {
		q.turns = turns
		q.decide(&d)
	}
	v.volumes(&d)
	v.detach(&d)
	d.Done = len(d.Evict)+len(d.Delete)+len(d.Detach)+len(d.Waiting)+len(d.Blocked) == 0
	d.Obstacles = relevant(m.Obstacles, d)
	d.Next = next(now, d, p)
	d.Message = message(d, p)
	return d
}

// OnlyVolumes reports whether all pods have left that must go, and volumes are
// what the drain waits for.
func (d Decision) OnlyVolumes() bool {
	if d.Done || len(d.Evict)+len(d.Delete) > 0 {
		return false
	}
	left := slices.Concat(d.Waiting, d.Blocked)
	return len(left)+len(d.Detach) > 0 && !slices.ContainsFunc(left, func(b Blocker) bool { return b.Volume == "" })
}
