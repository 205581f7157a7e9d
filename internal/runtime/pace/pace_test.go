package pace

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

// answers answers each request with code after a while; without a code it fails.
type answers struct {
	code  int
	after time.Duration
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(a.after)
	if a.code == 0 {
		return nil, errors.New("no answer")
	}
	return &http.Response{StatusCode: a.code, Body: http.NoBody}, nil
}

// slow answers each request after latency, and counts those under way.
type slow struct {
	latency time.Duration
	under   atomic.Int64
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.under.Add(1)
	defer s.under.Add(-1)
	select {
	case <-time.After(s.latency):
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func write(ctx context.Context, method, path string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://api"+path, http.NoBody)
	if err != nil {
		panic(err)
	}
	return r
}

// TestPaceFollowsLatency: 200 workers have as many writes under way as their API server
// answers within the goal, also when it becomes faster or slower meanwhile.
func TestPaceFollowsLatency(t *testing.T) {
	p := newLine()
	for _, tc := range []struct {
		reason    string
		latency   time.Duration
		low, high float64
	}{
		{"it answers 500 a second: 50 at once take 100 ms", 2 * time.Millisecond, 36, 64},
		{"it answers 200 a second: 20 at once take 100 ms", 5 * time.Millisecond, least, 27},
		{"one alone takes 110 ms: nothing helps", 110 * time.Millisecond, least, least},
		{"it is never late", 0, 199, most},
		{"it answers 500 a second again", 2 * time.Millisecond, 36, 64},
	} {
		for range 100_000 {
			for p.under < 200 && float64(p.under) < p.limit {
				if err := p.begin(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			p.end(true, tc.latency*time.Duration(p.under) > goal)
		}
		if p.limit < tc.low || p.limit > tc.high {
			t.Errorf("%s: %.1f may be under way, want %.0f to %.0f", tc.reason, p.limit, tc.low, tc.high)
		}
	}
}

// TestPaceSeesLateAnswers: what takes longer than the goal, or is refused for too much to
// do, is late; what has no answer says nothing.
func TestPaceSeesLateAnswers(t *testing.T) {
	for _, tc := range []struct {
		reason string
		rt     http.RoundTripper
		want   func(limit float64) bool
	}{
		{"in time", answers{code: http.StatusOK}, func(l float64) bool { return l > first }},
		{"late", answers{code: http.StatusOK, after: goal + 1}, func(l float64) bool { return l < first }},
		{"refused", answers{code: http.StatusTooManyRequests}, func(l float64) bool { return l < first }},
		{"no answer", answers{after: time.Minute}, func(l float64) bool { return l == first }},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newLine()
				answer, err := tripper{tc.rt, p}.RoundTrip(write(t.Context(), http.MethodPatch, "/m"))
				if err == nil {
					_ = answer.Body.Close()
				}
				if !tc.want(p.limit) || p.under != 0 {
					t.Errorf("%s: %.1f may be under way and %d are", tc.reason, p.limit, p.under)
				}
			})
		})
	}
}

// TestPaceLetsPass: reads and leases wait for nobody, and who gives up keeps nobody's place.
func TestPaceLetsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{latency: time.Hour}
		p := newLine()
		rt := tripper{s, p}
		ctx, cancel := context.WithCancel(t.Context())
		var answered atomic.Int64
		send := func(ctx context.Context, method, path string) {
			go func() {
				if answer, err := rt.RoundTrip(write(ctx, method, path)); err == nil {
					_ = answer.Body.Close()
					answered.Add(1)
				}
			}()
		}
		for range 2 * first {
			send(ctx, http.MethodPost, "/machines")
		}
		synctest.Wait()
		if got := s.under.Load(); got != first {
			t.Errorf("%d writes are under way, want %d", got, first)
		}
		s.latency = time.Millisecond
		for _, other := range []struct{ method, path string }{
			{http.MethodGet, "/machines"}, {http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"},
		} {
			send(t.Context(), other.method, other.path)
		}
		time.Sleep(time.Second)
		if got := answered.Load(); got != 2 {
			t.Errorf("%d of a read and a lease were answered", got)
		}
		cancel() // all give up
		synctest.Wait()
		if p.under != 0 || p.waiting.Len() != 0 {
			t.Errorf("%d are under way and %d wait after all gave up", p.under, p.waiting.Len())
		}
		send(t.Context(), http.MethodPost, "/machines")
		time.Sleep(time.Second)
		if got := answered.Load(); got != 3 {
			t.Errorf("a write after those that gave up was not answered")
		}
	})
}

// TestTurns: writes have turns by the class of the work that they are part of, and in a class the writes of the work that began first go
// first, whenever they come.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		l.limit = 1
		if err := l.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []string
		enter := func(ctx context.Context, name string) {
			go func() {
				if l.begin(ctx) == nil {
					order = append(order, name)
					l.end(false, false)
				}
			}()
			synctest.Wait()
		}
		early := WithClass(t.Context(), turn.Settled)
		canceled, cancel := context.WithCancel(WithClass(t.Context(), turn.Joining))
		enter(t.Context(), "an event")
		enter(WithClass(t.Context(), turn.Joining), "first that joins")
		enter(canceled, "canceled")
		enter(WithClass(t.Context(), turn.Asking), "asks")
		enter(WithClass(t.Context(), turn.Joining), "second that joins")
		enter(WithClass(early, turn.Joining), "joins by now, and began before")
		cancel()
		synctest.Wait()
		l.end(false, false)
		synctest.Wait()
		want := []string{"asks", "joins by now, and began before", "an event", "first that joins", "second that joins"}
		if !slices.Equal(order, want) || l.under != 0 {
			t.Errorf("%v, and %d under way, want %v", order, l.under, want)
		}
	})
}
