package store

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNothingIsMadeInANamespaceThatGoes(t *testing.T) {
	s := newStore()
	s.Terminating = "going"
	pod := func(ns string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}}
	}
	_, err := s.Create(pod("going"))
	if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("a pod in it: %v", err)
	}
	create(t, s, pod("other"))
	create(t, s, named("a")) // a node is in no namespace
}
