package drain

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// These limits bound the time until a terminating pod is checked again. A pod that has been terminating for 4
// s is checked after 1 s, one for a minute after 5 s.
const (
	pollLeast = 250 * time.Millisecond
	pollMost  = 5 * time.Second
)

// defaultGrace is the API server's default for a pod without a grace period.
const defaultGrace = 30 * time.Second

// input has one pod and the facts about it.
type input struct {
	now     time.Time
	pod     *corev1.Pod
	attempt Attempt
	ending  time.Time
	budgets []policyv1.PodDisruptionBudget
	policy  Policy
	turns   turns
	// serial: pods with this property leave one after another.
	serial bool
}

// questions returns the pods in order of their names, so that the decision does not depend on the order of
// the list.
func questions(now time.Time, f Facts, m Memory, p Policy) []input {
	shared := sharedClaims(f.Volumes)
	out := make([]input, len(f.Pods))
	for i := range f.Pods {
		pod := &f.Pods[i]
		out[i] = input{
			now: now, pod: pod, attempt: m.Attempts[pod.UID], ending: m.Ending[pod.UID], budgets: f.Budgets, policy: p,
			serial: p.VolumesOneByOne && slices.ContainsFunc(Claims(pod), func(c types.NamespacedName) bool { return !shared[c] }),
		}
	}
	slices.SortFunc(out, func(a, b input) int { return compareNames(a.name(), b.name()) })
	return out
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// decide adds the pod to the first list that applies. A pod whose last request failed stays in Blocked while
// it waits for the next attempt, because users need to know the failure.
func (q input) decide(d *Decision) {
	if r := q.stays(); r != "" {
		d.Ignored = append(d.Ignored, Ignored{Pod: q.name(), Reason: r})
		return
	}
	switch {
	case q.pod.DeletionTimestamp != nil && q.shortens():
		d.Delete = append(d.Delete, q.target())
	case q.pod.DeletionTimestamp != nil:
		d.Waiting = append(d.Waiting, q.terminating())
	case q.tooEarly() && q.attempt.Accepted:
		d.Waiting = append(d.Waiting, q.accepted())
	case q.tooEarly(), q.waitsFor() != "" && q.failed():
		d.Blocked = append(d.Blocked, q.blocked())
	case q.waitsFor() != "":
		d.Waiting = append(d.Waiting, q.queued())
	case q.deletes():
		d.Delete = append(d.Delete, q.target())
	default:
		d.Evict = append(d.Evict, q.target())
	}
}

// stays returns why the pod may stay; empty if it has to leave.
func (q input) stays() Reason {
	owner := metav1.GetControllerOf(q.pod)
	switch {
	case q.attempt.Gone:
		return ReasonGone
	case q.pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return ReasonMirror
	case owner != nil && owner.Kind == "DaemonSet":
		return ReasonDaemonSet
	case q.policy.Past(q.now) && q.finished():
		return ReasonFinished
	case q.policy.Past(q.now):
		return ReasonDeadline
	case q.pod.DeletionTimestamp == nil:
		return ""
	case q.finished():
		return ReasonFinished // it runs nothing; only finalizers keep the object
	case q.overstays():
		return ReasonStuck
	}
	return ""
}

// overstays reports whether the drain no longer waits for a terminating pod.
func (q input) overstays() bool {
	end := q.pod.DeletionTimestamp.Time
	skip := q.policy.SkipTerminatingAfter
	switch {
	case q.now.Before(end):
		return false
	case q.policy.Force:
		return !q.shortens() && !q.now.Before(q.watchedSince().Add(q.given()))
	case q.policy.NodeUnreachable && (skip == 0 || skip > DefaultUnreachableSkip):
		skip = DefaultUnreachableSkip
	}
	return skip > 0 && q.policy.Connectivity.Remaining(end, skip, q.now) < 0
}

// given returns the grace period of a terminating pod.
func (q input) given() time.Duration {
	return time.Duration(ptr.Deref(q.pod.DeletionGracePeriodSeconds, 0)) * time.Second
}

// watchedSince returns when a terminating pod was first seen terminating, or was evicted again after that.
// From then on it has its grace period, by any clock: a process that takes over waits again, but no longer
// than the grace period under Force.
func (q input) watchedSince() time.Time {
	if q.attempt.Accepted && q.attempt.At.After(q.ending) {
		return q.attempt.At
	}
	return q.ending
}

// seenToEnd returns the terminating pods, and since when they are known to terminate.
func (m Memory) seenToEnd(now time.Time, pods []corev1.Pod) map[types.UID]time.Time {
	out := map[types.UID]time.Time{}
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			continue
		}
		out[pods[i].UID] = now
		if since, known := m.Ending[pods[i].UID]; known {
			out[pods[i].UID] = since
		}
	}
	return out
}

// shortens reports whether a terminating pod has to end sooner: Force allows it less time than its grace
// period, its kubelet stopped answering after the eviction, so that nothing would end the pod, or it would
// end too late. No budget can refuse that: the pod already terminates.
func (q input) shortens() bool {
	p := q.policy
	if q.pod.DeletionGracePeriodSeconds == nil || q.tooEarly() {
		return false
	}
	switch {
	case p.Force:
		return q.given() > *q.grace()
	case p.NodeUnreachable:
		return q.given() > *q.grace() && q.pod.DeletionTimestamp.After(q.now.Add(*q.grace()))
	case p.hurried() && q.pod.DeletionTimestamp.After(p.Deadline.Add(-deadlineSlack)):
		return q.given() > p.left(q.now)
	}
	return false
}

// failed reports whether the last request was sent and refused.
func (q input) failed() bool { return !q.attempt.At.IsZero() && !q.attempt.Accepted }

// deletes reports whether the pod is deleted instead of evicted. With a deadline, requests are more frequent
// than MaxEvictAttempts allows for, so that limit does not count.
func (q input) deletes() bool {
	p := q.policy
	return p.forces(q.now) || p.DeleteFinished && q.finished() ||
		p.MaxEvictAttempts > 0 && !p.hurried() && q.attempt.Refusals >= p.MaxEvictAttempts
}

func (q input) finished() bool {
	return q.pod.Status.Phase == corev1.PodSucceeded || q.pod.Status.Phase == corev1.PodFailed
}

// grace returns the grace period of the request; nil: the pod's own.
func (q input) grace() *time.Duration {
	switch p := q.policy; {
	case p.Force && p.NodeUnreachable:
		return ptr.To(time.Duration(0))
	case p.Force:
		return ptr.To(p.cut(q.now, min(q.ownGrace(), cmp.Or(p.ForceGracePeriod, DefaultForceGrace))))
	case p.NodeUnreachable:
		return ptr.To(DefaultUnreachableGrace)
	case p.hurried() && (q.pod.DeletionTimestamp != nil || q.ownGrace() > p.left(q.now)):
		return ptr.To(p.left(q.now))
	default:
		return p.GracePeriod
	}
}

func (q input) ownGrace() time.Duration {
	if q.policy.GracePeriod != nil {
		return *q.policy.GracePeriod
	}
	if s := q.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return defaultGrace
}

// tooEarly reports whether the last request about the pod is too recent to send another one. If a user sets
// force during a drain, the pause after the last eviction is skipped (C24 of the Gardener notes).
func (q input) tooEarly() bool {
	if q.policy.forces(q.now) && q.attempt.Evicted {
		return false
	}
	return q.now.Before(q.again())
}

// again returns when the next request about the pod may be sent. With the default of 5 s it is 5 to 6 s after
// the last request, and 30 to 36 s while its budget is full.
func (q input) again() time.Time {
	if q.attempt.At.IsZero() {
		return time.Time{}
	}
	every := q.policy.RetryEvery
	if every <= 0 || q.policy.hurried() && every > DefaultRetryEvery {
		every = DefaultRetryEvery
	}
	if q.full() {
		every = max(every, FullRetryEvery)
	}
	return q.attempt.At.Add(every + jitter(q.pod.UID, q.attempt.Refusals, every/5))
}

// jitter returns a share of span, always the same for the same pod and attempt.
func jitter(uid types.UID, attempt int, span time.Duration) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(string(uid) + "/" + strconv.Itoa(attempt)))
	return span / 1000 * time.Duration(h.Sum32()%1000)
}

func (q input) name() types.NamespacedName {
	return types.NamespacedName{Namespace: q.pod.Namespace, Name: q.pod.Name}
}

func (q input) target() Target {
	return Target{Pod: q.name(), UID: q.pod.UID, Grace: q.grace()}
}

func (q input) terminating() Blocker {
	since := q.pod.DeletionTimestamp.Time
	if g := q.pod.DeletionGracePeriodSeconds; g != nil {
		since = since.Add(-time.Duration(*g) * time.Second)
	}
	return Blocker{Pod: q.name(), Reason: ReasonTerminating, Since: since, Until: q.poll(since)}
}

func (q input) accepted() Blocker {
	until := q.poll(q.attempt.At)
	if a := q.again(); a.Before(until) {
		until = a
	}
	return Blocker{Pod: q.name(), Reason: ReasonEvicted, Since: q.attempt.At, Until: until}
}

// poll returns when to check again something that began to end at since.
func (q input) poll(since time.Time) time.Time {
	return q.now.Add(min(max(q.now.Sub(since)/4, pollLeast), pollMost))
}
