package lifecycle

import "time"

// Token is what is known of a machine's bootstrap token.
type Token struct {
	// State is whether it may be there, Lifetime for how long it is good.
	State    TokenState
	Lifetime time.Duration
	// Again is when to try again what this pass tried in vain; zero: never.
	Again time.Duration
}

// TokenState says whether a bootstrap token is to be taken away some time.
type TokenState string

// The states.
const (
	// TokenNone: there is none, or this pass is done with it.
	TokenNone TokenState = ""
	// TokenMade: this process made it.
	TokenMade TokenState = "Made"
	// TokenUnknown: another process may have made one.
	TokenUnknown TokenState = "Unknown"
)

// servedToken reports whether the machine's bootstrap token has served, or cannot serve any
// more, where d is what ends the pass. It goes before the object says so: nobody would think
// of it again. After a new start nobody is asked about machines that have run for long.
func servedToken(q input, d Decision) bool {
	t := q.w.Token
	switch {
	case t.State == TokenNone:
		return false
	case q.w.Final != nil && q.w.Final.Step == RemoveFinalizer:
		return true
	case d.Stage != StageRunning || q.w.Node.Object == nil:
		return false
	}
	return t.State == TokenMade || !q.m.HadNode() || q.now.Sub(q.m.Created) < 2*t.Lifetime
}
