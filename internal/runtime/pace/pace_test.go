package pace

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

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

// TestPaceLetsPass: reads and leases do not wait, and a cancelled write frees its place.
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
		cancel() // all are cancelled
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
		l.level.limit = 1
		if err := l.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []string
		enter := func(ctx context.Context, name string) {
			go func() {
				if l.begin(ctx) == nil {
					order = append(order, name)
					l.end(reply{})
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
		l.end(reply{})
		synctest.Wait()
		want := []string{"asks", "joins by now, and began before", "an event", "first that joins", "second that joins"}
		if !slices.Equal(order, want) || l.under != 0 {
			t.Errorf("%v, and %d under way, want %v", order, l.under, want)
		}
	})
}
