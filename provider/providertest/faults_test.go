package providertest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// rig is the reference provider with faults.
type rig struct {
	clock  *clocktesting.FakeClock
	cloud  *providertest.Cloud
	faults *providertest.Faults
	class  provider.Class
	provider.Session
}

func newRig(t *testing.T, chances ...providertest.Chance) *rig {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := &rig{clock: clk, cloud: providertest.NewCloud(clk)}
	r.faults = providertest.NewFaults(clk, rand.New(rand.NewPCG(1, 2)), chances...)
	r.class = r.cloud.Class(provider.OpenShift, "c")
	var err error
	if r.Session, err = r.faults.Wrap(r.cloud.Provider()).Open(t.Context(), r.class); err != nil {
		t.Fatal(err)
	}
	return r
}

var machine = provider.Ref{UID: "u", Namespace: "ns", Name: "m"}

func (r *rig) inject(t *testing.T, v providertest.Verb, f providertest.Fault) {
	t.Helper()
	if err := r.faults.Inject(v, f); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) instances(t *testing.T) int {
	t.Helper()
	n, _, err := r.cloud.Count(r.class)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFaultyConforms: with its own faults in place of the simulator's, the reference provider still passes,
// so the faults are those that the suite expects.
func TestFaultyConforms(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Harness {
		var faults *providertest.Faults
		h := harness(func(p provider.Provider) provider.Provider { return faults.Wrap(p) })
		faults = providertest.NewFaults(realTimeless{}, nil)
		h.Inject, h.Lag = faults.Inject, nil
		return h
	})
}

// realTimeless is a clock for faults that take no time.
type realTimeless struct{ *clocktesting.FakeClock }

func (realTimeless) Now() time.Time { return time.Time{} }

func TestFaultsBeforeAndAfterTheCall(t *testing.T) {
	cases := []struct {
		reason string
		fault  providertest.Fault
		want   int
	}{
		{"an error before the call buys nothing", providertest.Fault{Kind: provider.Transient}, 0},
		{"a lost reply has bought", providertest.Fault{Kind: provider.Transient, Done: true}, 1},
		{"denied buys nothing", providertest.Fault{Kind: provider.Denied}, 0},
		{"throttled buys nothing", providertest.Fault{Kind: provider.Throttled, After: time.Second}, 0},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			r := newRig(t)
			r.inject(t, providertest.Create, c.fault)
			i, err := r.Create(t.Context(), machine, provider.Want{})
			if k := provider.KindOf(err); k != c.fault.Kind || provider.AfterOf(err) != c.fault.After || i.ID != "" {
				t.Errorf("got %q, after %v, instance %q", k, provider.AfterOf(err), i.ID)
			}
			if n := r.instances(t); n != c.want {
				t.Errorf("%d instances, want %d", n, c.want)
			}
			if _, err := r.Create(t.Context(), machine, provider.Want{}); err != nil {
				t.Errorf("the fault comes twice: %v", err)
			}
		})
	}
}

func TestSlowWaitsForTheClockOrTheCaller(t *testing.T) {
	r := newRig(t)
	r.inject(t, providertest.Find, providertest.Fault{Slow: time.Minute})
	reply := make(chan error, 1)
	go func() { _, err := r.Find(context.Background(), machine); reply <- err }()
	for !r.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	r.clock.Step(time.Minute)
	if err := <-reply; err != nil {
		t.Error(err)
	}
	r.inject(t, providertest.Find, providertest.Fault{Slow: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Find(ctx, machine); err == nil {
		t.Error("a cancelled caller is answered")
	}
}

func TestLagHidesAndShows(t *testing.T) {
	r := newRig(t)
	const lag = 10 * time.Second
	if err := r.faults.Lag(lag); err != nil {
		t.Fatal(err)
	}
	if r.Traits().ReadLag != lag {
		t.Error("the session does not say that it lags")
	}
	i, err := r.Create(t.Context(), machine, provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	r.sees(t, "just made", 0)
	r.clock.Step(lag)
	r.sees(t, "after the lag", 1)
	if _, err := r.Delete(t.Context(), machine, []provider.Instance{i}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(lag - time.Second)
	r.sees(t, "just removed", 1)
	if n := r.instances(t); n != 0 {
		t.Errorf("%d instances, want none", n)
	}
	r.clock.Step(time.Second)
	r.sees(t, "after the lag of the removal", 0)
}

// sees checks that Find and List show n existing instances.
func (r *rig) sees(t *testing.T, when string, n int) {
	t.Helper()
	found, err := r.Find(t.Context(), machine)
	if err != nil {
		t.Fatal(err)
	}
	var all []provider.Instance
	for i, err := range r.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
	}
	if f, l := len(provider.Existing(found)), len(provider.Existing(all)); f != n || l != n {
		t.Errorf("%s: find shows %d, list %d, want %d", when, f, l, n)
	}
}

func TestDuplicateIsSeenAndRemoved(t *testing.T) {
	r := newRig(t)
	r.inject(t, providertest.Create, providertest.Fault{Duplicate: true})
	if _, err := r.Create(t.Context(), machine, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	r.sees(t, "after a doubled create", 2)
	found, err := r.Find(t.Context(), machine)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range found {
		if i.UID != machine.UID {
			t.Errorf("%s carries the UID %q", i.ID, i.UID)
		}
	}
	for range 5 {
		if _, err := r.Delete(t.Context(), machine, found); err != nil {
			t.Fatal(err)
		}
		r.clock.Step(time.Second)
	}
	if n := r.instances(t); n != 0 {
		t.Errorf("%d instances are left", n)
	}
}

// One of the two is deleted alone, with its dependants, whichever it is.
func TestDuplicateIsRemovedAlone(t *testing.T) {
	for which := range 2 {
		r := newRig(t)
		r.inject(t, providertest.Create, providertest.Fault{Duplicate: true})
		if _, err := r.Create(t.Context(), machine, provider.Want{}); err != nil {
			t.Fatal(err)
		}
		found, err := r.Find(t.Context(), machine)
		if err != nil || len(found) != 2 {
			t.Fatalf("%d instances, %v", len(found), err)
		}
		for range 5 {
			if _, err := r.Delete(t.Context(), provider.Ref{}, found[which:which+1]); err != nil {
				t.Fatal(err)
			}
			r.clock.Step(time.Second)
		}
		left, disks, err := r.cloud.Count(r.class)
		if err != nil || left != 1 || disks != 1 {
			t.Errorf("%d instances and %d disks are left of two, %v", left, disks, err)
		}
	}
}

func TestPartialListingEndsWithAnError(t *testing.T) {
	r := newRig(t)
	for n := range 5 {
		ref := provider.Ref{UID: fmt.Sprint(n), Name: fmt.Sprint(n)}
		if _, err := r.Create(t.Context(), ref, provider.Want{}); err != nil {
			t.Fatal(err)
		}
	}
	r.inject(t, providertest.List, providertest.Fault{Kind: provider.Transient, Partial: 3})
	shown, failed := 0, 0
	for _, err := range r.List(t.Context()) {
		if err != nil {
			failed++
			continue
		}
		shown++
	}
	if shown != 3 || failed != 1 {
		t.Errorf("%d instances and %d errors, want 3 and 1", shown, failed)
	}
}

func TestCapabilitiesFailToo(t *testing.T) {
	r := newRig(t)
	i, err := r.Create(t.Context(), machine, provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	power, ok := provider.As[provider.Powerer](r.Session)
	if !ok {
		t.Fatal("the Powerer is lost")
	}
	r.inject(t, providertest.Power, providertest.Fault{Kind: provider.Conflict})
	if err := power.Power(t.Context(), machine, i, provider.PowerOff, ""); provider.KindOf(err) != provider.Conflict {
		t.Errorf("got %v", err)
	}
	if _, ok := provider.As[provider.SpecReader](r.Session); ok {
		t.Error("a SpecReader appears where there is none")
	}
}

// TestSeedDecides: the same seed gives the same faults, and chances end.
func TestSeedDecides(t *testing.T) {
	story := func() (s string) {
		r := newRig(t,
			providertest.Chance{Verb: providertest.Find, P: 0.3, Fault: providertest.Fault{Kind: provider.Throttled}},
			providertest.Chance{Verb: providertest.Find, P: 0.3, Fault: providertest.Fault{Kind: provider.Denied}})
		for range 40 {
			_, err := r.Find(t.Context(), machine)
			s += string(provider.KindOf(err)) + " "
		}
		if n := r.faults.Fired(); n == 0 || n == 40 {
			t.Errorf("%d of 40 calls fail at about 50 %%", n)
		}
		r.faults.Stop()
		if _, err := r.Find(t.Context(), machine); err != nil {
			t.Errorf("after the end of chances: %v", err)
		}
		return s
	}
	if a, b := story(), story(); a != b {
		t.Errorf("one seed, two stories:\n%s\n%s", a, b)
	}
}
