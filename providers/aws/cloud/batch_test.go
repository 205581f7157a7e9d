package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuestionsAreAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batch[string]
		var requests atomic.Int32
		var wg sync.WaitGroup
		for n := range 1000 {
			wg.Go(func() {
				about := fmt.Sprint(n)
				all, err := b.ask(t.Context(), "kind", about, func(_ context.Context, about []string) ([]string, error) {
					requests.Add(1)
					if len(about) > mostTogether {
						t.Errorf("%d at once", len(about))
					}
					time.Sleep(time.Second)
					return about, nil
				})
				if err != nil || !slices.Contains(all, about) {
					t.Errorf("%s is answered with %d others, error %v", about, len(all), err)
				}
			})
		}
		wg.Wait()
		if n := requests.Load(); n > mostAtOnce+6 {
			t.Errorf("%d requests", n)
		}
		if len(b.kinds) != 0 {
			t.Error("queues are left")
		}
	})
}

func TestAnAnswerIsNotOlderThanItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batch[time.Time]
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(n) * 100 * time.Millisecond)
				asked := time.Now()
				all, err := b.ask(t.Context(), "kind", "x", func(context.Context, []string) ([]time.Time, error) {
					began := time.Now()
					time.Sleep(time.Second)
					return []time.Time{began}, nil
				})
				if err != nil || all[0].Before(asked) {
					t.Errorf("asked at %v, the answer began at %v, error %v", asked, all, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestWhoGivesUpHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batch[string]
		var wg sync.WaitGroup
		var answered atomic.Int32
		for n := range 40 {
			wg.Go(func() {
				ctx := t.Context()
				if n%2 == 0 { // every other caller waits for half a request only
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(500+100*n)*time.Millisecond)
					defer cancel()
				}
				_, err := b.ask(ctx, "kind", fmt.Sprint(n), func(ctx context.Context, about []string) ([]string, error) {
					select {
					case <-time.After(time.Second):
						return about, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
				if n%2 == 1 {
					if err != nil {
						t.Errorf("%d, who waits: %v", n, err)
					}
					answered.Add(1)
				}
			})
		}
		wg.Wait()
		if answered.Load() != 20 || len(b.kinds) != 0 {
			t.Errorf("%d are answered; queues left: %d", answered.Load(), len(b.kinds))
		}
	})
}

func TestARefusalIsEverybodys(t *testing.T) {
	var b batch[string]
	refused := errors.New("no")
	if _, err := b.ask(t.Context(), "kind", "x", func(context.Context, []string) ([]string, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if _, err := b.ask(t.Context(), "kind", "x", func(context.Context, []string) ([]string, error) { return nil, nil }); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

// Under load, requests keep a pace, and no caller waits for long.
func TestManyQuestionsKeepAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const askers, each, latency = 40, 50, 2 * time.Millisecond
		var b batch[string]
		var requests atomic.Int32
		var wg sync.WaitGroup
		for n := range askers {
			wg.Go(func() {
				for range each {
					asked := time.Now()
					all, err := b.ask(t.Context(), fmt.Sprint("kind ", n%2), fmt.Sprint(n), func(_ context.Context, about []string) ([]string, error) {
						requests.Add(1)
						time.Sleep(latency)
						return about, nil
					})
					if err != nil || !slices.Contains(all, fmt.Sprint(n)) {
						t.Errorf("%d is answered with %v, error %v", n, all, err)
					}
					if took := time.Since(asked); took > mostHeld+2*latency {
						t.Errorf("%d waited %v", n, took)
					}
					time.Sleep(100*time.Millisecond + time.Duration(n)*time.Millisecond)
				}
			})
		}
		began := time.Now()
		wg.Wait()
		most := mostFree + 2 + int32(time.Since(began)/pace)
		if n := requests.Load(); n > most {
			t.Errorf("%d requests for %d questions in %v, want at most %d", n, askers*each, time.Since(began), most)
		}
		if len(b.kinds) != 0 {
			t.Error("queues are left")
		}
	})
}

// A single caller does not wait, and a caller that is canceled while a request is held blocks no other.
func TestWhoIsHeldMayGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batch[string]
		at := time.Now()
		request := func(_ context.Context, about []string) ([]string, error) { return about, nil }
		for range mostFree {
			if _, err := b.ask(t.Context(), "kind", "x", request); err != nil || time.Since(at) > 0 {
				t.Fatalf("after %v: error %v", time.Since(at), err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), pace/4)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.ask(short, "kind", "gives up", request); err == nil {
				t.Error("who gave up was answered")
			}
		})
		synctest.Wait()
		for n := range 5 {
			wg.Go(func() {
				if _, err := b.ask(t.Context(), "kind", fmt.Sprint(n), request); err != nil {
					t.Errorf("who waits behind: %v", err)
				}
			})
		}
		wg.Wait()
		if time.Since(at) > 2*mostHeld || len(b.kinds) != 0 {
			t.Errorf("it took %v; %d queues are left", time.Since(at), len(b.kinds))
		}
	})
}
