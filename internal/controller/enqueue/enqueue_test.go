package enqueue_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
)

// TestReported says when an object is looked at by what was written of it.
func TestReported(t *testing.T) {
	before := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 1}}
	after := before.DeepCopy()
	after.ResourceVersion, after.Status.Replicas = "2", 1
	if got := enqueue.Reported(before, after); len(got) != 1 || got[0].Name != "a" || got[0].After != time.Second {
		t.Errorf("a status that may be an old one: %v", got)
	}
	after.Generation = 2
	if got := enqueue.Reported(before, after); len(got) != 1 || got[0].After != 0 {
		t.Errorf("it asks for something else: %v", got)
	}
}

// TestPriority: who has the higher priority goes first, whenever it was woken, once its
// pause is over; a queue without priorities takes all.
func TestPriority(t *testing.T) {
	wakes := enqueue.Func(func(_ context.Context, _, after client.Object) []enqueue.Request {
		w := enqueue.For(after)
		if after.GetName() == "pausing" {
			w.After = time.Hour
		}
		return []enqueue.Request{w}
	}).With(func(_ context.Context, key types.NamespacedName) int {
		return map[string]int{"done": 2, "pausing": 2, "soon": 1}[key.Name]
	})
	plain := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	for name, q := range map[string]workqueue.TypedRateLimitingInterface[reconcile.Request]{"ranked": priorityqueue.New[reconcile.Request](t.Name()), "plain": plain} {
		for _, name := range []string{"first", "second", "pausing", "soon", "done"} {
			wakes.Create(t.Context(), event.CreateEvent{Object: &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}}, q)
		}
		want := map[string]string{"ranked": "done soon first second ", "plain": "first second soon done "}[name]
		got := ""
		for range 4 {
			req, _ := q.Get()
			got += req.Name + " "
			q.Done(req)
		}
		if got != want {
			t.Errorf("%s: in the order %s, want %s", name, got, want)
		}
		q.ShutDown()
	}
}

// TestAsked says which changes of an object are looked at.
func TestAsked(t *testing.T) {
	of := func(uid types.UID) func(*v1alpha1.MachineSet) {
		return func(s *v1alpha1.MachineSet) {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineDeployment", Name: "web", UID: uid, Controller: ptr.To(true)}}
		}
	}
	for _, tt := range []struct {
		reason string
		edit   func(*v1alpha1.MachineSet)
		want   bool
	}{
		{"the spec", func(s *v1alpha1.MachineSet) { s.Generation++ }, true},
		{"what people ask for", func(s *v1alpha1.MachineSet) { s.Annotations = map[string]string{"a": "b"} }, true},
		{"a label", func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{"a": "b"} }, true},
		{"on its way out", func(s *v1alpha1.MachineSet) { s.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
		{"its deployment let go of it: nobody ends what that began with its machines", func(s *v1alpha1.MachineSet) { s.OwnerReferences = nil }, true},
		{"another deployment has it", of("other"), true},
		{"the status, which only we write", func(s *v1alpha1.MachineSet) { s.Status.Replicas++ }, false},
		{"bookkeeping", func(s *v1alpha1.MachineSet) { s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}} }, false},
	} {
		before := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Generation: 1}}
		of("web")(before)
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		tt.edit(after)
		if got := enqueue.SpecChanged(before, after); got != tt.want {
			t.Errorf("%s: looked at: %t", tt.reason, got)
		}
	}
}
