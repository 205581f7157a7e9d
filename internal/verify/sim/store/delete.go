package store

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultGrace is the grace period, in seconds, of a pod that names none.
const defaultGrace = 30

// Delete deletes an object. If finalizers or the grace period of a pod hold the object,
// Delete only sets its deletion timestamp.
func (s *Store) Delete(o client.Object, opts client.DeleteOptions) error {
	k := s.kinds.of(o)
	key := client.ObjectKeyFromObject(o)
	old := s.objects[k].get(key)
	if old == nil {
		return apierrors.NewNotFound(k.resource(), key.Name)
	}
	if err := meets(k, old, opts.Preconditions); err != nil {
		return err
	}
	marked := old.DeepCopyObject().(client.Object)
	if p := opts.PropagationPolicy; p != nil && *p == metav1.DeletePropagationOrphan && old.GetDeletionTimestamp() == nil {
		marked.SetFinalizers(append(marked.GetFinalizers(), metav1.FinalizerOrphanDependents))
	}
	grace := s.grace(old, opts)
	if len(marked.GetFinalizers()) == 0 && grace == 0 {
		s.version++
		marked.SetResourceVersion(strconv.FormatInt(s.version, 10))
		s.remove(k, old, marked)
		return nil
	}
	if !s.mark(marked, old, grace) {
		return nil
	}
	if marked.GetGeneration() > 0 {
		marked.SetGeneration(marked.GetGeneration() + 1)
	}
	s.commit(k, old, marked)
	return nil
}

// mark sets the deletion timestamp, or moves it to an earlier time. It counts the grace period from the first deletion
// request, as kube-apiserver does; false: nothing changes.
func (s *Store) mark(o, old client.Object, grace int64) bool {
	from := s.second().Time
	if before := old.GetDeletionTimestamp(); before != nil {
		had := old.GetDeletionGracePeriodSeconds()
		if had == nil || *had <= grace {
			return false
		}
		from = before.Add(-time.Duration(*had) * time.Second)
	}
	at := metav1.NewTime(from.Add(time.Duration(grace) * time.Second))
	o.SetDeletionTimestamp(&at)
	if _, ok := o.(*corev1.Pod); ok {
		o.SetDeletionGracePeriodSeconds(&grace)
	}
	return true
}

func (s *Store) grace(o client.Object, opts client.DeleteOptions) int64 {
	pod, ok := o.(*corev1.Pod)
	switch {
	case !ok:
		return 0
	case opts.GracePeriodSeconds != nil:
		return *opts.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return defaultGrace
}

func meets(k *Kind, o client.Object, p *metav1.Preconditions) error {
	switch {
	case p == nil:
		return nil
	case p.UID != nil && *p.UID != o.GetUID():
		return apierrors.NewConflict(k.resource(), o.GetName(), fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", *p.UID, o.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion():
		return apierrors.NewConflict(k.resource(), o.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s)", *p.ResourceVersion, o.GetResourceVersion()))
	}
	return nil
}

// terminating is the error of a creation in a namespace that is being deleted.
func terminating(k *Kind, o client.Object) error {
	ns := o.GetNamespace()
	err := apierrors.NewForbidden(k.resource(), o.GetName(), fmt.Errorf("unable to create new content in namespace %s because it is being terminated", ns))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", ns), Field: "metadata.namespace",
	})
	return err
}
