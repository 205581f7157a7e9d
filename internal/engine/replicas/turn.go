package replicas

import "github.com/millwright-dev/millwright/internal/engine/turn"

// Turn returns the class of the work on a set with so many members, not counting those under deletion.
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
