package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// usual is the election of most tests, which begin at epoch.
var usual = Election{Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// leaseRig is a lock on a lease that an API server in memory has.
type leaseRig struct {
	*lease
	t      *testing.T
	clk    *testclock.FakeClock
	server *fake.Clientset
	// before is called with every request, and may refuse it.
	before   func(verb string) error
	requests []string
}

func newLeaseRig(t *testing.T, holder string) *leaseRig {
	t.Helper()
	clk := testclock.NewFakeClock(epoch)
	l, err := newLease(&rest.Config{}, "ns", "l", usual, usual.term(clk))
	if err != nil {
		t.Fatal(err)
	}
	r := &leaseRig{lease: l, t: t, clk: clk, server: fake.NewClientset(), before: func(string) error { return nil }}
	if holder != "" {
		r.server = fake.NewClientset(leaseOf(holder, "1"))
	}
	r.server.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r.requests = append(r.requests, a.GetVerb())
		err := r.before(a.GetVerb())
		return err != nil, nil, err
	})
	r.client = r.server.CoordinationV1().Leases("ns")
	return r
}

func leaseOf(holder, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l", UID: "u", ResourceVersion: version},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To(int32(15))},
	}
}

func (r *leaseRig) ours() resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: r.identity, LeaseDurationSeconds: 15}
}

// lead makes the rig the leader.
func (r *leaseRig) lead() {
	r.t.Helper()
	if err := r.Create(r.t.Context(), r.ours()); err != nil {
		r.t.Fatal(err)
	}
	r.requests = nil
}

// holdsNow makes another the holder, past the lock.
func (r *leaseRig) holdsNow(other string) {
	r.t.Helper()
	if err := r.server.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), leaseOf(other, "9"), "ns"); err != nil {
		r.t.Fatal(err)
	}
}

// TestIdentity: neither the host's name nor the process's number alone tells two
// processes apart (C11).
func TestIdentity(t *testing.T) {
	a, b := newLeaseRig(t, ""), newLeaseRig(t, "")
	if a.Identity() == "" || a.Identity() == b.Identity() {
		t.Errorf("two locks in one process: %q and %q", a.Identity(), b.Identity())
	}
}

// TestRenewalCountsFromSending: others see it later, never sooner.
func TestRenewalCountsFromSending(t *testing.T) {
	r := newLeaseRig(t, "")
	endsAt := func(want time.Time) {
		t.Helper()
		now := r.clk.Now()
		for _, at := range []time.Time{want.Add(-1), want} {
			r.clk.SetTime(at)
			if err := r.term.Err(); (err != nil) != at.Equal(want) {
				t.Errorf("at %v: %v, want an end at %v", at, err, want)
			}
		}
		r.clk.SetTime(now)
	}
	r.before = func(string) error { r.clk.Step(4 * time.Second); return nil }
	if err := r.Create(t.Context(), r.ours()); err != nil {
		t.Fatal(err)
	}
	endsAt(epoch.Add(usual.RenewDeadline))
	if err := r.Update(t.Context(), r.ours()); err != nil {
		t.Fatal(err)
	}
	endsAt(epoch.Add(4*time.Second + usual.RenewDeadline))
}

// TestOnlyConfirmedRenewalsCount: a missing answer may mean that the request was lost.
func TestOnlyConfirmedRenewalsCount(t *testing.T) {
	r := newLeaseRig(t, "")
	r.lead()
	r.before = func(string) error { return errors.New("connection reset") }
	for range 40 { // 10 s of leader election
		r.clk.Step(leasePoll)
		_ = r.Update(t.Context(), r.ours())
	}
	if err := r.term.Err(); !errors.Is(err, leading.ErrExpiring) {
		t.Errorf("10 s without an answer: %v", err)
	}
	if n := len(r.requests); n < 4 || n > 6 {
		t.Errorf("%d attempts in 10 s, want one every 2 s", n)
	}
}

// TestRenewalsArePaced: leader election looks often, the API server is asked once
// in a retry period.
func TestRenewalsArePaced(t *testing.T) {
	r := newLeaseRig(t, "")
	r.lead()
	for range 80 { // 20 s
		r.clk.Step(leasePoll)
		if err := r.Update(t.Context(), r.ours()); err != nil {
			t.Fatal(err)
		}
		if err := r.term.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.requests); n != 10 {
		t.Errorf("%d renewals in 20 s, want 10", n)
	}
}

// TestReleaseEndsTheTermFirst: once it is sent, another may lead.
func TestReleaseEndsTheTermFirst(t *testing.T) {
	r := newLeaseRig(t, "")
	r.lead()
	var during error
	r.before = func(string) error { during = r.term.Err(); return errors.New("no answer") }
	if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}); err == nil || len(r.requests) != 1 {
		t.Errorf("%v, requests %v: a release is not to wait", err, r.requests)
	}
	if !errors.Is(during, leading.ErrNotLeading) || !errors.Is(r.term.Err(), leading.ErrNotLeading) {
		t.Errorf("while it is sent: %v; after it: %v", during, r.term.Err())
	}
}

// TestReleaseAfterRenewalCutShort: a process that is asked to stop while it renews does not know whether the
// renewal succeeded, and still releases the lease. It never releases another's.
func TestReleaseAfterRenewalCutShort(t *testing.T) {
	for _, tt := range []struct {
		name      string
		holder    string
		watched   bool
		conflicts int
		want      string
		requests  []string
		conflict  bool
	}{
		{name: "not done", want: "", requests: []string{"update", "get", "get", "update"}},
		{name: "watched", watched: true, want: "", requests: []string{"update", "get", "get", "update"}},
		{name: "done after it was read", conflicts: 1, want: "", requests: []string{"update", "get", "get", "update", "get", "update"}},
		{name: "lost to another", holder: "other", conflicts: 1, want: "other", requests: []string{"update", "get", "get", "update", "get"}, conflict: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newLeaseRig(t, "")
			r.lead()
			if tt.watched {
				r.saw(r.known, false, nil)
			}
			r.clk.Step(usual.RetryPeriod)
			ctx, stop := context.WithCancel(t.Context())
			r.before = func(string) error { stop(); return ctx.Err() }
			if err := r.Update(ctx, r.ours()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if _, _, err := r.Get(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			r.before = func(verb string) error {
				if verb != "update" || tt.conflicts == 0 {
					return nil
				}
				tt.conflicts--
				if tt.holder != "" {
					r.holdsNow(tt.holder)
				}
				return apierrors.NewConflict(coordinationv1.Resource("leases"), "l", errors.New("changed"))
			}
			if _, _, err := r.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}); apierrors.IsConflict(err) != tt.conflict {
				t.Error(err)
			}
			if !slices.Equal(r.requests, tt.requests) {
				t.Errorf("requests %v, want %v", r.requests, tt.requests)
			}
			if rec, _, err := r.Get(t.Context()); err != nil || rec.HolderIdentity != tt.want {
				t.Errorf("held by %v, %v, want %q", rec, err, tt.want)
			}
		})
	}
}

// TestStandbyReadsSeldom: once in a retry period, or not at all where it watches.
func TestStandbyReadsSeldom(t *testing.T) {
	r := newLeaseRig(t, "other")
	for range 80 {
		r.clk.Step(leasePoll)
		if rec, _, err := r.Get(t.Context()); err != nil || rec.HolderIdentity != "other" {
			t.Fatal(rec, err)
		}
	}
	if n := len(r.requests); n != 10 {
		t.Errorf("%d reads in 20 s, want 10", n)
	}
	r.saw(leaseOf("", "7"), false, nil)
	r.requests = nil
	r.clk.Step(time.Minute)
	if rec, _, err := r.Get(t.Context()); err != nil || rec.HolderIdentity != "" || len(r.requests) != 0 {
		t.Errorf("watched: %v, %v, requests %v", rec, err, r.requests)
	}
	r.saw(leaseOf("older", "3"), false, nil)
	if rec, _, _ := r.Get(t.Context()); rec.HolderIdentity != "" {
		t.Errorf("an older lease came later: held by %q", rec.HolderIdentity)
	}
	r.saw(leaseOf("", "8"), true, nil)
	if _, _, err := r.Get(t.Context()); err != nil || len(r.requests) != 1 {
		t.Errorf("a lease that is gone is asked for: %v, requests %v", err, r.requests)
	}
}

// TestLeaseThatWentBack: an API server whose store was restored shows a lease that
// is older than what is known. It is the one that there is.
func TestLeaseThatWentBack(t *testing.T) {
	r := newLeaseRig(t, "")
	r.saw(leaseOf("newer", "9"), false, nil)
	if err := r.server.Tracker().Add(leaseOf("restored", "3")); err != nil {
		t.Fatal(err)
	}
	shows := watch.NewFake()
	r.server.PrependWatchReactor("leases", clienttesting.DefaultWatchReactor(shows, nil))
	r.watcher = r.server.CoordinationV1().Leases("ns")
	over := make(chan error)
	go func() { over <- r.watch(t.Context()) }()
	shows.Add(leaseOf("restored", "3"))
	shows.Modify(leaseOf("late", "2"))
	shows.Stop()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if rec, _, err := r.Get(t.Context()); err != nil || rec.HolderIdentity != "restored" {
		t.Errorf("held by %v, %v: want what the watch began with", rec, err)
	}
}

// TestConflictIsReadAgain: what was known was wrong, watched or not.
func TestConflictIsReadAgain(t *testing.T) {
	r := newLeaseRig(t, "other")
	r.saw(leaseOf("gone", "1"), false, nil)
	r.tell()
	r.before = func(verb string) error {
		if verb == "update" {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), "l", errors.New("changed"))
		}
		return nil
	}
	if err := r.Update(t.Context(), r.ours()); !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	if err := r.term.Err(); !errors.Is(err, leading.ErrNotLeading) {
		t.Errorf("who lost the race leads: %v", err)
	}
	if rec, _, err := r.Get(t.Context()); err != nil || rec.HolderIdentity != "other" {
		t.Errorf("%v, %v: want what is there", rec, err)
	}
}

// TestWatch follows the lease through the server.
func TestWatch(t *testing.T) {
	r := newLeaseRig(t, "other")
	r.watcher = r.server.CoordinationV1().Leases("ns")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = r.watch(ctx) }() // a watch of the fake server does not end with its context
	deadline := time.Now().Add(10 * time.Second)
	for holder := ""; holder != "third"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the watch shows %q", holder)
		}
		if _, err := r.server.CoordinationV1().Leases("ns").Update(t.Context(), leaseOf("third", "9"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		r.mu.Lock()
		if r.known != nil && r.watched {
			holder = *r.known.Spec.HolderIdentity
		}
		r.mu.Unlock()
	}
}

// TestNoLeaseIsTakenThatElectionHasNotSeen: leader election renews, takes or releases the lease that it
// knows. If the watch knows of a newer one by then, another process leads: a process that was stopped for
// longer than its lease would take it back from its successor, which would take it back again, and both would
// lead.
func TestNoLeaseIsTakenThatElectionHasNotSeen(t *testing.T) {
	giveUp := func(*leaseRig) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}
	}
	for _, c := range []struct {
		reason string
		record func(*leaseRig) resourcelock.LeaderElectionRecord
		known  func(*leaseRig)
		sent   bool
	}{
		{"it is ours", (*leaseRig).ours, func(*leaseRig) {}, true},
		{"the watch shows what we wrote", (*leaseRig).ours, func(r *leaseRig) { r.saw(leaseOf(r.identity, "2"), false, nil) }, true},
		{"the watch shows another's", (*leaseRig).ours, func(r *leaseRig) { r.saw(leaseOf("other", "9"), false, nil) }, false},
		{"the watch shows one that was given up", (*leaseRig).ours, func(r *leaseRig) { r.saw(leaseOf("", "9"), false, nil) }, false},
		{"election was told of another's, which has expired", (*leaseRig).ours, func(r *leaseRig) { r.saw(leaseOf("other", "9"), false, nil); r.tell() }, true},
		{"it has expired, and the watch begins anew with it", (*leaseRig).ours, func(r *leaseRig) {
			r.saw(leaseOf("other", "9"), false, nil)
			r.tell()
			r.saw(leaseOf("other", "9"), false, nil)
		}, true},
		{"it was renewed just now, after all", (*leaseRig).ours, func(r *leaseRig) {
			r.saw(leaseOf("other", "9"), false, nil)
			r.tell()
			r.saw(leaseOf("other", "10"), false, nil)
		}, false},
		{"ours is given up", giveUp, func(*leaseRig) {}, true},
		{"another's is not given up", giveUp, func(r *leaseRig) { r.saw(leaseOf("other", "9"), false, nil); r.tell() }, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := newLeaseRig(t, "")
			r.lead()
			r.clk.Step(9 * time.Second)
			c.known(r)
			err := r.Update(t.Context(), c.record(r))
			if sent := slices.Contains(r.requests, "update"); sent != c.sent || apierrors.IsConflict(err) == c.sent {
				t.Errorf("%v, requests %v, want one sent: %v", err, r.requests, c.sent)
			}
			r.clk.Step(2 * time.Second)
			if err := r.term.Err(); !c.sent && err == nil {
				t.Error("it leads 11 s after its last renewal")
			}
		})
	}
}

// tell tells leader election what is known.
func (r *leaseRig) tell() {
	r.t.Helper()
	if _, _, err := r.Get(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// TestConflictIsNoRenewal: a process that comes back finds that its lease was changed,
// and then reads in the watch's backlog that it was its own.
func TestConflictIsNoRenewal(t *testing.T) {
	r := newLeaseRig(t, "")
	r.lead()
	r.clk.Step(9 * time.Second)
	r.before = func(verb string) error {
		if verb == "update" {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), "l", errors.New("changed"))
		}
		return nil
	}
	if err := r.Update(t.Context(), r.ours()); !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	r.saw(leaseOf(r.identity, "2"), false, nil)
	r.clk.Step(leasePoll)
	r.tell()
	if err := r.Update(t.Context(), r.ours()); err == nil {
		t.Error("leader election takes the lease for renewed")
	}
}
