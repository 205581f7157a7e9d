package lifecycle

import "github.com/millwright-dev/millwright/internal/engine/turn"

// Class is a kind of work. The zero Class is work that no other work waits for.
type Class = turn.Class

// Turn returns the class of the work on a machine. short says that other machines wait for capacity, which
// deletions free.
func Turn(m Machine, short bool) Class {
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
