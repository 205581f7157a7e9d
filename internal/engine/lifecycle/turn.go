package lifecycle

import "github.com/millwright-dev/millwright/internal/engine/turn"

// Turn says under which class the work on a machine waits. short says that other machines wait for capacity: what is deleted frees some.
func Turn(m Machine, short bool) turn.Class {
	switch {
	case !m.Deleted.IsZero() && short && m.Recorded.Provisioned:
		return turn.Freeing
	case !m.Deleted.IsZero():
		return turn.Leaving
	case !m.Recorded.Provisioned && m.Stage != StageFailed:
		return turn.Asking
	case m.Stage == StageRunning, m.Stage == StageFailed:
		return turn.Settled
	}
	return turn.Joining
}
