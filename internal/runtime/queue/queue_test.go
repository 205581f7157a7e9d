package queue

import (
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

func req(name string) request { return request{NamespacedName: types.NamespacedName{Name: name}} }

type world struct {
	*Queue
	clock *testingclock.FakeClock
	class map[string]turn.Class
}

func newWorld(t *testing.T, limiter workqueue.TypedRateLimiter[request]) *world {
	w := &world{clock: testingclock.NewFakeClock(time.Unix(1e9, 0)), class: map[string]turn.Class{}}
	w.Queue = newQueue("", limiter, func(r request) turn.Class { return w.class[r.Name] }, w.clock)
	t.Cleanup(w.ShutDown)
	return w
}

// pass is a whole pass over what comes next.
func (w *world) pass(t *testing.T) string {
	t.Helper()
	r := w.begin(t)
	w.Done(r)
	return r.Name
}

func (w *world) begin(t *testing.T) request {
	t.Helper()
	for range 1000 { // an alarm rings on a goroutine of its own
		if w.Len() > 0 {
			r, _ := w.Get()
			return r
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("nothing waits")
	return request{}
}

// rests fails the test if anything waits or is due within an hour.
func (w *world) rests(t *testing.T) {
	t.Helper()
	w.clock.Step(time.Hour)
	time.Sleep(10 * time.Millisecond)
	if n := w.Len(); n != 0 {
		r, _ := w.Get()
		t.Errorf("%d wait, %s first", n, r.Name)
	}
}

func limiter() workqueue.TypedRateLimiter[request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[request](time.Second, time.Minute)
}

func TestOrder(t *testing.T) {
	w := newWorld(t, limiter())
	w.class = map[string]turn.Class{"asks": turn.Asking, "joins": turn.Joining, "leaves": turn.Leaving}
	for _, name := range []string{"rests", "leaves", "joins", "asks"} {
		w.Add(req(name))
	}
	got := []string{w.pass(t), w.pass(t), w.pass(t), w.pass(t)}
	if want := []string{"asks", "joins", "leaves", "rests"}; !slices.Equal(got, want) {
		t.Errorf("went in the order %v, want %v", got, want)
	}
	w.rests(t)
}

// TestClassWhenItIsDue: what counts is what a machine needs when its wake is due, not when that was asked for.
func TestClassWhenItIsDue(t *testing.T) {
	w := newWorld(t, limiter())
	w.AddAfter(req("later"), time.Minute)
	w.class["later"], w.class["other"] = turn.Asking, turn.Joining
	w.Add(req("other"))
	w.clock.Step(time.Minute)
	for w.Len() < 2 {
		time.Sleep(time.Millisecond)
	}
	if got := w.pass(t); got != "later" {
		t.Errorf("%s went first", got)
	}
}

// TestMoreUrgent: a request that waits moves up when it is woken for something more urgent.
func TestMoreUrgent(t *testing.T) {
	w := newWorld(t, limiter())
	w.class["b"] = turn.Leaving
	w.Add(req("a"))
	w.Add(req("b"))
	w.class["a"] = turn.Freeing
	w.Add(req("a"))
	if got := []string{w.pass(t), w.pass(t)}; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("went in the order %v", got)
	}
	w.rests(t)
}

// TestPassReplacesWakes: a pass takes the place of what was asked for before it began, and not of what is asked for while it goes on.
func TestPassReplacesWakes(t *testing.T) {
	w := newWorld(t, limiter())
	w.AddAfter(req("a"), time.Minute)
	w.Add(req("a"))
	w.pass(t)
	w.rests(t)

	w.Add(req("a"))
	r := w.begin(t)
	w.AddAfter(r, time.Minute)
	w.Done(r)
	w.clock.Step(time.Minute)
	if got := w.pass(t); got != "a" {
		t.Errorf("%q came", got)
	}
	w.rests(t)

	w.Add(req("a"))
	r = w.begin(t)
	w.Add(r)
	w.AddAfter(r, time.Minute)
	w.Done(r)
	w.pass(t)
	w.rests(t)
}

// TestSoonestWakeCounts: of several wakes that are not due yet the first counts, whichever was asked for first.
func TestSoonestWakeCounts(t *testing.T) {
	for _, order := range [][]time.Duration{{time.Second, time.Minute}, {time.Minute, time.Second}} {
		w := newWorld(t, limiter())
		for _, after := range order {
			w.AddAfter(req("a"), after)
		}
		w.clock.Step(time.Second)
		w.pass(t)
		w.rests(t)
	}
}

func TestRateLimit(t *testing.T) {
	w := newWorld(t, limiter())
	w.AddRateLimited(req("a"))
	w.clock.Step(time.Second)
	w.pass(t)
	w.AddRateLimited(req("a"))
	w.clock.Step(time.Second)
	if n := w.Len(); n != 0 {
		t.Error("the second failure was as long ago as the first")
	}
	w.clock.Step(time.Second)
	w.pass(t)
	if n := w.NumRequeues(req("a")); n != 2 {
		t.Errorf("%d requeues, want 2", n)
	}
	w.Forget(req("a"))
	w.AddRateLimited(req("a"))
	w.clock.Step(time.Second)
	w.pass(t)
}

// TestShutDown: what is not due is dropped, and nothing is taken any more.
func TestShutDown(t *testing.T) {
	w := newWorld(t, limiter())
	w.AddAfter(req("a"), time.Minute)
	w.ShutDown()
	w.AddAfter(req("b"), time.Minute)
	w.Add(req("c"))
	w.clock.Step(time.Hour)
	if _, ended := w.Get(); !ended {
		t.Error("something came after the end")
	}
	if len(w.due) > 0 {
		t.Errorf("%d are due", len(w.due))
	}
}

// TestConcurrent: many workers and wakes, with the race detector. The clock is the real one: a fake one rings in the goroutine that steps it.
func TestConcurrent(t *testing.T) {
	q := newQueue("", limiter(), func(request) turn.Class { return turn.Settled }, clock.RealClock{})
	go func() {
		for n := range 2000 {
			name := string(rune('a' + n%26))
			q.Add(req(name))
			q.AddAfter(req(name), time.Duration(n%3)*time.Millisecond)
		}
		q.ShutDownWithDrain()
	}()
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				r, ended := q.Get()
				if ended {
					return
				}
				q.Done(r)
			}
		})
	}
	workers.Wait()
}
