package decorate_test

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

func find(t *testing.T, s provider.Session) error {
	t.Helper()
	_, err := s.Find(t.Context(), ref("m"))
	return err
}

// spend uses calls until one is refused, and returns how many were granted.
func spend(t *testing.T, call func() error) (granted int, refusal error) {
	t.Helper()
	for granted < 10_000 {
		if err := call(); err != nil {
			return granted, err
		}
		granted++
	}
	t.Fatal("nothing is ever refused")
	return 0, nil
}

func TestLimitRefusesAtOnceAndSaysWhen(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Limit(w.provider(), w.clock, decorate.Limits{PerSecond: 10, Burst: 20}))
	granted, err := spend(t, func() error { return find(t, s) })
	// Reads leave 20 % of the burst of 20 to other calls.
	if granted != 16 {
		t.Errorf("%d reads granted, want 16", granted)
	}
	if k, after := provider.KindOf(err), provider.AfterOf(err); k != provider.Throttled || after != 100*time.Millisecond {
		t.Errorf("refused as %s after %v, want Throttled after 100ms: one token at 10 a second", k, after)
	}
	err = find(t, s)
	if after := provider.AfterOf(err); after != 200*time.Millisecond {
		t.Errorf("the second refused is told %v, want 200ms: the first is before it", after)
	}
	w.clock.Step(100 * time.Millisecond)
	if err := find(t, s); err != nil {
		t.Errorf("after the time that was said: %v", err)
	}
}

func TestDeletesGoBeforeCreatesBeforeReads(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Limit(w.provider(), w.clock, decorate.Limits{PerSecond: 10, Burst: 20}))
	spend(t, func() error { return find(t, s) })
	creates, _ := spend(t, func() error {
		_, err := s.Create(t.Context(), ref("m"), provider.Want{})
		return err
	})
	deletes, _ := spend(t, func() error {
		_, err := s.Delete(t.Context(), ref("m"), nil)
		return err
	})
	if creates != 2 || deletes != 2 {
		t.Errorf("%d creates and %d deletes granted after reads were refused, want 2 and 2: 10 %% of 20 each", creates, deletes)
	}
}

// TestWritesHaveTheirOwnRate: if the infrastructure counts reads and writes separately, neither takes the
// calls of the other, nor is slowed by its throttling.
func TestWritesHaveTheirOwnRate(t *testing.T) {
	w := newWorld()
	limits := decorate.Limits{PerSecond: 10, Burst: 20, Writes: &decorate.Limits{PerSecond: 1, Burst: 5}}
	s := open(t, w, decorate.Limit(w.provider(), w.clock, limits))
	remove := func() error {
		_, err := s.Delete(t.Context(), ref("m"), nil)
		return err
	}
	if granted, _ := spend(t, func() error { return find(t, s) }); granted != 20 {
		t.Errorf("%d reads granted, want the whole burst of 20", granted)
	}
	if granted, err := spend(t, remove); granted != 5 || provider.AfterOf(err) != time.Second {
		t.Errorf("%d deletes granted, and the next in %v; want 5 and 1s", granted, provider.AfterOf(err))
	}
	w.clock.Step(time.Minute)
	w.refuse[decorate.Delete] = provider.ThrottledFor(time.Hour, context.DeadlineExceeded)
	if err := remove(); provider.AfterOf(err) != time.Hour {
		t.Fatal(err)
	}
	if err := find(t, s); err != nil {
		t.Errorf("reads stop because writes are throttled: %v", err)
	}
}

func TestAccountsDoNotShareARate(t *testing.T) {
	w := newWorld()
	p := decorate.Limit(w.provider(), w.clock, decorate.Limits{PerSecond: 1, Burst: 1})
	class := w.cloud.Class(provider.OpenShift, "c")
	for _, region := range []string{"here", "there"} {
		class.Region = region
		s, err := p.Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		if err := find(t, s); err != nil {
			t.Errorf("the first call in %s: %v", region, err)
		}
	}
}

func TestRateIsLearnedFromThrottling(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Limit(w.provider(), w.clock, decorate.Limits{PerSecond: 100, Burst: 100}))
	w.refuse[decorate.Find] = provider.ThrottledFor(5*time.Second, context.DeadlineExceeded)
	if err := find(t, s); provider.AfterOf(err) != 5*time.Second {
		t.Fatalf("the infrastructure's own delay is lost: %v", err)
	}
	delete(w.refuse, decorate.Find)
	before := w.count(decorate.Find)
	w.clock.Step(4 * time.Second)
	if err := find(t, s); provider.KindOf(err) != provider.Throttled {
		t.Errorf("during the pause: %v", err)
	}
	if n := w.count(decorate.Find); n != before {
		t.Errorf("%d calls reach the infrastructure during the pause", n-before)
	}
	// Halved to 50 a second, grown by 100/60 a second during 5 s and a second more: about 60 tokens arrive
	// in that second, of which 20 are reserved.
	w.clock.Step(2 * time.Second)
	granted, _ := spend(t, func() error { return find(t, s) })
	if granted < 35 || granted > 45 {
		t.Errorf("%d reads granted in the first second after the pause, want about 40", granted)
	}
	w.clock.Step(time.Minute)
	if granted, _ := spend(t, func() error { return find(t, s) }); granted != 80 {
		t.Errorf("%d reads granted after a minute, want the 80 of before", granted)
	}
}

func TestShortWaitIsHeldAndGivenUpWithTheCaller(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Limit(w.provider(), w.clock, decorate.Limits{PerSecond: 10, Burst: 1, Wait: time.Second}))
	if err := find(t, s); err != nil {
		t.Fatal(err)
	}
	reply := make(chan error, 1)
	go func() { reply <- find(t, s) }()
	for !w.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	w.clock.Step(100 * time.Millisecond)
	if err := <-reply; err != nil {
		t.Errorf("a call that is due within Wait: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Find(ctx, ref("m")); err == nil {
		t.Error("a call whose caller has given up goes through")
	}
}

// TestTurnsKnowThatTheRateGrows: a call that is refused at the lowest rate gets the time at which the rate
// has grown enough, not the longer time at the lowest rate. No call waits for long, however many were
// refused, since some of them never return.
func TestTurnsKnowThatTheRateGrows(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Limit(w.provider(), w.clock, decorate.Limits{PerSecond: 20, Burst: 40}))
	w.refuse[decorate.Find] = provider.ThrottledFor(0, context.DeadlineExceeded)
	for range 8 { // halved by the calls that are let through
		_ = find(t, s)
		w.clock.Step(1100 * time.Millisecond)
	}
	delete(w.refuse, decorate.Find)
	_, err := spend(t, func() error { return find(t, s) })
	for range 99 {
		err = find(t, s)
	}
	// At 3.4 a second, 100 and the reserve of 8 would take 32 s. The rate grows by a third each second.
	if after := provider.AfterOf(err).Round(time.Second); after != 18*time.Second {
		t.Errorf("the hundredth refused is told %v, want the 18 s in which the growing rate comes to that many", after)
	}
	for range 5000 {
		err = find(t, s)
	}
	if after := provider.AfterOf(err); after != time.Minute {
		t.Errorf("after 5000 refusals: %v, want a minute", after)
	}
}
