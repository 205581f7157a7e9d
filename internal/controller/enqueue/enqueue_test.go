package enqueue_test

import (
	"context"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// taken is a queue that takes down what is added at once, and after what time.
type taken struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	at map[string]time.Duration
}

func (q taken) Add(r reconcile.Request)                           { q.at[r.Name] = 0 }
func (q taken) AddAfter(r reconcile.Request, after time.Duration) { q.at[r.Name] = after }

// TestPauses: what is woken after a pause is added after it, and all else at once.
func TestPauses(t *testing.T) {
	wakes := enqueue.Func(func(_ context.Context, _, after client.Object) []enqueue.Request {
		now, later := enqueue.For(after), enqueue.For(after)
		later.Name, later.After = "later", time.Minute
		return []enqueue.Request{now, later}
	})
	q := taken{at: map[string]time.Duration{}}
	wakes.Create(t.Context(), event.CreateEvent{Object: &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "now"}}}, q)
	if want := (map[string]time.Duration{"now": 0, "later": time.Minute}); !maps.Equal(q.at, want) {
		t.Errorf("added %v, want %v", q.at, want)
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
