package leading

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	usual = election{15 * time.Second, 10 * time.Second}
)

// election is what a term follows from.
type election struct{ duration, renewDeadline time.Duration }

func (e election) term(clk clock.WithTicker) *Term { return NewTerm(e.duration, e.renewDeadline, clk) }

func TestTermErr(t *testing.T) {
	odd := election{2900 * time.Millisecond, 2500 * time.Millisecond}
	for _, c := range []struct {
		reason   string
		election election
		do       func(*Term, *testclock.FakeClock)
		want     error
	}{
		{"a standby changes nothing", usual, func(*Term, *testclock.FakeClock) {}, ErrNotLeading},
		{"a leader does", usual, func(t *Term, c *testclock.FakeClock) { t.Renewed(c.Now()) }, nil},
		{"until the renew deadline", usual, func(t *Term, c *testclock.FakeClock) { t.Renewed(c.Now()); c.Step(10*time.Second - 1) }, nil},
		{"and no longer", usual, func(t *Term, c *testclock.FakeClock) { t.Renewed(c.Now()); c.Step(10 * time.Second) }, ErrExpiring},
		{"a renewal counts from when it was sent", usual, func(t *Term, c *testclock.FakeClock) { t.Renewed(c.Now().Add(-11 * time.Second)) }, ErrExpiring},
		{"renewed in time", usual, func(t *Term, c *testclock.FakeClock) {
			t.Renewed(c.Now())
			c.Step(9 * time.Second)
			t.Renewed(c.Now())
			c.Step(9 * time.Second)
		}, nil},
		{"given up", usual, func(t *Term, c *testclock.FakeClock) { t.Renewed(c.Now()); t.Ended() }, ErrNotLeading},
		{"others count whole seconds of the lease", odd, func(t *Term, c *testclock.FakeClock) { t.Renewed(c.Now()); c.Step(2 * time.Second) }, ErrExpiring},
		{"without an election there is nobody else", election{}, func(t *Term, c *testclock.FakeClock) { c.Step(time.Hour) }, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			clk := testclock.NewFakeClock(epoch)
			term := c.election.term(clk)
			c.do(term, clk)
			if err := term.Err(); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s: %v, want %v", c.reason, err, c.want)
			}
		})
	}
}

// set is a reading of the clocks of which only the one on the wall differs, after a
// suspension or by a person's hand. Nothing in package time makes one: the seconds are
// above 30 bits of nanoseconds.
func set(t time.Time, seconds int64) time.Time {
	*(*int64)(unsafe.Pointer(&t)) += seconds << 30
	return t
}

// TestTermOfASuspendedProcess: others take the lease while a machine sleeps, and
// its monotonic clock may have slept as well.
func TestTermOfASuspendedProcess(t *testing.T) {
	before := time.Now()
	after := set(before, 3600)
	if after.Sub(before) != 0 || after.Round(0).Sub(before.Round(0)) != time.Hour {
		t.Fatalf("the clocks show %v and %v, want no difference and an hour", after.Sub(before), after.Round(0).Sub(before.Round(0)))
	}
	clk := testclock.NewFakeClock(before)
	term := usual.term(clk)
	term.Renewed(before)
	if err := term.Err(); err != nil {
		t.Errorf("just renewed: %v", err)
	}
	clk.SetTime(after)
	if err := term.Err(); !errors.Is(err, ErrExpiring) {
		t.Errorf("an hour later: %v, want %v", err, ErrExpiring)
	}
}

// TestTermOutlivesNoSetClock: a wall clock that is set back makes no lease longer.
func TestTermOutlivesNoSetClock(t *testing.T) {
	before := time.Now()
	clk := testclock.NewFakeClock(before)
	term := usual.term(clk)
	term.Renewed(before)
	clk.SetTime(set(before.Add(usual.renewDeadline), -3600))
	if err := term.Err(); !errors.Is(err, ErrExpiring) {
		t.Errorf("after the renew deadline: %v, want %v", err, ErrExpiring)
	}
}

// TestNeverBeyondTheLease: whenever renewals come, and whatever their replies
// take, nothing begins or goes on when others may have taken the lease.
func TestNeverBeyondTheLease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clk := testclock.NewFakeClock(epoch)
		term := usual.term(clk)
		var sent time.Time
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			step := time.Duration(rapid.IntRange(0, 20000).Draw(t, "ms")) * time.Millisecond
			if rapid.Bool().Draw(t, "renews") {
				sent = clk.Now()
				clk.Step(step)
				term.Renewed(sent)
			} else {
				clk.Step(step)
			}
			expired := sent.IsZero() || clk.Since(sent) >= usual.duration
			if expired && (term.Err() == nil || term.left() > 0) {
				t.Fatalf("%v after the last renewal: %v, left %v", clk.Since(sent), term.Err(), term.left())
			}
		}
	})
}

// ended waits for a context to end, and says why.
func ended(ctx context.Context, t *testing.T) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on")
		return nil
	}
}

// waiting steps the clock once a goroutine waits for it.
func waiting(t *testing.T, clk *testclock.FakeClock, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !clk.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody waits for the clock")
		}
	}
	clk.Step(d)
}

// TestEnterIsBounded: a call that takes too long ends before the lease does, and
// goes on for as long as that is renewed.
func TestEnterIsBounded(t *testing.T) {
	clk := testclock.NewFakeClock(epoch)
	term := usual.term(clk)
	if _, _, err := term.Enter(t.Context()); !errors.Is(err, ErrNotLeading) {
		t.Fatalf("a standby enters: %v", err)
	}
	term.Renewed(clk.Now())
	inner, leave, err := term.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	for range 5 {
		waiting(t, clk, 9*time.Second)
		term.Renewed(clk.Now())
	}
	if inner.Err() != nil {
		t.Fatal("ended although the lease was renewed:", context.Cause(inner))
	}
	waiting(t, clk, 14*time.Second)
	for inner.Err() == nil && clk.HasWaiters() { // it may look once more
		clk.Step(0)
		time.Sleep(time.Millisecond)
	}
	if err := ended(inner, t); !errors.Is(err, ErrExpiring) {
		t.Errorf("ended by %v", err)
	}
}

// TestEnterOutlivesItsCaller: a process that is asked to stop still reads the answers of its requests for a
// while.
func TestEnterOutlivesItsCaller(t *testing.T) {
	clk := testclock.NewFakeClock(epoch)
	term := election{}.term(clk)
	outer, stop := context.WithCancel(t.Context())
	inner, leave, err := term.Enter(outer)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, _, err := term.Enter(outer); !errors.Is(err, context.Canceled) {
		t.Errorf("something new begins: %v", err)
	}
	// The first timer is that of an hour; then comes that of the grace.
	for end := time.Now().Add(10 * time.Second); inner.Err() == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if clk.Since(epoch) >= finishGrace {
			break
		}
		clk.Step(finishGrace / 16)
		if clk.Since(epoch) < finishGrace && inner.Err() != nil {
			t.Fatalf("ended after %v by %v", clk.Since(epoch), context.Cause(inner))
		}
	}
	go func() {
		for inner.Err() == nil {
			clk.Step(time.Second)
			time.Sleep(time.Millisecond)
		}
	}()
	if err := ended(inner, t); !errors.Is(err, errStopping) {
		t.Errorf("ended by %v", err)
	}
	leave()
	term.Idle()
}

// TestIdle: the process ends when the last change has.
func TestIdle(t *testing.T) {
	term := election{}.term(testclock.NewFakeClock(epoch))
	term.Idle()
	_, leaveOne, _ := term.Enter(t.Context())
	_, leaveOther, _ := term.Enter(t.Context())
	idle := make(chan struct{})
	go func() { term.Idle(); close(idle) }()
	leaveOne()
	select {
	case <-idle:
		t.Fatal("idle while a change is under way")
	case <-time.After(50 * time.Millisecond):
	}
	leaveOther()
	select {
	case <-idle:
	case <-time.After(10 * time.Second):
		t.Fatal("never idle")
	}
}

// TestGuardedWrites: whatever a client can write is refused without the lease;
// reads are not.
func TestGuardedWrites(t *testing.T) {
	clk := testclock.NewFakeClock(epoch)
	term := usual.term(clk)
	pod := func() *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}} }
	c := term.Guarded(fake.NewClientBuilder().WithObjects(pod()).Build())
	ctx := t.Context()
	writes := map[string]func() error{
		"create": func() error {
			return c.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}})
		},
		"update": func() error {
			p := pod()
			if err := c.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			p.Labels = map[string]string{"a": "b"}
			return c.Update(ctx, p)
		},
		"patch": func() error {
			return c.Patch(ctx, pod(), client.RawPatch("application/merge-patch+json", []byte(`{}`)))
		},
		"status": func() error {
			return c.Status().Patch(ctx, pod(), client.RawPatch("application/merge-patch+json", []byte(`{}`)))
		},
		"status update": func() error {
			p := pod()
			if err := c.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			return c.Status().Update(ctx, p)
		},
		"binding": func() error {
			return c.SubResource("status").Patch(ctx, pod(), client.RawPatch("application/merge-patch+json", []byte(`{}`)))
		},
	}
	for name, write := range writes {
		if err := write(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("%s without the lease: %v", name, err)
		}
		term.Renewed(clk.Now())
		if err := write(); err != nil {
			t.Errorf("%s with the lease: %v", name, err)
		}
		term.Ended()
	}
	for name, write := range map[string]func() error{
		"delete":     func() error { return c.Delete(ctx, pod()) },
		"delete all": func() error { return c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("ns")) },
		"apply":      func() error { return c.Apply(ctx, nil) },
		"eviction":   func() error { return c.SubResource("eviction").Create(ctx, pod(), pod()) },
		"part apply": func() error { return c.Status().Apply(ctx, nil) },
	} {
		if err := write(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("%s without the lease: %v", name, err)
		}
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(pod()), pod()); err != nil {
		t.Errorf("a standby cannot read: %v", err)
	}
}

// TestFinishing: a pass in progress when the process is asked to stop is not cancelled.
func TestFinishing(t *testing.T) {
	outer, stop := context.WithCancel(t.Context())
	var seen error
	r := Finishing(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		stop()
		time.Sleep(20 * time.Millisecond) // the end of outer gets the time to arrive
		seen = ctx.Err()
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}))
	res, err := r.Reconcile(outer, reconcile.Request{})
	if err != nil || seen != nil || res.RequeueAfter != time.Second {
		t.Errorf("%v, %v; the pass saw %v", res, err, seen)
	}
}
