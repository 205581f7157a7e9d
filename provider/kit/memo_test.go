package kit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millwright-dev/millwright/provider/kit"
)

// wall is the bubble's clock.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// TestMemo: one caller asks for all that arrive meanwhile. An answer is valid for its age; an error is not
// cached.
func TestMemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := kit.NewMemo[int](wall{}, time.Minute)
		refused, asked := errors.New("refused"), 0
		ask := func(context.Context) (int, error) {
			time.Sleep(time.Second)
			if asked++; asked == 1 {
				return 0, refused
			}
			return asked, nil
		}
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				time.Sleep(time.Duration(n) * time.Millisecond) // in this order
				switch got, err := m.Get(t.Context(), "a", ask); {
				case n == 0 && !errors.Is(err, refused):
					t.Errorf("the first got %d, %v", got, err)
				case n > 0 && (got != 2 || err != nil):
					t.Errorf("number %d got %d, %v", n, got, err)
				}
			})
		}
		all.Wait()
		want := func(note string, want int) {
			t.Helper()
			if got, err := m.Get(t.Context(), "a", ask); got != want || err != nil {
				t.Errorf("%s: %d, %v; want %d", note, got, err, want)
			}
		}
		time.Sleep(time.Minute - time.Nanosecond)
		want("a moment before its age", 2)
		time.Sleep(time.Nanosecond)
		if _, ok := m.Recall("a"); ok {
			t.Error("it is recalled beyond its age")
		}
		want("old", 3)
		m.Forget("a")
		want("forgotten", 4)
		m.Put("a", 40)
		want("put", 40)
		m.ForgetAll()
		want("all forgotten", 5)
	})
}

// TestMemoWaitsNoLongerThanAsked: a canceled caller does not wait for another's answer. A key that is
// forgotten while a caller asks for it is not cached.
func TestMemoWaitsNoLongerThanAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := kit.NewMemo[string](wall{}, time.Minute)
		answer := func(context.Context) (string, error) { time.Sleep(time.Hour); return "late", nil }
		var all sync.WaitGroup
		all.Go(func() {
			if got, err := m.Get(t.Context(), "a", answer); got != "late" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Get(ctx, "a", answer); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("called off, it says %v", err)
		}
		m.Forget("a")
		all.Wait()
		if got, ok := m.Recall("a"); ok {
			t.Errorf("it remembers %q, which was forgotten", got)
		}
	})
}

// TestMemoIsBounded: keys that come and go do not use memory forever.
func TestMemoIsBounded(t *testing.T) {
	m := kit.NewMemo[int](wall{}, time.Hour)
	for n := range 10_001 {
		m.Put(time.Duration(n).String(), n)
	}
	if _, ok := m.Recall(time.Duration(0).String()); ok {
		t.Error("the first of many keys is still there")
	}
	if got, ok := m.Recall(time.Duration(10_000).String()); !ok || got != 10_000 {
		t.Error("the last is not")
	}
}
