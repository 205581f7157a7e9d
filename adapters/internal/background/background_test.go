package background_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

var (
	creation = background.Task{Verb: "creation", UID: "m"}
	removal  = background.Task{Verb: "removal", UID: "m"}
)

// inBubble runs a test with calls that end after a minute.
func inBubble(t *testing.T, run func(*testing.T, *background.Calls)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		run(t, background.New(life, clock.RealClock{}, time.Minute, "driver"))
	})
}

func after(d time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestOneAtATime: a second call for a key returns the call in progress, also for another task; keys do not
// wait for each other.
func TestOneAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, c *background.Calls) {
		one := c.Begin("a", creation, after(10*time.Second, nil))
		if c.Begin("a", creation, after(0, nil)) != one || c.Begin("a", removal, after(0, nil)) != one || c.Of("a") != one {
			t.Error("another call was begun beside the one that is under way")
		}
		other := c.Begin("b", removal, after(0, nil))
		if ended, err := c.Ends(t.Context(), other, time.Second); !ended || err != nil {
			t.Errorf("a call of another key has ended: %t, %v", ended, err)
		}
		if ended, err := c.Ends(t.Context(), one, time.Second); ended || err != nil {
			t.Errorf("the first has ended: %t, %v", ended, err)
		}
	})
}

// TestAnOutcomeIsKept for the next caller of the same task, once; another task begins a new call.
func TestAnOutcomeIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, c *background.Calls) {
		failed := errors.New("no stock")
		one := c.Begin("a", creation, after(time.Second, failed))
		time.Sleep(2 * time.Second)
		if c.Of("a") != nil {
			t.Error("it is still under way")
		}
		if again := c.Begin("a", creation, after(0, nil)); again != one || !errors.Is(c.Take("a", again), failed) {
			t.Error("what came of it was not told")
		}
		if c.Begin("a", creation, after(0, nil)) == one {
			t.Error("it was told twice")
		}
		time.Sleep(time.Second)
		if c.Begin("a", removal, after(0, nil)).Task != removal {
			t.Error("the outcome of a creation stands in for a removal")
		}
	})
}

// TestHowCallsEnd: by themselves, by being stopped, with their callers, by a panic.
func TestHowCallsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, c *background.Calls) {
		gone, leave := context.WithCancel(t.Context())
		leave()
		for name, one := range map[string]struct {
			do   func(context.Context) error
			act  func(*background.Call)
			want string
		}{
			"too long": {after(time.Hour, nil), func(*background.Call) {}, "the creation has taken longer than 1m0s"},
			"stopped":  {after(time.Hour, nil), func(o *background.Call) { o.Stop(errors.New("its machine goes")) }, "its machine goes"},
			"panic":    {func(context.Context) error { panic("no such map") }, func(*background.Call) {}, "no such map"},
		} {
			o := c.Begin(name, creation, one.do)
			one.act(o)
			if _, err := c.Ends(gone, c.Begin(name+" alone", creation, after(time.Hour, nil)), time.Hour); provider.KindOf(err) != provider.Transient {
				t.Errorf("%s: who gave up is told %v", name, err)
			}
			ended, err := c.Ends(t.Context(), o, 2*time.Minute)
			if !ended || err != nil {
				t.Errorf("%s: ended %t, error %v", name, ended, err)
			}
			if err := c.Take(name, o); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), one.want) {
				t.Errorf("%s: it fails with %v", name, err)
			}
		}
	})
}

// TestWhoGivesUp: a caller waits no longer than patience for a call that ignores its context, and the call
// stays in progress.
func TestWhoGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, c *background.Calls) {
		free := make(chan struct{})
		deaf := func(context.Context) error { <-free; return nil }
		one, began := c.Begin("a", creation, deaf), time.Now()
		if c.Abandon("a", one, errors.New("gone")); time.Since(began) != background.Patience || c.Of("a") != one {
			t.Errorf("after %v the call under way is %v", time.Since(began), c.Of("a"))
		}
		close(free)
		heeds := c.Begin("b", creation, after(time.Hour, nil))
		if c.Abandon("b", heeds, errors.New("gone")); c.Begin("b", creation, after(0, nil)) == heeds {
			t.Error("the outcome of a call that was given up is told")
		}
	})
}
