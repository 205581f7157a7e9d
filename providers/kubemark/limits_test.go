package kubemark_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// shop is a session with a spec on a cloud in memory.
func shop(t *testing.T, spec string) (cloud, provider.Session) {
	t.Helper()
	c := inMemory(t)
	return c, open(t, c.start(), spec)
}

func machine(n int) provider.Ref {
	return provider.Ref{UID: fmt.Sprintf("uid-%d", n), Name: fmt.Sprintf("m-%d", n)}
}

func TestCreateFailureRate(t *testing.T) {
	const tries = 400
	outcome := func() (failures int, trace string) {
		_, s := shop(t, `{"createFailureRate":0.3}`)
		for n := range tries {
			_, err := s.Create(t.Context(), machine(n), provider.Want{})
			if err == nil {
				trace += "."
				continue
			}
			if provider.KindOf(err) != provider.Transient {
				t.Fatal(err)
			}
			failures++
			trace += "x"
		}
		return failures, trace
	}
	failures, trace := outcome()
	// 400 tries at 0.3: 120 expected, a standard deviation of 9.
	if failures < 80 || failures > 160 {
		t.Errorf("%d of %d creates failed", failures, tries)
	}
	if _, again := outcome(); again != trace {
		t.Error("a second run differs from the first")
	}
}

// TestFault: an instance that was accepted and then failed reports why, and is deleted with its dependants.
func TestFault(t *testing.T) {
	c, s := shop(t, `{"createLatency":"5s","fault":"Exhausted"}`)
	i, err := s.Create(t.Context(), machine(1), provider.Want{})
	if err != nil || i.State != provider.Pending || i.Fault != nil {
		t.Fatalf("accepted: %s, fault %v, error %v", i.State, i.Fault, err)
	}
	c.clock.Step(5 * time.Second)
	found, err := s.Find(t.Context(), machine(1))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if i = found[0]; i.State != provider.Stopped || i.RawState != "error" || i.Fault == nil || i.Fault.Kind != provider.Exhausted {
		t.Errorf("given up: %s, %q, fault %v", i.State, i.RawState, i.Fault)
	}
	if done, err := s.Delete(t.Context(), machine(1), found); err != nil || !done {
		t.Errorf("removed: %t, %v", done, err)
	}
}

// TestFailureRatesPass: a call that failed by chance succeeds when it is repeated, and leaves nothing behind.
func TestFailureRatesPass(t *testing.T) {
	c, s := shop(t, `{"createFailureRate":0.5,"deleteFailureRate":0.5}`)
	for n := range 20 {
		eventually(t, "create passes", func() (bool, error) {
			_, err := s.Create(t.Context(), machine(n), provider.Want{})
			return err == nil, err
		})
		deleteNow(t, s, machine(n))
	}
	if n, err := c.start().Console().Dependants("box"); err != nil || n != 0 {
		t.Errorf("%d dependants are left, error %v", n, err)
	}
}

func TestFailureLeavesHalf(t *testing.T) {
	c, s := shop(t, `{"createFailureRate":1}`)
	if _, err := s.Create(t.Context(), machine(1), provider.Want{}); err == nil {
		t.Fatal("a create passes at a failure rate of 1")
	}
	if n, err := c.start().Console().Dependants("box"); err != nil || n != 1 {
		t.Errorf("%d dependants after a create that failed half way, want 1, error %v", n, err)
	}
	deleteNow(t, s, machine(1))
	if n, err := c.start().Console().Dependants("box"); err != nil || n != 0 {
		t.Errorf("%d dependants after delete, error %v", n, err)
	}
}

func TestQuota(t *testing.T) {
	c, s := shop(t, `{"quota":2,"zone":"a"}`)
	for n := range 2 {
		if _, err := s.Create(t.Context(), machine(n), provider.Want{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(t.Context(), machine(1), provider.Want{}); err != nil {
		t.Errorf("what is there already counts against the quota: %v", err)
	}
	_, err := s.Create(t.Context(), machine(2), provider.Want{})
	if provider.KindOf(err) != provider.Exhausted {
		t.Errorf("beyond the quota: error %v", err)
	}
	if n, err := c.start().Console().Dependants("box"); err != nil || n != 4 {
		t.Errorf("%d dependants of 2 instances, error %v: a refused create leaves some", n, err)
	}
	for _, other := range []struct{ reason, spec string }{
		{"another zone has a quota of its own", `{"quota":2,"zone":"b"}`},
		{"another type has a quota of its own", `{"quota":2,"zone":"a","instanceType":"big"}`},
	} {
		if _, err := open(t, c.start(), other.spec).Create(t.Context(), machine(len(other.reason)), provider.Want{}); err != nil {
			t.Errorf("%s: %v", other.reason, err)
		}
	}
	deleteNow(t, s, machine(0))
	if _, err := s.Create(t.Context(), machine(2), provider.Want{}); err != nil {
		t.Errorf("after a delete: %v", err)
	}
}

func TestCallsPerSecond(t *testing.T) {
	c, s := shop(t, `{"callsPerSecond":2}`)
	find := func() error {
		_, err := s.Find(t.Context(), machine(1))
		return err
	}
	if err := errors.Join(find(), find()); err != nil {
		t.Fatalf("within the limit: %v", err)
	}
	err := find()
	if provider.KindOf(err) != provider.Throttled || provider.AfterOf(err) != 500*time.Millisecond {
		t.Errorf("beyond the limit of 2 per second: wait %v, error %v", provider.AfterOf(err), err)
	}
	c.clock.Step(500 * time.Millisecond)
	if err := find(); err != nil {
		t.Errorf("after waiting as asked: %v", err)
	}
}

func TestNames(t *testing.T) {
	_, s := shop(t, "{}")
	for _, c := range []struct{ reason, name string }{
		{"64 characters do not fit into a label", fmt.Sprintf("%064d", 1)},
		{"a node name is a DNS name", "Machine_1"},
	} {
		_, err := s.Create(t.Context(), provider.Ref{UID: "u", Name: c.name}, provider.Want{})
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Invalid || e.Field != "metadata.name" {
			t.Errorf("%s: error %v", c.reason, err)
		}
		if done, err := s.Delete(t.Context(), provider.Ref{UID: "u", Name: c.name}, nil); err != nil || !done {
			t.Errorf("%s: it cannot be deleted: done %t, error %v", c.reason, done, err)
		}
	}
}

// TestNodeNameTaken: a node name belongs to one machine at a time.
func TestNodeNameTaken(t *testing.T) {
	_, s := shop(t, `{"deleteLatency":"10s"}`)
	if _, err := s.Create(t.Context(), provider.Ref{UID: "old", Name: "m"}, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create(t.Context(), provider.Ref{UID: "new", Name: "m"}, provider.Want{})
	if provider.KindOf(err) != provider.Conflict {
		t.Errorf("a second machine of one name: error %v", err)
	}
}

// TestZonesAreEqual: zones are equivalent; each has its own quota; an instance in any of them matches the
// spec, and is found with a spec of other zones.
func TestZonesAreEqual(t *testing.T) {
	c, s := shop(t, `{"quota":1,"instanceType":"big","zones":["a","b","c"]}`)
	want := []provider.Choice{
		{Name: "big in a", Zone: "a", Type: "big"}, {Name: "big in b", Zone: "b", Type: "big", Equal: true}, {Name: "big in c", Zone: "c", Type: "big", Equal: true},
	}
	if all := s.Traits().Choices; !slices.Equal(all, want) {
		t.Errorf("choices %+v, want %+v", all, want)
	}
	for n, zone := range []string{"a", "b", "c"} {
		i, err := s.Create(t.Context(), machine(n), provider.Want{Choice: "big in " + zone})
		if err != nil || i.Zone != zone || i.ID != mustFind(t, s, machine(n)).ID {
			t.Errorf("an instance in zone %q, want %q; error %v", i.Zone, zone, err)
		}
		if again, err := s.Create(t.Context(), machine(n), provider.Want{Choice: "big in a"}); err != nil || again.ID != i.ID || again.Zone != zone {
			t.Errorf("asked for in another zone, it is %s in %q, error %v", again.ID, again.Zone, err)
		}
		if len(s.Differences(machine(n), i)) > 0 {
			t.Errorf("zone %s differs from the spec", zone)
		}
	}
	if _, err := s.Create(t.Context(), machine(9), provider.Want{Choice: "big in b"}); provider.KindOf(err) != provider.Exhausted {
		t.Errorf("beyond the quota of a zone: %v", err)
	}
	if _, err := s.Create(t.Context(), machine(9), provider.Want{Choice: "big in d"}); provider.KindOf(err) != provider.Invalid {
		t.Errorf("a zone that the spec does not have: %v", err)
	}
	other := open(t, c.start(), `{"zones":["x","y"]}`)
	if done, err := other.Delete(t.Context(), machine(1), nil); err != nil || !done {
		t.Errorf("removed from a spec of other zones: %t, error %v", done, err)
	}
	_, one := shop(t, `{"zones":["a"]}`)
	if choices := one.Traits().Choices; len(choices) > 0 {
		t.Errorf("of one zone there is nothing to choose, and the choices are %v", choices)
	}
}

func mustFind(t *testing.T, s provider.Session, ref provider.Ref) provider.Instance {
	t.Helper()
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d instances of %s, error %v", len(found), ref.Name, err)
	}
	return found[0]
}

func TestReadLag(t *testing.T) {
	c, s := shop(t, `{"readLag":"5s"}`)
	if _, err := s.Create(t.Context(), machine(1), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	look := func() int {
		found, err := s.Find(t.Context(), machine(1))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if n := look(); n != 0 {
		t.Errorf("%d instances seen at once", n)
	}
	c.clock.Step(5 * time.Second)
	if n := look(); n != 1 {
		t.Errorf("%d instances seen after the lag", n)
	}
	if s.Traits().ReadLag != 5*time.Second {
		t.Error("the session does not tell its lag")
	}
}

func TestInterruption(t *testing.T) {
	c, s := shop(t, `{"createLatency":"10s","interruptAfter":"10m","interruptNotice":"2m"}`)
	i, err := s.Create(t.Context(), machine(1), provider.Want{})
	if err != nil || !i.Interruptible {
		t.Fatalf("interruptible %t, error %v", i.Interruptible, err)
	}
	c.clock.Step(10*time.Minute + 9*time.Second)
	if found, err := s.Find(t.Context(), machine(1)); err != nil || len(found) != 1 {
		t.Errorf("a second before the interruption there are %d instances, error %v", len(found), err)
	}
	c.clock.Step(time.Second)
	if found, err := s.Find(t.Context(), machine(1)); err != nil || len(found) > 0 {
		t.Errorf("after the interruption there are %d instances, error %v", len(found), err)
	}
}

func TestHooks(t *testing.T) {
	c := inMemory(t)
	var trace []string
	hook := func(what string) func(provider.Instance) {
		return func(i provider.Instance) { trace = append(trace, what+" "+i.NodeName) }
	}
	p, err := kubemark.New(kubemark.Config{Clock: c.clock, Hooks: kubemark.Hooks{
		OnRunning: hook("running"), OnStopped: hook("stopped"), OnGone: hook("gone"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, `{"createLatency":"5s","bootLatency":"5s","deleteLatency":"5s",
		"turnUnhealthyPeriodically":true,"healthyDuration":"1m","unhealthyDuration":"10s"}`)
	i, err := s.Create(t.Context(), machine(1), provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	advance := func(d time.Duration) {
		c.clock.Step(d)
		if _, err := p.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	advance(5 * time.Second)
	next, err := p.Sync(t.Context())
	if err != nil || !next.Equal(i.Created.Add(10*time.Second)) {
		t.Errorf("next due at %v, want the end of the boot latency, error %v", next, err)
	}
	advance(5 * time.Second)
	advance(time.Minute)
	advance(10 * time.Second)
	if _, err := s.Delete(t.Context(), machine(1), nil); err != nil {
		t.Fatal(err)
	}
	advance(5 * time.Second)
	advance(time.Hour)
	got, want := fmt.Sprint(trace), "[running m-1 stopped m-1 running m-1 gone m-1]"
	if got != want {
		t.Errorf("hooks were called as %s, want %s", got, want)
	}
}

// TestChoices: each choice has its own quota, and an instance of any choice matches the spec.
func TestChoices(t *testing.T) {
	_, s := shop(t, `{"quota":1,"instanceType":"big","choices":[{"zone":"a"},{"zone":"b"},{"zone":"a","instanceType":"small"}]}`)
	all := s.Traits().Choices
	want := []provider.Choice{
		{Name: "big in a", Zone: "a", Type: "big"}, {Name: "big in b", Zone: "b", Type: "big"}, {Name: "small in a", Zone: "a", Type: "small"},
	}
	if !slices.Equal(all, want) {
		t.Fatalf("choices %+v, want %+v", all, want)
	}
	for n, choice := range all {
		i, err := s.Create(t.Context(), machine(n), provider.Want{Choice: choice.Name})
		if err != nil || i.Zone != choice.Zone || i.Type != choice.Type {
			t.Errorf("%s: an instance of type %q in zone %q, error %v", choice.Name, i.Type, i.Zone, err)
		}
		if _, err := s.Create(t.Context(), machine(100+n), provider.Want{Choice: choice.Name}); provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
			t.Errorf("beyond the quota of %s: error %v", choice.Name, err)
		}
		if d := s.Differences(machine(n), i); len(d) > 0 {
			t.Errorf("%s differs from its spec: %q", choice.Name, d)
		}
	}
	if _, err := s.Create(t.Context(), machine(9), provider.Want{}); provider.KindOf(err) != provider.Exhausted || !strings.Contains(err.Error(), `type "big" in zone "a"`) {
		t.Errorf("none is named, so it is the first: %v", err)
	}
}
