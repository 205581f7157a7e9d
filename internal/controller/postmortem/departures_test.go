package postmortem_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// ends removes m, whose deletion the keeper has seen, and reports that, as a watch does.
func (w *world[M]) ends(m M) {
	w.Helper()
	m.SetFinalizers(nil)
	if err := w.api.Update(w.Context(), m); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	w.handler.Delete(w.Context(), event.DeleteEvent{Object: m}, w.queue)
}

// recorded returns the record of deleted machines.
func (w *world[M]) recorded() []postmortem.Departure {
	w.Helper()
	c := departures.Stored(ns)
	if err := w.api.Get(w.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		w.Fatal(err)
	}
	return departures.FromStored(c)
}

func (w *world[M]) flush() {
	w.Helper()
	if err := w.keeper.Flush(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func requested(by, uid string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "by-" + uid}, Reason: departures.EventRequested, Message: departures.RequestedNote(by), Type: corev1.EventTypeNormal,
		InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Machine", Namespace: ns, Name: "m", UID: types.UID(uid)}, LastTimestamp: metav1.NewTime(start),
	}
}

// TestHealthyMachineIsRecorded: a healthy machine leaves no evidence, but a row with its times, its node and the client
// that deleted it.
func TestHealthyMachineIsRecorded(t *testing.T) {
	n := aNode("n-m", corev1.ConditionTrue)
	n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start.Add(-50 * time.Minute))
	w := gardenerWorld(t, n)
	m := gardenerMachine("m", v1alpha1.MachineRunning, time.Hour)
	w.create(m, requested("jane", "uid-m"))
	w.seen(m)
	w.delete(m)
	if len(w.stored()) != 0 {
		t.Fatal("a healthy machine left evidence")
	}
	w.flush()
	if got := w.recorded(); len(got) != 0 {
		t.Fatalf("a machine in deletion is recorded as deleted: %+v", got)
	}
	w.clock.Step(time.Minute)
	w.ends(m)
	w.flush()
	got := w.recorded()
	if len(got) != 1 {
		t.Fatalf("%d rows", len(got))
	}
	d := got[0]
	if d.Name != "m" || d.By != "jane" || d.Cause != "Manual" || d.Owner != "MachineSet/set" || d.Node != "n-m" || d.Joined.IsZero() || d.Ready.IsZero() || d.Requested.IsZero() || !d.Deleted.Equal(start.Add(time.Minute)) {
		t.Errorf("%+v", d)
	}
}

// TestDeletionsShareAWrite: a hundred deletions are one write, and nothing is written without one.
func TestDeletionsShareAWrite(t *testing.T) {
	w := gardenerWorld(t)
	w.policy.PerNamespace = 0 // no evidence
	w.restart()
	w.flush()
	if n := w.calls["create *v1.ConfigMap"] + w.calls["update *v1.ConfigMap"]; n != 0 {
		t.Errorf("%d writes without a deletion", n)
	}
	for round := range 2 {
		for i := range 100 {
			m := gardenerMachine(fmt.Sprintf("m-%d-%d", round, i), v1alpha1.MachineRunning, time.Hour)
			w.create(m)
			w.delete(m)
			w.ends(m)
		}
		w.flush()
		w.flush()
	}
	if got := w.recorded(); len(got) != 200 || w.calls["create *v1.ConfigMap"] != 1 || w.calls["update *v1.ConfigMap"] != 1 {
		t.Errorf("%d rows by %d and %d writes", len(got), w.calls["create *v1.ConfigMap"], w.calls["update *v1.ConfigMap"])
	}
	w.clock.Step(25 * time.Hour)
	m := gardenerMachine("late", v1alpha1.MachineRunning, time.Hour)
	w.create(m)
	w.delete(m)
	w.ends(m)
	w.flush()
	if got := w.recorded(); len(got) != 1 || got[0].Name != "late" {
		t.Errorf("%d rows after a day, want 1", len(got))
	}
}

// TestDeletionsAreRecordedLater: after a failed write they are not lost. If writes are forbidden, they are dropped.
func TestDeletionsAreRecordedLater(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("no answer"), 1},
		{apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, departures.Name, errors.New("changed")), 1},
		{apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, departures.Name, errors.New("no right")), 0},
	} {
		w := gardenerWorld(t)
		m := gardenerMachine("m", v1alpha1.MachineRunning, time.Hour)
		w.create(m)
		w.delete(m)
		w.ends(m)
		w.refuse = func(call string) error {
			if call == "create *v1.ConfigMap" {
				return c.err
			}
			return nil
		}
		_ = w.keeper.Flush(w.Context())
		w.refuse = nil
		w.flush()
		if got := w.recorded(); len(got) != c.want {
			t.Errorf("%v: %d rows, want %d", c.err, len(got), c.want)
		}
	}
}

// TestDeletionBySetIsRecorded: without events, the set shows who deleted its machine. A set that cannot be read shows
// nothing.
func TestDeletionBySetIsRecorded(t *testing.T) {
	for wanted, want := range map[int32]string{0: "ScaleDown", 1: "Manual", -1: ""} {
		w := newWorld[*machinev1.Machine](t, openshift.Machines{})
		if wanted >= 0 {
			w.create(&machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "set", UID: "s"}, Spec: machinev1.MachineSetSpec{Replicas: &wanted}})
		} else {
			w.refuse = func(call string) error {
				if call == "get *v1beta1.MachineSet" {
					return errors.New("no right")
				}
				return nil
			}
		}
		m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "m", UID: "uid-m", Finalizers: []string{machinev1.MachineFinalizer}, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "MachineSet", Name: "set", UID: "s", Controller: ptr.To(true)}},
		}}
		w.create(m)
		w.delete(m)
		w.flush() // the cause is looked up now, and does not change when the set is scaled later
		s := &machinev1.MachineSet{}
		if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "set"}, s); err == nil {
			s.Spec.Replicas = ptr.To[int32](9)
			if err := w.api.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		w.ends(m)
		w.flush()
		if got := w.recorded(); len(got) != 1 || string(got[0].Cause) != want {
			t.Errorf("%d wanted: %+v, want %q", wanted, got, want)
		}
	}
}
