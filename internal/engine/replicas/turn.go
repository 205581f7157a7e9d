package replicas

import "github.com/millwright-dev/millwright/internal/engine/turn"

// Turn says under which class the work on a set waits that has so many members, those aside that are being deleted.
func Turn(s Set, members int) turn.Class {
	switch {
	case s.Paused != "" && !s.Deleting:
		return turn.Settled
	case s.Deleting, members > s.Replicas:
		return turn.Leaving
	case members < s.Replicas:
		return turn.Asking
	}
	return turn.Settled
}
