package store

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 500, time.UTC)

func newStore() *Store {
	pod := NewKind(corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.Pod{})
	pod.Subresource, pod.StatusAtBirth = true, true
	node := NewKind(corev1.SchemeGroupVersion.WithKind("Node"), &corev1.Node{})
	node.Subresource, node.Counted = true, true
	budget := NewKind(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), &policyv1.PodDisruptionBudget{})
	return New(func() time.Time { return start }, runtime.NewScheme(), []*Kind{pod, node, budget})
}

func create(t *testing.T, s *Store, o client.Object) client.Object {
	t.Helper()
	out, err := s.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func named(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Phase: "given"}}
}

func TestCreateFillsInWhatServersFillIn(t *testing.T) {
	n := create(t, newStore(), named("a")).(*corev1.Node)
	if n.UID == "" || n.ResourceVersion != "3" || n.Generation != 1 || n.CreationTimestamp.Nanosecond() != 0 {
		t.Errorf("got %+v", n.ObjectMeta)
	}
	if n.Status.Phase != "" {
		t.Error("a status given at creation must be dropped where status is a subresource")
	}
}

func TestWritesOfStatusAndOfTheRestDoNotMix(t *testing.T) {
	s := newStore()
	n := create(t, s, named("a")).(*corev1.Node)

	both := n.DeepCopy()
	both.Spec.ProviderID, both.Status.Phase = "id", "new"
	body, err := s.Update(both, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := body.(*corev1.Node); got.Spec.ProviderID != "id" || got.Status.Phase != "" || got.Generation != 2 {
		t.Errorf("an update of the object wrote %+v", got)
	}
	both.ResourceVersion, both.Spec.ProviderID = "", "other"
	status, err := s.Update(both, "status")
	if err != nil {
		t.Fatal(err)
	}
	if got := status.(*corev1.Node); got.Spec.ProviderID != "id" || got.Status.Phase != "new" || got.Generation != 2 {
		t.Errorf("an update of the status wrote %+v", got)
	}
}

func TestStaleWritesAreRefused(t *testing.T) {
	s := newStore()
	n := create(t, s, named("a")).(*corev1.Node)
	stale := n.DeepCopy()
	fresh := n.DeepCopy()
	fresh.Labels = map[string]string{"a": "b"}
	if _, err := s.Update(fresh, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(stale, ""); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"`+stale.ResourceVersion+`"}}`))
	if _, err := s.Patch(stale, patch, ""); !apierrors.IsConflict(err) {
		t.Errorf("patch of an old version: %v", err)
	}
	err := s.Delete(stale, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("other"))}})
	if !apierrors.IsConflict(err) {
		t.Errorf("delete of another object of the name: %v", err)
	}
}

func TestStrategicPatchesMergeByType(t *testing.T) {
	s := newStore()
	n := create(t, s, named("a")).(*corev1.Node).DeepCopy()
	n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True"}, {Type: "Old", Status: "True"}}
	if _, err := s.Update(n, "status"); err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"status":{"conditions":[{"type":"New","status":"True"},{"type":"Old","$patch":"delete"}]}}`)
	after, err := s.Patch(n, client.RawPatch(types.StrategicMergePatchType, raw), "status")
	if err != nil {
		t.Fatal(err)
	}
	got := map[corev1.NodeConditionType]bool{}
	for _, c := range after.(*corev1.Node).Status.Conditions {
		got[c.Type] = true
	}
	if len(got) != 2 || !got["Ready"] || !got["New"] {
		t.Errorf("conditions %v, want Ready and New", got)
	}
}

func TestNothingIsWrittenWhereNothingChanges(t *testing.T) {
	s := newStore()
	n := create(t, s, named("a"))
	if _, err := s.Update(n, ""); err != nil || s.Version() != 3 {
		t.Errorf("version %d after an empty update: %v", s.Version(), err)
	}
}

func TestFinalizersHoldAnObject(t *testing.T) {
	s := newStore()
	n := named("a")
	n.Finalizers = []string{"x"}
	create(t, s, n)
	if err := s.Delete(n, client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	held := s.Lookup(n, client.ObjectKey{Name: "a"})
	if held == nil || held.GetDeletionTimestamp() == nil {
		t.Fatalf("got %v, want an object on its way out", held)
	}
	more := held.DeepCopyObject().(client.Object)
	more.SetFinalizers([]string{"x", "y"})
	if _, err := s.Update(more, ""); !apierrors.IsInvalid(err) {
		t.Errorf("a new finalizer on an object being deleted: %v", err)
	}
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if _, err := s.Patch(held, free, ""); err != nil {
		t.Fatal(err)
	}
	if s.Lookup(n, client.ObjectKey{Name: "a"}) != nil {
		t.Error("the object outlived its last finalizer")
	}
}

// TestShorterGraceCountsFromTheFirst: a second deletion of a pod with a shorter grace period moves the deletion timestamp
// to an earlier time, as in kube-apiserver, and never to a later one.
func TestShorterGraceCountsFromTheFirst(t *testing.T) {
	now := start
	s := newStore()
	s.now = func() time.Time { return now }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Finalizers: []string{"x"}}}
	create(t, s, pod)
	for _, c := range []struct{ grace, left int64 }{{30, 30}, {60, 30}, {10, 10}, {0, 0}} {
		if err := s.Delete(pod, client.DeleteOptions{GracePeriodSeconds: &c.grace}); err != nil {
			t.Fatal(err)
		}
		got := s.Lookup(pod, client.ObjectKeyFromObject(pod))
		if at := got.GetDeletionTimestamp().Sub(start.Truncate(time.Second)); at != time.Duration(c.left)*time.Second || *got.GetDeletionGracePeriodSeconds() != c.left {
			t.Errorf("with %d s: deleted %v after the request, with %d s", c.grace, at, *got.GetDeletionGracePeriodSeconds())
		}
		now = now.Add(time.Minute)
	}
}

func TestBudgetsHoldPods(t *testing.T) {
	s := newStore()
	app := map[string]string{"app": "a"}
	for _, name := range []string{"one", "two"} {
		create(t, s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, Labels: app}})
	}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "b"}}
	b.Spec.MinAvailable, b.Spec.Selector = ptr.To(intstr.FromInt32(1)), &metav1.LabelSelector{MatchLabels: app}
	create(t, s, b)
	evict := func(name string) error {
		return s.Evict(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}})
	}
	if err := evict("one"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("none may go before the pods are counted: %v", err)
	}
	if _, err := s.Update(s.Count(s.Lookup(b, client.ObjectKeyFromObject(b)).(*policyv1.PodDisruptionBudget)), "status"); err != nil {
		t.Fatal(err)
	}
	if err := evict("one"); err != nil {
		t.Fatalf("one of two may go: %v", err)
	}
	err := evict("two")
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("the last one may not go: %v", err)
	}
	if err := evict("one"); err != nil {
		t.Errorf("who is on the way out already may be asked again: %v", err)
	}
}

func TestViewsRunBehind(t *testing.T) {
	s := newStore()
	create(t, s, named("a"))
	v := s.View(s.KindOf(&corev1.Node{}), 0)
	create(t, s, named("b"))
	all := func(Call, func() error) error { t.Error("a cached read is no call"); return nil }
	c := &Client{Store: s, Views: map[*Kind]*View{v.Kind(): v}, Gate: all}

	var n corev1.Node
	if err := c.Get(context.Background(), client.ObjectKey{Name: "b"}, &n); !apierrors.IsNotFound(err) {
		t.Errorf("the view shows what it has not seen: %v", err)
	}
	if e := v.Advance(); e.Old != nil || e.New.GetName() != "b" {
		t.Errorf("got %+v, want the creation of b", e)
	}
	if err := c.Get(context.Background(), client.ObjectKey{Name: "b"}, &n); err != nil || v.Behind() != 0 {
		t.Errorf("behind by %d: %v", v.Behind(), err)
	}
}
