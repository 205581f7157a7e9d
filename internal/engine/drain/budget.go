package drain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// blocked describes a pod whose last request failed.
func (q input) blocked() Blocker {
	b := Blocker{
		Pod: q.name(), Reason: ReasonRefused, Detail: q.attempt.Reply,
		Since: q.attempt.Since, Until: q.again(),
	}
	if !q.tooEarly() { // other reasons come first
		b.Until = q.now.Add(pollMost)
	}
	covering := q.covering()
	if len(covering) > 0 {
		b.Budget = nameOf(covering[0])
	}
	switch {
	case len(covering) > 1:
		b.Reason = ReasonBudgets
		for _, o := range covering[1:] {
			b.Also = append(b.Also, nameOf(o))
		}
	case q.attempt.Refusals == 0:
		b.Budget = types.NamespacedName{} // the budget is not the cause
	case len(covering) == 1 && neverAllows(covering[0]):
		b.Reason, b.Cause = ReasonBudgetNever, says(covering[0])
	default:
		b.Reason = ReasonBudget
	}
	return b
}

// full reports whether a budget that refused the pod is known to refuse it again. If attempts are counted,
// every attempt is sent.
func (q input) full() bool {
	if q.attempt.Refusals == 0 || q.policy.MaxEvictAttempts > 0 || q.policy.hurried() {
		return false
	}
	covering := q.covering()
	return len(covering) == 1 && Room(covering[0]) == 0
}

// Room returns how many evictions the API server allows by the state of a budget: zero as long as the state
// belongs to an earlier spec.
func Room(b *policyv1.PodDisruptionBudget) int {
	if b.Status.ObservedGeneration < b.Generation {
		return 0
	}
	return int(b.Status.DisruptionsAllowed)
}

// covering returns the budgets that cover the pod.
func (q input) covering() []*policyv1.PodDisruptionBudget { return Covering(*q.pod, q.budgets) }

// Covering returns the budgets whose selector matches the pod, by name. An empty selector matches every pod
// of the namespace, a missing one matches no pod.
func Covering(p corev1.Pod, budgets []policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	var out []*policyv1.PodDisruptionBudget
	for i := range budgets {
		b := &budgets[i]
		if b.Namespace != p.Namespace || b.Spec.Selector == nil {
			continue
		}
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !s.Matches(labels.Set(p.Labels)) {
			continue
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b *policyv1.PodDisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func nameOf(b *policyv1.PodDisruptionBudget) types.NamespacedName {
	return types.NamespacedName{Namespace: b.Namespace, Name: b.Name}
}

// neverAllows reports whether the budget has no room at its best: its spec says so, or it is up to date, all
// of its pods are healthy, no pod is terminating, and it still allows no disruption (minAvailable equals the
// number of replicas).
func neverAllows(b *policyv1.PodDisruptionBudget) bool {
	s := b.Status
	return says(b) != "" || s.ObservedGeneration == b.Generation && s.DisruptionsAllowed == 0 && len(s.DisruptedPods) == 0 &&
		s.ExpectedPods > 0 && s.CurrentHealthy >= s.ExpectedPods
}

// says returns the part of the budget's spec that allows no disruption in any state; empty if none exists.
func says(b *policyv1.PodDisruptionBudget) string {
	switch most, least := b.Spec.MaxUnavailable, b.Spec.MinAvailable; {
	case most != nil && (most.Type == intstr.Int && most.IntVal == 0 || most.StrVal == "0%"):
		return "maxUnavailable is " + most.String()
	case least != nil && least.StrVal == "100%":
		return "minAvailable is 100%"
	}
	return ""
}
