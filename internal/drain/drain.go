package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Defaults of [Policy].
const (
	// DefaultRetryEvery keeps evictions of one pod apart.
	DefaultRetryEvery = 5 * time.Second
	// DefaultUnreachableSkip and DefaultUnreachableGrace are for nodes whose
	// kubelet does not answer: nobody is there to confirm that a pod ended.
	DefaultUnreachableSkip  = time.Second
	DefaultUnreachableGrace = time.Second
)

// Policy selects how patient a drain is. The zero value evicts, honours every
// budget and waits for ever.
type Policy struct {
	// Force deletes pods instead of evicting them, so budgets are not asked,
	// and waits for none longer than its grace period.
	Force bool
	// ForceGracePeriod is the longest grace period that Force leaves a pod;
	// zero kills at once.
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
}

// Attempt is what was asked about one pod, and what came of it.
type Attempt struct {
	// At is when the last request was sent.
	At time.Time
	// Accepted says that it was granted: the pod is on its way out.
	Accepted bool
	// Gone says that the API server no longer knows the pod.
	Gone bool
	// Refusals counts refusals by a budget; other failures do not count.
	Refusals int
	// Since is when the first of the requests that failed in a row was sent.
	Since time.Time
	// Reply is what the API server said to the last one that failed.
	Reply string
}

// Attempts are the attempts by pod UID.
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
)

// Why a pod is waited for.
const (
	ReasonEvicted     Reason = "Evicted"
	ReasonTerminating Reason = "Terminating"
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
)

// Target is a pod to evict or delete.
type Target struct {
	Pod types.NamespacedName
	UID types.UID
	// Grace is the grace period to ask for; nil: the pod's own.
	Grace *time.Duration
}

// Ignored is a pod that may stay.
type Ignored struct {
	Pod    types.NamespacedName
	Reason Reason
}

// Blocker is a pod that must go and has not.
type Blocker struct {
	Pod types.NamespacedName
	// Budget is the disruption budget in the way; empty when none is.
	Budget types.NamespacedName
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
	// Done: no pod is left that must go.
	Done bool
	// Evict and Delete are the pods to ask to leave now.
	Evict, Delete []Target
	// Waiting are pods on their way out, Blocked those that may not leave yet.
	Waiting, Blocked []Blocker
	// Ignored are pods that may stay.
	Ignored []Ignored
	// Next is when to look again, from now; zero when Done.
	Next time.Duration
	// Message says in one line what is in the way. It does not change while
	// nothing does, so it may be recorded; empty when Done.
	Message string
}

// Decide says what to do about the pods of one node. Pods that the attempts
// record as gone are not counted.
func Decide(now time.Time, pods []corev1.Pod, budgets []policyv1.PodDisruptionBudget, attempts Attempts, policy Policy) Decision {
	var d Decision
	for _, i := range sorted(pods) {
		p := &pods[i]
		q := question{now: now, pod: p, attempt: attempts[p.UID], budgets: budgets, policy: policy}
		q.decide(&d)
	}
	d.Done = len(d.Evict)+len(d.Delete)+len(d.Waiting)+len(d.Blocked) == 0
	d.Next = next(now, d)
	d.Message = message(d)
	return d
}
