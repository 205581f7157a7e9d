package store

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Evict deletes a pod if its disruption budget has room. It knows budgets with
// minAvailable as a number only.
func (s *Store) Evict(e *policyv1.Eviction) error {
	pods := s.kinds.of(&corev1.Pod{})
	found := s.objects[pods][client.ObjectKeyFromObject(e)]
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
	b, healthy := covering[0], 0
	for _, o := range s.All(pod) {
		other := o.(*corev1.Pod)
		if other.Namespace == b.Namespace && other.DeletionTimestamp == nil && selects(b.Spec.Selector, other) {
			healthy++
		}
	}
	if healthy > b.Spec.MinAvailable.IntValue() {
		return nil
	}
	refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget " + b.Name + " has no room"})
	return refusal
}

func selects(s *metav1.LabelSelector, o client.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}
