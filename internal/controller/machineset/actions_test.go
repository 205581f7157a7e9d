package machineset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// acting hears which reasons events have, and what was being done.
type acting struct{ heard []string }

// Eventf implements events.EventRecorder.
func (a *acting) Eventf(_, _ runtime.Object, kind, reason, action, _ string, _ ...any) {
	a.heard = append(a.heard, fmt.Sprintf("%s %s [%s]", kind, reason, action))
}

// TestActions: section 9.3 of the OpenShift notes. Its API has one reason and one action for whatever goes wrong with a set; the other one tells
// what was being done.
func TestActions(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) {
		actions(t, openshiftAPI, "Warning ReconcileError [Reconcile]", "Warning ReconcileError [Reconcile]")
	})
	t.Run("machine.sapcloud.io", func(t *testing.T) {
		actions(t, gardenerAPI, "Warning FailedCreate [Validate]", "Warning FailedCreate [Create]")
	})
}

func actions[S client.Object](t *testing.T, api api[S], fault, failure string) {
	for _, c := range []struct {
		reason   string
		replicas int
		want     string
	}{{"a spec that is at fault", -2, fault}, {"a machine that cannot be made", 1, failure}} {
		w := newWorld(api)
		w.declare(t, c.replicas)
		w.sync(t, true, true)
		w.fate = func() fate { return rejected }
		a := &acting{}
		r := machineset.New(w.lens, machineset.Options{
			Client: w, Live: w.Client, Clock: w.clock, Recorder: a, Creates: replicas.Sequential, Deletes: replicas.Sequential,
		})
		_, _ = w.reconcile(t, r) // that it is tried again is another test's
		if !slices.Equal(a.heard, []string{c.want}) {
			t.Errorf("%s: told %q, want %q", c.reason, a.heard, c.want)
		}
	}
}

// TestEventsOfGardenerSets: section 7.4 of the Gardener notes, the events about a set whose machines come and go, or cannot go.
func TestEventsOfGardenerSets(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 1)
	w.sync(t, true, true)
	a := &acting{}
	var refused error
	r := machineset.New(w.lens, machineset.Options{
		Client: interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if refused != nil {
					return refused
				}
				return c.Delete(ctx, o, opts...)
			},
		}), Live: w.Client, Clock: w.clock, Recorder: a, Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	for _, c := range []struct {
		reason   string
		replicas int
		refused  error
		want     string
	}{
		{"one is made", 1, nil, "Normal SuccessfulCreate [Create]"},
		{"it may not go", 0, errors.New("no"), "Warning FailedDelete [Delete]"},
		{"it goes", 0, nil, "Normal SuccessfulDelete [Delete]"},
	} {
		w.scale(t, c.replicas)
		refused, a.heard = c.refused, nil
		_, _ = w.reconcile(t, r)
		if !slices.Equal(a.heard, []string{c.want}) {
			t.Errorf("%s: told %q, want %q", c.reason, a.heard, c.want)
		}
	}
}
