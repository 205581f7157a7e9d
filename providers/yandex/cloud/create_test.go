package cloud_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider"
)

var version4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`)

// keys are the idempotency keys of the requests for instances.
func (w *world) keys() (all []string) {
	for _, r := range w.Received("Instance.Create") {
		all = append(all, r.Key)
	}
	return all
}

// TestLabelsOfAnInstance: the labels of the spec, those of the machine, and no label of a user that names another owner.
func TestLabelsOfAnInstance(t *testing.T) {
	w := newWorld(t)
	class := patched(t, w.class("c1"), `{"labels":{"team":"blue","millwright.dev/machine-uid":"me","millwright.dev/owner":"me"}}`)
	class.Owner = "owner-1"
	if _, err := w.open(t, class).Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Fatal(err)
	}
	got, expected := w.requests()[0].GetLabels(), map[string]string{
		"millwright.dev/machine-uid": refOf("worker-1").UID, "millwright.dev/machine-namespace": "machines", "millwright.dev/owner": "owner-1", "millwright.dev/machine-role": "worker",
		"kubernetes-io-cluster-c1": "1", "kubernetes-io-role-worker": "1", "team": "blue",
	}
	for key, value := range expected {
		if got[key] != value {
			t.Errorf("label %s is %q, want %q", key, got[key], value)
		}
	}
	if len(got) != len(expected) {
		t.Errorf("labels %v", got)
	}
}

// TestKeyReturnsTheInstance: the listing lags and the reply was lost. By the idempotency key, another process gets the instance, whatever the
// class says by now.
func TestKeyReturnsTheInstance(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	w.SetLag(5 * time.Second)
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "Instance.Create", Times: 1, Done: true})
	if _, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); provider.KindOf(err) != provider.Transient {
		t.Fatal(err)
	}
	i, err := w.open(t, with(w.class("c1"), `"cores":2`, `"cores":4`)).Create(t.Context(), ref, want)
	if err != nil || len(w.Instances()) != 1 || i.ID != w.Instances()[0].ID {
		t.Errorf("%+v beside %v, %v", i, w.Instances(), err)
	}
	for _, key := range w.keys() {
		if !version4.MatchString(key) || key != w.keys()[0] {
			t.Errorf("keys %q", w.keys())
		}
	}
}

// TestNamePreventsASecondInstance: the key is forgotten, as a service may do after a while, and the listing lags.
func TestNamePreventsASecondInstance(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if _, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.ForgetKeys()
	w.SetLag(5 * time.Second)
	_, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want)
	if provider.KindOf(err) != provider.Conflict || len(w.Instances()) != 1 {
		t.Errorf("%v of kind %s, %d instances", err, provider.KindOf(err), len(w.Instances()))
	}
	w.clock.Advance(6 * time.Second)
	if i, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); err != nil || i.UID != ref.UID {
		t.Errorf("once it is visible: %v", err)
	}
}

// TestAttempts: each attempt has a key of its own, since a known key returns the operation that failed.
func TestAttempts(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	if err := w.Do("exhaust", "ru-central1-a/standard-v3"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create(t.Context(), ref, want)
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
		t.Fatalf("in a zone without capacity: %v", err)
	}
	if err := w.Do("restock", "ru-central1-a/standard-v3"); err != nil {
		t.Fatal(err)
	}
	second := want
	second.Attempt = 1
	if _, err := s.Create(t.Context(), ref, second); err != nil {
		t.Fatal(err)
	}
	if keys := w.keys(); len(keys) != 2 || keys[0] == keys[1] || !version4.MatchString(keys[1]) {
		t.Errorf("keys %q", keys)
	}
}

// TestLateShortage: the operation of an accepted request fails. The process that sent the request reports the failure; another one learns of it
// by repeating the request. Neither creates another instance in the same attempt.
func TestLateShortage(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Do("fail", i.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		all, err := s.Find(t.Context(), ref)
		if err != nil || len(all) != 1 || all[0].ID != i.ID || all[0].State != provider.Terminated || all[0].Fault == nil || all[0].Fault.Kind != provider.Exhausted {
			t.Fatalf("find: %+v, %v", all, err)
		}
		if again, err := s.Create(t.Context(), ref, want); err != nil || again.ID != i.ID || again.Fault == nil {
			t.Errorf("the same attempt: %+v, %v", again, err)
		}
	}
	if n := w.server.Counts()["Operation.Get"]; n != 1 {
		t.Errorf("the operation is read %d times", n)
	}
	fresh := w.open(t, w.class("c1"))
	if all, err := fresh.Find(t.Context(), ref); err != nil || len(all) > 0 {
		t.Errorf("another process finds %+v, %v", all, err)
	}
	if _, err := fresh.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Exhausted {
		t.Errorf("another process creates: %v", err)
	}
	next := want
	next.Attempt = 1
	if again, err := fresh.Create(t.Context(), ref, next); err != nil || again.ID == i.ID || len(w.Instances()) != 1 {
		t.Errorf("the next attempt: %+v, %v", again, err)
	}
	if done, err := s.Delete(t.Context(), refOf("worker-2"), nil); !done || err != nil {
		t.Errorf("delete what never was: %t, %v", done, err)
	}
}

// TestOperationThatFailedForAnotherReason: the next request has another key, since the known one would return the failed operation for ever.
func TestOperationThatFailedForAnotherReason(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	w.FailInternally(i.ID)
	if all, err := s.Find(t.Context(), ref); err != nil || len(all) > 0 {
		t.Errorf("find: %+v, %v", all, err)
	}
	if again, err := s.Create(t.Context(), ref, want); err != nil || again.ID == i.ID {
		t.Errorf("create: %+v, %v", again, err)
	}
	fresh, other := w.open(t, w.class("c1")), refOf("worker-2")
	if i, err = w.open(t, w.class("c1")).Create(t.Context(), other, want); err != nil {
		t.Fatal(err)
	}
	w.FailInternally(i.ID)
	if _, err := fresh.Create(t.Context(), other, want); provider.KindOf(err) != provider.Transient {
		t.Errorf("another process: %v", err)
	}
	if again, err := fresh.Create(t.Context(), other, want); err != nil || again.ID == i.ID {
		t.Errorf("another process, again: %+v, %v", again, err)
	}
}

// TestVisibilityAfterACreation: while a listing does not show a new instance, its operation does.
func TestVisibilityAfterACreation(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	w.SetLag(4 * time.Second)
	s := w.open(t, w.class("c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	if again := found(t, s, ref); again.ID != i.ID || again.State != provider.Pending {
		t.Errorf("found %+v", again)
	}
	if done, err := s.Delete(t.Context(), ref, nil); done || err != nil {
		t.Errorf("delete: %t, %v", done, err)
	}
	if d := s.Differences(ref, i); len(d) > 0 {
		t.Errorf("differences %q", d)
	}
	w.clock.Advance(minute)
	if again := found(t, s, ref); again.State != provider.Running || again.ProviderID != i.ProviderID || len(again.Addresses) != 3 {
		t.Errorf("found %+v", again)
	}
}

// TestReservedAddresses: machines get unused addresses of the list; without one, the machine waits.
func TestReservedAddresses(t *testing.T) {
	w := newWorld(t)
	class := patched(t, w.class("c1"), `{"networkInterfaceSpecs":[{"subnetID":"e9bexample0000000001","assignPublicIPAddress":true,"publicIPAddresses":["84.201.128.11","84.201.128.10"]}]}`)
	s := w.open(t, class)
	for _, name := range []string{"worker-1", "worker-2"} {
		if _, err := s.Create(t.Context(), refOf(name), want); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Create(t.Context(), refOf("worker-3"), want)
	if provider.KindOf(err) != provider.Exhausted || !strings.Contains(err.Error(), "publicIPAddresses") {
		t.Errorf("without an unused address: %v", err)
	}
	var got []string
	for _, r := range w.requests() {
		got = append(got, r.GetNetworkInterfaceSpecs()[0].GetPrimaryV4AddressSpec().GetOneToOneNatSpec().GetAddress())
	}
	if strings.Join(got, " ") != "84.201.128.11 84.201.128.10" {
		t.Errorf("addresses %q", got)
	}
}

// TestPreemptibleInstance: Compute Cloud stops it after 24 hours at the latest. It is Stopped, and interruptible.
func TestPreemptibleInstance(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, patched(t, w.class("c1"), `{"schedulingPolicy":{"preemptible":true}}`))
	if i := w.created(t, s, ref); !i.Interruptible || i.State != provider.Running {
		t.Errorf("%+v", i)
	}
	w.clock.Advance(24 * time.Hour)
	i := found(t, s, ref)
	if i.State != provider.Stopped || i.RawState != "STOPPED" {
		t.Errorf("after a day: %+v", i)
	}
	power, _ := provider.As[provider.Powerer](s)
	if err := power.Power(t.Context(), ref, i, provider.PowerOn, ""); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(minute)
	if i = found(t, s, ref); i.State != provider.Running {
		t.Errorf("after a start: %+v", i)
	}
}

// TestPreservedDisk: a disk that the spec does not delete with the instance is the user's.
func TestPreservedDisk(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, patched(t, w.class("c1"), `{"bootDiskSpec":{"autoDelete":null}}`))
	i := w.created(t, s, ref)
	if err := w.deleted(t.Context(), s, ref, i); err != nil {
		t.Fatal(err)
	}
	if left := w.Orphans(); len(left) != 1 || len(w.Instances()) != 0 {
		t.Errorf("left are %v and %v", left, w.Instances())
	}
}

// TestSimulatorRecordsDeletions: requests name their instances, which the record of lives reads.
func TestSimulatorRecordsDeletions(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	w.server.Remember()
	s := w.open(t, w.class("c1"))
	i := w.created(t, s, ref)
	if err := w.deleted(t.Context(), s, ref, i); err != nil {
		t.Fatal(err)
	}
	if lives := w.server.Lives(); len(lives) != 1 || lives[0].Ending.IsZero() || lives[0].Account != yandex.SampleFolder {
		t.Errorf("lives: %+v", lives)
	}
}

// TestThrottling: the answer names the delay.
func TestThrottling(t *testing.T) {
	w := newWorld(t)
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Throttled", After: 7 * time.Second}, Operation: "Instance.List", Times: 1})
	_, err := w.open(t, w.class("c1")).Find(t.Context(), refOf("worker-1"))
	if provider.KindOf(err) != provider.Throttled || provider.AfterOf(err) != 7*time.Second {
		t.Errorf("%s after %v: %v", provider.KindOf(err), provider.AfterOf(err), err)
	}
}
