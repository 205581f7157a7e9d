package drain

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// blocked describes a pod whose last request failed.
func (q question) blocked() Blocker {
	b := Blocker{
		Pod: q.name(), Reason: ReasonRefused, Detail: q.attempt.Reply,
		Since: q.attempt.Since, Until: q.again(),
	}
	covering := q.covering()
	if len(covering) > 0 {
		b.Budget = types.NamespacedName{Namespace: covering[0].Namespace, Name: covering[0].Name}
	}
	switch {
	case len(covering) > 1:
		b.Reason = ReasonBudgets
	case q.attempt.Refusals == 0:
		b.Budget = types.NamespacedName{} // not the budget's doing
	case len(covering) == 1 && neverAllows(covering[0]):
		b.Reason = ReasonBudgetNever
	default:
		b.Reason = ReasonBudget
	}
	return b
}

// covering are the budgets whose selector matches the pod. An empty selector
// matches every pod of the namespace, a missing one none.
func (q question) covering() []*policyv1.PodDisruptionBudget {
	var out []*policyv1.PodDisruptionBudget
	for i := range q.budgets {
		b := &q.budgets[i]
		if b.Namespace != q.pod.Namespace || b.Spec.Selector == nil {
			continue
		}
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !s.Matches(labels.Set(q.pod.Labels)) {
			continue
		}
		out = append(out, b)
	}
	return out
}

// neverAllows reports whether the budget has no room at its best: it is up to
// date, all of its pods are healthy, none is on its way out, and still none may
// go (minAvailable 100 %, or as many as there are replicas).
func neverAllows(b *policyv1.PodDisruptionBudget) bool {
	s := b.Status
	return s.ObservedGeneration == b.Generation && s.DisruptionsAllowed == 0 && len(s.DisruptedPods) == 0 &&
		s.ExpectedPods > 0 && s.CurrentHealthy >= s.ExpectedPods
}
