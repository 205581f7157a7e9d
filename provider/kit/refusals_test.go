package kit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// TestRefusals: a refused repair is not tried again for a while. A repair with another error is.
func TestRefusals(t *testing.T) {
	denied, invalid := provider.Errorf(provider.Denied, "denied"), provider.Errorf(provider.Invalid, "invalid")
	for _, c := range []struct {
		err     error
		refused bool
	}{{denied, true}, {invalid, true}, {provider.Errorf(provider.Transient, "later"), false}, {errors.New("unknown"), false}, {nil, false}} {
		synctest.Test(t, func(t *testing.T) {
			r, tried := kit.NewRefusals(wall{}, time.Minute), 0
			try := func(key string) {
				t.Helper()
				if err := r.Try(t.Context(), key, func(context.Context) error { tried++; return c.err }); !errors.Is(err, c.err) {
					t.Errorf("%v, want %v", err, c.err)
				}
			}
			for _, step := range []struct {
				key  string
				wait time.Duration
				want int // tries of a refused repair
			}{{"a", 0, 1}, {"a", 59 * time.Second, 1}, {"b", 0, 2}, {"a", 2 * time.Second, 3}} {
				time.Sleep(step.wait)
				if try(step.key); c.refused && tried != step.want {
					t.Errorf("%v: %d tries, want %d", c.err, tried, step.want)
				}
			}
			if !c.refused && tried != 4 {
				t.Errorf("%v: %d tries, want 4", c.err, tried)
			}
		})
	}
}
