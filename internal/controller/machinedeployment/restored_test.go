package machinedeployment_test

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// itself reads from whatever server there is now.
type itself[D, S client.Object] struct{ w *world[D, S] }

// Get implements client.Reader.
func (i itself[D, S]) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return i.w.Client.Get(ctx, key, o, opts...)
}

// List implements client.Reader.
func (i itself[D, S]) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return i.w.Client.List(ctx, l, opts...)
}

// TestServerGoesBack: the API server is restored, and has the deployment as it was
// before its set was made. All is done again, and comes to rest.
func TestServerGoesBack(t *testing.T) {
	both(t, serverGoesBack, serverGoesBack)
}

func serverGoesBack[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	w.sync()
	backup := w.lens.New()
	w.must(w.Client.Get(t.Context(), key, backup))
	r := machinedeployment.New(w.lens, machinedeployment.Options{
		Client: w, Live: itself[D, S]{w}, Nodes: w, LiveNodes: itself[D, S]{w}, Clock: w.clock, Recorder: w.told, Writes: replicas.Sequential,
	})
	for range 3 { // the cache is behind all the while
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Client = newWorld(t, a).Client
	backup.SetResourceVersion("")
	w.must(w.Client.Create(t.Context(), backup)) // its version is the first again
	began := w.clock.Now()
	for range 60 {
		w.work()
		w.sync()
		res, err := w.reconcile(r)
		if err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(max(min(res.RequeueAfter, time.Second), 50*time.Millisecond)))
	}
	d := w.lens.New()
	w.must(w.Client.Get(t.Context(), key, d))
	if n := len(w.machines()); n != 2 || d.GetResourceVersion() == backup.GetResourceVersion() {
		t.Errorf("after %v there are %d machines, and the deployment is still as it was restored (version %s)", w.clock.Since(began), n, d.GetResourceVersion())
	}
}
