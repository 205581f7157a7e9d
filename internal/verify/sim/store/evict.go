package store

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Evict deletes a pod if its disruption budget allows that, and updates the budget's status.
func (s *Store) Evict(e *policyv1.Eviction) error {
	pods := s.kinds.of(&corev1.Pod{})
	found := s.objects[pods].get(client.ObjectKeyFromObject(e))
	if found == nil {
		return apierrors.NewNotFound(pods.resource(), e.Name)
	}
	pod := found.(*corev1.Pod)
	var opts client.DeleteOptions
	if e.DeleteOptions != nil {
		opts.Preconditions, opts.GracePeriodSeconds = e.DeleteOptions.Preconditions, e.DeleteOptions.GracePeriodSeconds
	}
	if err := meets(pods, pod, opts.Preconditions); err != nil {
		return err
	}
	if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		if err := s.budgetsAllow(pod); err != nil {
			return err
		}
	}
	return s.Delete(pod, opts)
}

func (s *Store) budgetsAllow(pod *corev1.Pod) error {
	var covering []*policyv1.PodDisruptionBudget
	for _, o := range s.All(&policyv1.PodDisruptionBudget{}) {
		b := o.(*policyv1.PodDisruptionBudget)
		if b.Namespace == pod.Namespace && selects(b.Spec.Selector, pod) {
			covering = append(covering, b)
		}
	}
	switch {
	case len(covering) == 0:
		return nil
	case len(covering) > 1:
		return apierrors.NewInternalError(fmt.Errorf("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	b := covering[0].DeepCopy()
	if b.Status.ObservedGeneration >= b.Generation && b.Status.DisruptionsAllowed > 0 {
		b.Status.DisruptionsAllowed--
		_, err := s.Update(b, "status")
		return err
	}
	refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget " + b.Name + " has no room"})
	return refusal
}

// Count does the disruption controller's work: it updates the status of a budget. It knows budgets with
// minAvailable as a number only. Nil: the status is up to date.
func (s *Store) Count(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	healthy := 0
	for _, o := range s.All(&corev1.Pod{}) {
		pod := o.(*corev1.Pod)
		if pod.Namespace == b.Namespace && pod.DeletionTimestamp == nil && selects(b.Spec.Selector, pod) {
			healthy++
		}
	}
	counted := b.DeepCopy()
	counted.Status.ObservedGeneration = b.Generation
	counted.Status.CurrentHealthy, counted.Status.ExpectedPods = int32(healthy), int32(healthy)
	counted.Status.DisruptionsAllowed = max(0, int32(healthy-b.Spec.MinAvailable.IntValue()))
	if equality.Semantic.DeepEqual(counted.Status, b.Status) {
		return nil
	}
	return counted
}

func selects(s *metav1.LabelSelector, o client.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}
