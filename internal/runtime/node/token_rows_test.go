package node

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/provider"
)

// TestRowsOfGardenerTokens: C10 of the Gardener notes, part by part, and T38.
func TestRowsOfGardenerTokens(t *testing.T) {
	of := func(n int) TokenRequest { // names that end alike
		r := request()
		r.Machine = provider.Ref{Namespace: "ns", Name: fmt.Sprintf("pool-%d-abcde", n), UID: fmt.Sprintf("uid-%d", n)}
		return r
	}
	ask := func(t *testing.T, w *world, r TokenRequest) string {
		t.Helper()
		token, err := w.Token(t.Context(), r)
		w.must(t, err)
		return token
	}
	t.Run("C10, T38: 100 simultaneous machines: unique tokens", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{})
		seen := map[string]int{}
		for n := range 100 {
			id := ask(t, w, of(n))[:6]
			if other, taken := seen[id]; taken {
				t.Fatalf("machines %d and %d share the token %s", other, n, id)
			}
			seen[id] = n
		}
	})
	t.Run("C10: the first to join deletes it for the second", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{})
		ask(t, w, of(1))
		second := ask(t, w, of(2))
		_, err := w.DropToken(t.Context(), of(1).Machine, nil)
		w.must(t, err)
		if again := ask(t, w, of(2)); again != second {
			t.Errorf("the second has %s now, had %s", again, second)
		}
	})
	t.Run("C10: reused expired tokens are not refreshed", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{})
		r := request()
		ask(t, w, r)
		w.clock.SetTime(start.Add(24 * time.Hour))
		ask(t, w, r)
		s, err := w.tokenSecret(t, 0)
		w.must(t, err)
		if want := w.clock.Now().Add(r.Lifetime).Format(time.RFC3339); string(s.Data["expiration"]) != want {
			t.Errorf("expires %s, want %s", s.Data["expiration"], want)
		}
	})
}
