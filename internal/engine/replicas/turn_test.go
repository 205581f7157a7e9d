package replicas

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

func TestTurn(t *testing.T) {
	for _, c := range []struct {
		reason  string
		set     Set
		members int
		want    turn.Class
	}{
		{"machines are missing", Set{Replicas: 3}, 2, turn.Asking},
		{"there are too many", Set{Replicas: 3}, 4, turn.Leaving},
		{"there are as many as there should be", Set{Replicas: 3}, 3, turn.Settled},
		{"it is being deleted", Set{Replicas: 3, Deleting: true}, 2, turn.Leaving},
		{"it is being deleted, paused or not", Set{Paused: "held", Deleting: true}, 0, turn.Leaving},
		{"it is paused", Set{Replicas: 3, Paused: "held"}, 0, turn.Settled},
	} {
		if got := Turn(c.set, c.members); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}
