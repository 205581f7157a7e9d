package node

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestRowsOfGardenerNodeDeletion: the guard "Initiate node object deletion" of
// section 2.7 of the Gardener notes, and the paragraph "node deletion".
func TestRowsOfGardenerNodeDeletion(t *testing.T) {
	t.Run("drop node finalizer (merge patch), DELETE node", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, node("w1", withFinalizers(finalizer)))
		if err := w.Delete(t.Context(), w.read(t, "w1"), finalizer); err != nil || !slices.Equal(w.writes, []string{"patch", "delete"}) {
			t.Errorf("wrote %v: %v", w.writes, err)
		}
		if n, err := w.Find(t.Context(), Query{Name: "w1"}); n != nil || err != nil {
			t.Errorf("still there: %v, %v", n, err)
		}
	})
	t.Run("the whole list computed from cache: different, a foreign finalizer stays (C18)", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, node("w1", withFinalizers(finalizer)))
		stale := w.read(t, "w1")
		n := stale.DeepCopy()
		n.Finalizers = append(n.Finalizers, "example.com/backup")
		w.must(t, w.Client.Update(t.Context(), n))
		w.must(t, w.Delete(t.Context(), stale, finalizer))
		if n := w.read(t, "w1"); !slices.Equal(n.Finalizers, []string{"example.com/backup"}) || n.DeletionTimestamp == nil {
			t.Errorf("finalizers %v, deleted %v", n.Finalizers, n.DeletionTimestamp)
		}
	})
	t.Run("node NotFound ⇒ proceed", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{})
		if err := w.Delete(t.Context(), node("w1", withFinalizers(finalizer)), finalizer); err != nil {
			t.Error(err)
		}
	})
	t.Run("other errors ⇒ Failed", func(t *testing.T) {
		denied := apierrors.NewForbidden(corev1.Resource("nodes"), "w1", errors.New("no"))
		w := newWorld(t, interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return denied },
		}, node("w1"))
		if err := w.Delete(t.Context(), w.read(t, "w1"), finalizer); !errors.Is(err, denied) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRowsOfGardenerNodeLookup: "search Node lister for label
// machine-name==machine" in section 2.7.
func TestRowsOfGardenerNodeLookup(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("ip-10-0-0-1", withLabel(MachineNameLabel, "m-1")), node("ip-10-0-0-2", withLabel(MachineNameLabel, "m-2")))
	for row, c := range map[string]struct{ machine, want string }{
		"label machine-name==machine":            {"ns/m-1", "ip-10-0-0-1"},
		"label machine-name==machine: other one": {"ns/m-2", "ip-10-0-0-2"},
		"no such node":                           {"ns/m-3", ""},
	} {
		t.Run(row, func(t *testing.T) {
			n, err := w.Find(t.Context(), Query{MachineKey: c.machine})
			got := ""
			if n != nil {
				got = n.Name
			}
			if err != nil || got != c.want {
				t.Errorf("found %q, want %q: %v", got, c.want, err)
			}
		})
	}
}
