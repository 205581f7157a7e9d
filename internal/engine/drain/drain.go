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
	// DefaultRetryEvery is the time between two evictions of one pod.
	DefaultRetryEvery = 5 * time.Second
	// FullRetryEvery is that time while a budget that refused the pod says that it allows no disruption. An
	// event wakes the controller when the budget allows one.
	FullRetryEvery = 30 * time.Second
	// DefaultUnreachableSkip and DefaultUnreachableGrace are for nodes whose kubelet does not answer, so that
	// it cannot confirm that a pod ended.
	DefaultUnreachableSkip  = time.Second
	DefaultUnreachableGrace = time.Second
	// DefaultForceGrace is the longest grace period of a pod that is forcibly deleted from a node whose
	// kubelet answers.
	DefaultForceGrace = 30 * time.Second
)

// Policy selects how patient a drain is. The zero value evicts all pods at once, honours every budget, waits
// for pods without a limit, and does not wait for volumes.
type Policy struct {
	// Force deletes all pods at once instead of evicting them, so budgets do not apply. The drain waits for
	// no pod longer than its grace period, and for no volume.
	Force bool
	// ForceGracePeriod is the longest grace period of a pod under Force; zero means [DefaultForceGrace]. Only
	// on an unreachable node are pods killed at once: on other nodes a pod might still write while its
	// successor starts.
	ForceGracePeriod time.Duration
	// GracePeriod replaces each pod's own grace period; nil keeps it.
	GracePeriod *time.Duration
	// RetryEvery is the minimum time between two requests about one pod; zero means [DefaultRetryEvery]. Up
	// to a fifth is added, a different share for each pod, so that the requests for the pods of a node are
	// spread.
	RetryEvery time.Duration
	// MaxEvictAttempts is how often a budget may refuse a pod before the pod is
	// deleted, with its own grace period; zero: the budget is always honoured.
	MaxEvictAttempts int
	// DeleteFinished deletes finished pods instead of evicting them. Budgets do not protect them in either
	// case.
	DeleteFinished bool
	// SkipTerminatingAfter: the drain stops waiting for a pod whose grace period ended so long ago; zero: it
	// waits until the pod is deleted.
	SkipTerminatingAfter time.Duration
	// NodeUnreachable says that the node's kubelet does not answer. Pods have a grace period of
	// [DefaultUnreachableGrace], and the drain waits for them no longer than [DefaultUnreachableSkip] (or
	// SkipTerminatingAfter) after it ends. Budgets still hold.
	NodeUnreachable bool
	// VolumesOneByOne evicts pods with volumes that only one node at a time can attach one after another, the
	// most important first. The drain is done only when no such volume is attached to the node any more. Pods
	// without such volumes leave meanwhile. Without VolumesOneByOne the drain ignores volumes.
	VolumesOneByOne bool
	// DetachTimeout is how long a volume may stay attached after its pod is deleted before the next pod with
	// volumes has to leave anyway; zero: for ever. It does not end the wait for the volume itself.
	DetachTimeout time.Duration
	// ReattachTimeout is how long the next pod with volumes waits after a volume is detached, until the
	// volume is attached to the node of another pod that uses it; zero: it does not wait.
	ReattachTimeout time.Duration
	// RemoveAttachments deletes the attachments of all volumes of an unreachable node after Force deleted its
	// pods.
	RemoveAttachments bool
	// CordonLead is the time between the cordon and the first request, in which load balancers and schedulers
	// choose other nodes. It does not apply with Force or to an unreachable node.
	CordonLead time.Duration
	// Deadline is when the cloud terminates the instance; zero: no deadline. Before it, all pods are
	// evicted at once, without CordonLead, order or VolumesOneByOne, and with grace periods that end in time;
	// MaxEvictAttempts does not count. After it the drain waits for nothing.
	Deadline time.Time
	// ForceLate deletes the remaining pods [DeadlineMargin] before the deadline, with the remaining time as
	// grace period, so that budgets do not apply any more.
	ForceLate bool
	// Connectivity is the connection to the cluster: timeouts count only watched time. The zero value counts
	// all time as watched.
	Connectivity connectivity.State
	// Remark names the settings that were invalid, and the values used instead; it ends the message.
	Remark string
}

// Facts are one observation of a node.
type Facts struct {
	// Node is the node; only VolumesOneByOne, RemoveAttachments and CordonLead use it.
	Node *corev1.Node
	// Pods are those of the node.
	Pods []corev1.Pod
	// Budgets serve to name the blocking budget, and to retry less often what it refuses.
	Budgets []policyv1.PodDisruptionBudget
	// Volumes are the volumes of the claims of Pods and of Attachments.
	Volumes []Volume
	// Attachments are all attachments to the node, and those to other nodes of volumes that left it.
	Attachments []storagev1.VolumeAttachment
	// Claimants are pods on other nodes that use a claim whose volume left the node.
	Claimants []corev1.Pod
}

// Memory has what observations of a node have to remember. Losing it costs one more request, and waits start
// again.
type Memory struct {
	// Begun is the time of the first observation of the drain.
	Begun    time.Time
	Attempts Attempts
	// Ending is when pods were first seen terminating. Their grace period runs by the clock of the API
	// server, which may be behind the clock here.
	Ending map[types.UID]time.Time
	// Passages are the volumes that were or are used on the node, by name.
	Passages map[string]Passage
	// Obstacles are those that [Foresee] found before the first request.
	Obstacles []Obstacle
}

// Attempt is the last request about one pod, and its result.
type Attempt struct {
	// At is when the last request was sent.
	At time.Time
	// Evicted says that it was an eviction, which a budget can refuse.
	Evicted bool
	// Accepted says that the API server accepted it: the pod terminates.
	Accepted bool
	// Unclear says that the result is unknown: the connection broke, or the API server failed.
	Unclear bool
	// Gone says that the pod does not exist any more.
	Gone bool
	// Refusals counts refusals by a budget; other failures do not count.
	Refusals int
	// Since is when the first of the requests that failed in a row was sent.
	Since time.Time
	// Reply is the API server's message about the last failed request.
	Reply string
}

// Attempts are the attempts by the UID of a pod or of a volume attachment.
type Attempts map[types.UID]Attempt

// Reason is a stable CamelCase word for why a pod still exists.
type Reason string

// Why a pod stays.
const (
	ReasonMirror    Reason = "MirrorPod"
	ReasonDaemonSet Reason = "DaemonSetPod"
	ReasonFinished  Reason = "Finished"
	ReasonStuck     Reason = "TerminatingTooLong"
	ReasonGone      Reason = "Gone"
	// ReasonDeadline: the instance was terminated with the pod on it.
	ReasonDeadline Reason = "DeadlinePassed"
)

// Why the drain waits for a pod or a volume.
const (
	ReasonEvicted     Reason = "Evicted"
	ReasonTerminating Reason = "Terminating"
	// ReasonLead: the node was cordoned only just before.
	ReasonLead Reason = "CordonLead"
	// ReasonTurn: other pods leave before this one.
	ReasonTurn Reason = "NotItsTurn"
	// ReasonDetaching: the pod is deleted, its volume is still attached.
	ReasonDetaching Reason = "VolumeDetaching"
	// ReasonReattaching: the volume is detached and used by a pod on another node. Only other pods with
	// volumes wait for that.
	ReasonReattaching Reason = "VolumeReattaching"
)

// Why a pod cannot leave yet.
const (
	// ReasonBudget: a disruption budget has no room now.
	ReasonBudget Reason = "DisruptionBudget"
	// ReasonBudgetNever: a disruption budget has no room although all of its
	// pods are healthy, so waiting alone does not help.
	ReasonBudgetNever Reason = "DisruptionBudgetNeverAllows"
	// ReasonBudgets: several budgets cover the pod; the eviction API always refuses such a pod.
	ReasonBudgets Reason = "SeveralDisruptionBudgets"
	// ReasonRefused: the API server refused for another reason.
	ReasonRefused Reason = "EvictionRefused"
	// ReasonStillAttached: a volume stayed attached too long. The other pods continue to leave, but the node
	// must stay.
	ReasonStillAttached Reason = "VolumeStillAttached"
)

// Target is a pod to evict or delete.
type Target struct {
	Pod types.NamespacedName
	UID types.UID
	// Grace is the grace period of the request; nil: the pod's own.
	Grace *time.Duration
}

// Attached is a volume attachment to delete, which requests the detachment.
type Attached struct {
	Name string
	UID  types.UID
}

// Ignored is a pod that may stay.
type Ignored struct {
	Pod    types.NamespacedName
	Reason Reason
}

// Blocker is a pod that still has to leave, or a volume that such a pod left behind.
type Blocker struct {
	// Pod is the pod; for a volume the last pod that used it, empty if unknown.
	Pod types.NamespacedName
	// Volume is the persistent volume that the drain waits for; empty if the drain waits for the pod itself.
	Volume string
	// Budget is the disruption budget in the way; empty if none exists. Also has the other budgets if
	// several cover the pod.
	Budget types.NamespacedName
	Also   []types.NamespacedName
	// Cause is the part of the budget's spec that forbids every disruption; empty if only its state forbids
	// them.
	Cause  string
	Reason Reason
	// Detail is the API server's message, if it refused.
	Detail string
	// Since is when the wait for this pod began.
	Since time.Time
	// Until is when to look at the pod again.
	Until time.Time
}

// Decision is what to do about a node's pods now.
type Decision struct {
	// Done: no pod has to leave, and the drain waits for no volume.
	Done bool
	// Began: this is the first decision of the drain.
	Began bool
	// Evict and Delete are the pods to evict and to delete now.
	Evict, Delete []Target
	// Detach are the volume attachments to delete now.
	Detach []Attached
	// Waiting are terminating pods, volumes being detached, and pods whose turn comes later; Blocked are pods
	// and volumes that cannot leave yet.
	Waiting, Blocked []Blocker
	// Ignored are pods that may stay.
	Ignored []Ignored
	// Obstacles were foreseen, concern pods that still have to leave, and are not among Blocked.
	Obstacles []Obstacle
	// Next is the time until the next decision; zero when Done.
	Next time.Duration
	// Message says in one line what blocks the drain, and since when. It changes only when a fact changes, so
	// it can be stored; empty when Done.
	Message string
}

// Decide decides about the pods of one node and the volumes that they leave behind. It skips pods that the
// attempts record as deleted.
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

// OnlyVolumes reports whether all pods that have to leave have left, and the drain waits for volumes only.
func (d Decision) OnlyVolumes() bool {
	if d.Done || len(d.Evict)+len(d.Delete) > 0 {
		return false
	}
	left := slices.Concat(d.Waiting, d.Blocked)
	return len(left)+len(d.Detach) > 0 && !slices.ContainsFunc(left, func(b Blocker) bool { return b.Volume == "" })
}
