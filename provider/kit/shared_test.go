package kit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millwright-dev/millwright/provider/kit"
)

// TestSharedReads: waiting calls share the next read, and none gets a read that began before the call.
func TestSharedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s kit.SharedReads
		began := time.Now()
		reads := 0
		ask := func(after time.Duration) (at time.Duration) {
			time.Sleep(after)
			at, err := kit.Share(t.Context(), &s, "group", func(context.Context) (time.Duration, error) {
				reads++
				at := time.Since(began)
				time.Sleep(10 * time.Second)
				return at, nil
			})
			if err != nil || at < after {
				t.Errorf("who asked after %s got what was read after %s, %v", after, at, err)
			}
			return at
		}
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() { ask(time.Duration(n) * 100 * time.Millisecond) })
		}
		all.Wait()
		if reads != 2 {
			t.Errorf("%d reads for calls within one, want 2: the first one's, and one for all others", reads)
		}
		if at := ask(0); at != 20*time.Second || reads != 3 {
			t.Errorf("a call of its own got what was read after %s, after %d reads", at, reads)
		}
	})
}

// TestSharedReadsApart: different keys are read separately, and all callers of a read get its error.
func TestSharedReadsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s kit.SharedReads
		var reads atomic.Int32
		refused := errors.New("refused")
		var all sync.WaitGroup
		for _, key := range []string{"a", "b", "a", "b", "a"} {
			all.Go(func() {
				got, err := kit.Share(t.Context(), &s, key, func(context.Context) (string, error) {
					reads.Add(1)
					time.Sleep(time.Second)
					if key == "b" {
						return "", refused
					}
					return key, nil
				})
				if key == "a" && (got != "a" || err != nil) || key == "b" && !errors.Is(err, refused) {
					t.Errorf("%s: %q, %v", key, got, err)
				}
			})
		}
		all.Wait()
		if n := reads.Load(); n > 4 {
			t.Errorf("%d reads, want two of each key at most", n)
		}
	})
}

// TestSharedReadsCalledOff: no call gets the result of a read whose reader was canceled or panicked.
func TestSharedReadsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s kit.SharedReads
		off, cancel := context.WithCancel(t.Context())
		read := func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Minute):
				return "read", nil
			}
		}
		var all sync.WaitGroup
		for n := range 5 {
			ctx, want := t.Context(), error(nil)
			if n < 2 {
				ctx, want = off, context.Canceled
			}
			all.Go(func() {
				time.Sleep(time.Duration(n) * time.Second)
				if got, err := kit.Share(ctx, &s, "", read); !errors.Is(err, want) || want == nil && got != "read" {
					t.Errorf("%d: %q, %v", n, got, err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		cancel()
		all.Wait()

		all.Go(func() { _, _ = kit.Share(t.Context(), &s, "", read) })
		synctest.Wait()
		for n := range 10 { // all of them wait for the next read, and any of them may begin it
			all.Go(func() {
				defer func() { _ = recover() }()
				got, err := kit.Share(t.Context(), &s, "", func(ctx context.Context) (string, error) {
					if n > 0 {
						panic("no")
					}
					return read(ctx)
				})
				if got != "read" || err != nil {
					t.Errorf("%d, beside some that panic: %q, %v", n, got, err)
				}
			})
		}
		all.Wait()
		if got, err := kit.Share(t.Context(), &s, "", read); got != "read" || err != nil {
			t.Errorf("after a panic: %q, %v", got, err)
		}
	})
}
