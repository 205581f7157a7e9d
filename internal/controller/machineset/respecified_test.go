package machineset_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// TestScaledWhileActing: what a large set does takes seconds. A pass stops when the set has another size meanwhile, without a failure.
func TestScaledWhileActing(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) { scaledWhileActing(t, openshiftAPI) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { scaledWhileActing(t, gardenerAPI) })
}

func scaledWhileActing[S client.Object](t *testing.T, a api[S]) {
	for _, c := range []struct {
		reason          string
		from, to, then  int
		after, expected int
	}{
		{"up again while it deletes", 8, 0, 8, 3, 5},
		{"down again while it creates", 0, 8, 2, 3, 3}, // a batch of 1 and of 2
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(a)
			w.declare(t, c.from)
			w.rest(t, w.controller())
			w.resize(t, c.to)
			w.sync(t, true, true)
			done := 0
			count := func() {
				if done++; done == c.after {
					w.resize(t, c.then)
					w.sync(t, true, false)
				}
			}
			heard := &acting{}
			r := machineset.New(w.lens, machineset.Options{
				Client: counted[S]{w, count}, Live: w.Client, Clock: w.clock, Recorder: heard, Creates: replicas.Sequential, Deletes: replicas.Sequential,
			})
			if _, err := w.reconcile(t, r); err != nil {
				t.Error(err)
			}
			if got := w.replicas(t); got != c.expected {
				t.Errorf("%d machines are left, want %d: events %q", got, c.expected, heard.heard)
			}
		})
	}
}

// counted is a world that tells of each machine that was created or deleted.
type counted[S client.Object] struct {
	*world[S]
	done func()
}

func (c counted[S]) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	defer c.done()
	return c.world.Create(ctx, o, opts...)
}

func (c counted[S]) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	defer c.done()
	return c.world.Delete(ctx, o, opts...)
}

// resize scales the set as an API server does, which counts the change.
func (w *world[S]) resize(t testing.TB, replicas int) {
	t.Helper()
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	w.size(s, replicas)
	s.SetGeneration(s.GetGeneration() + 1)
	if err := w.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}
