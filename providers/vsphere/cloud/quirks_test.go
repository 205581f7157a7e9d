package cloud

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

// Behavior of the originals that must not be copied: each row of the notes about vSphere, with its text.

// "conditionFailed uses the Succeeded reason" (C19).
func TestQuirkFailureHasAReasonOfItsOwn(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	made, err := of.Create(t.Context(), r, provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cloud.Do("fail", made.ID); err != nil {
		t.Fatal(err)
	}
	i := s.settle(t, of, r)
	if i.Fault == nil {
		t.Fatal("it came up")
	}
	raw, err := of.Status(i)
	var status machinev1beta1.VSphereMachineProviderStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(status.Conditions) != 1 || status.Conditions[0].Reason != "MachineCreationFailed" || status.Conditions[0].Status != "False" {
		t.Errorf("%s, %v", raw, err)
	}
}

// "create and delete share one taskRef", and "relies on error-string match for a gone task": nothing is
// found by a task here. A process that knows no task does the same.
func TestQuirkNoTaskIsNeeded(t *testing.T) {
	s := newStage(t, vcenter.Options{Clone: time.Second, Delete: time.Second})
	class, r := s.class(provider.OpenShift, "c"), machineRef("m")
	if _, err := s.open(t, class).Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * time.Second)
	running := false
	for range 10 {
		found, err := s.open(t, class).Find(t.Context(), r) // a new process for each call
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if running = found[0].State == provider.Running && !found[0].Uninitialized; running {
			break
		}
		if err := s.open(t, class).Initialize(t.Context(), r, found[0]); err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(time.Second)
	}
	if !running {
		t.Fatal("it does not come up")
	}
	for range 10 {
		done, err := s.open(t, class).Delete(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		s.clock.Advance(2 * time.Second)
	}
	t.Error("it does not go")
}

// "delete uses errors as polling" (C19): an operation in progress is no error.
func TestQuirkDeletionUnderWayIsNoError(t *testing.T) {
	s := newStage(t, vcenter.Options{Delete: time.Minute})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	s.make(t, of, r)
	for range 5 {
		if done, err := of.Delete(t.Context(), r, nil); done || err != nil {
			t.Errorf("done %t, %v", done, err)
		}
		s.clock.Advance(time.Second)
	}
	if n := s.server.Counts()["Destroy_Task"]; n != 1 {
		t.Errorf("it was destroyed %d times", n)
	}
}

// "scope errors wrapped with %v lose InvalidConfiguration" (C19): the kind survives all wrapping.
func TestQuirkKindsSurviveWrapping(t *testing.T) {
	err := fmt.Errorf("a: %w", classify(fmt.Errorf("b: %w", provider.InvalidField("template", "no"))))
	if provider.KindOf(err) != provider.Invalid || !namesField(err, "template") {
		t.Errorf("%v", err)
	}
}

// "task-ID cache is an unlocked map" (C19): all machines use tasks and lookups concurrently. Run with
// -race.
func TestQuirkMemoriesAreLocked(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of := s.open(t, s.class(provider.OpenShift, "c"))
	done := make(chan error)
	for n := range 8 {
		go func() {
			_, err := of.Create(t.Context(), machineRef(fmt.Sprint("m", n)), provider.Want{})
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// "a new cloud session per call; block up to 5-20 min inside one reconcile": TestOneSessionForAll, and here
// that no call waits for an operation of an hour.
func TestQuirkNoCallWaits(t *testing.T) {
	s := newStage(t, vcenter.Options{Clone: time.Hour, Boot: time.Hour, Delete: time.Hour})
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		of, r := s.open(t, s.class(api, "c")), machineRef("m-"+api)
		began := time.Now()
		i, err := of.Create(t.Context(), r, provider.Want{})
		if err != nil || i.State != provider.Pending {
			t.Errorf("%+v, %v", i, err)
		}
		if found, err := of.Find(t.Context(), r); err != nil || len(found) != 1 || found[0].State != provider.Pending {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := of.Delete(t.Context(), r, nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s takes %v", api, took)
		}
	}
}

// "4xx = terminal": exhaustion and throttling are no faults of the spec.
func TestQuirkQuotasAreNotTheSpecs(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of := s.open(t, s.class(provider.OpenShift, "c"))
	for _, kind := range []provider.Kind{provider.Exhausted, provider.Throttled, provider.Denied, provider.Conflict} {
		if err := s.inject("create", faultOfKind(kind)); err != nil {
			t.Fatal(err)
		}
		if _, err := of.Create(t.Context(), machineRef("m"), provider.Want{}); provider.KindOf(err) != kind {
			t.Errorf("%s comes out as %v", kind, err)
		}
	}
}
