package machineset_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// itself reads from whatever server there is now.
type itself[S client.Object] struct{ w *world[S] }

// Get implements client.Reader.
func (i itself[S]) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return i.w.Client.Get(ctx, key, o, opts...)
}

// List implements client.Reader.
func (i itself[S]) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return i.w.Client.List(ctx, l, opts...)
}

// TestServerGoesBack: the API server is restored, and has the set as it was before
// its last status, which the cache never showed. The set counts again: else it
// would compare with what was written, and each write would be refused for ever.
func TestServerGoesBack(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) { serverGoesBack(t, openshiftAPI) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { serverGoesBack(t, gardenerAPI) })
}

func serverGoesBack[S client.Object](t *testing.T, a api[S]) {
	w := newWorld(a)
	w.declare(t, 2)
	w.sync(t, true, true)
	backup := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), backup); err != nil {
		t.Fatal(err)
	}
	r := machineset.New(w.lens, machineset.Options{
		Client: w, Live: itself[S]{w}, Clock: w.clock, Recorder: &events.FakeRecorder{}, Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	for range 3 { // the cache is behind all the while
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
	}
	w.Client = w.build(backup)
	passes, began := 0, w.clock.Now()
	for ; passes < 40 && w.clock.Since(began) < time.Minute; passes++ {
		w.sync(t, true, true)
		res, err := w.reconcile(t, r)
		if err != nil {
			t.Fatal(err)
		}
		if res.RequeueAfter == 0 {
			break
		}
		w.clock.SetTime(w.clock.Now().Add(res.RequeueAfter))
	}
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	if n := w.replicas(t); n != 2 || w.lens.View(s).Replicas != 2 || s.GetResourceVersion() == backup.GetResourceVersion() {
		t.Errorf("after %d passes in %v there are %d machines, and the set is still as it was restored (version %s)", passes, w.clock.Since(began), n, s.GetResourceVersion())
	}
}

// TestDeletionIsUndone: the cache shows that the set is under deletion, and the API server has it in its
// state before that. Its machines stay.
func TestDeletionIsUndone(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) { deletionIsUndone(t, openshiftAPI) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { deletionIsUndone(t, gardenerAPI) })
}

func deletionIsUndone[S client.Object](t *testing.T, a api[S]) {
	w := newWorld(a)
	w.declare(t, 2)
	r := machineset.New(w.lens, machineset.Options{
		Client: w, Live: itself[S]{w}, Clock: w.clock, Recorder: &events.FakeRecorder{}, Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	settle := func(n int) {
		for range n {
			w.sync(t, true, true)
			if _, err := w.reconcile(t, r); err != nil {
				t.Fatal(err)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Second))
		}
	}
	settle(5)
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	backup := append(w.machinesOf(t, w.Client), s.DeepCopyObject().(client.Object))
	s.SetFinalizers(append(s.GetFinalizers(), metav1.FinalizerDeleteDependents))
	if err := w.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.sync(t, true, true)
	w.Client = w.build(backup...)
	for range 3 { // the cache shows the deletion all the while
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	if n := w.replicas(t); n != 2 {
		t.Errorf("%d machines of 2 are left, of a set that nobody deletes", n)
	}
}

// TestThawIsUndone: the API server went back to when the set was frozen, and the cache
// shows that. No machine is made before the set is thawed again.
func TestThawIsUndone(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 2)
	frozen := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), frozen); err != nil {
		t.Fatal(err)
	}
	frozen.Labels = map[string]string{"freeze": "True"}
	if err := w.Client.Update(t.Context(), frozen); err != nil {
		t.Fatal(err)
	}
	backup := frozen.DeepCopy()
	w.sync(t, true, true)
	w.fate = func() fate {
		if err := w.Client.Get(t.Context(), w.key(), frozen); err != nil {
			t.Fatal(err)
		}
		if frozen.Labels["freeze"] != "" {
			t.Error("a frozen set makes a machine")
		}
		return fine
	}
	r := machineset.New(w.lens, machineset.Options{
		Client: w, Live: itself[*v1alpha1.MachineSet]{w}, Clock: w.clock, Recorder: &events.FakeRecorder{}, Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	for range 3 { // the cache is behind all the while
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
	}
	if w.created != 2 {
		t.Fatalf("%d machines were made", w.created)
	}
	w.Client = w.build(backup)
	w.clock.SetTime(w.clock.Now().Add(readyourwrites.Patience)) // the machines are not awaited any more
	for range 10 {
		w.sync(t, true, true)
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	if n := w.replicas(t); n != 2 {
		t.Errorf("%d machines, want 2", n)
	}
}
