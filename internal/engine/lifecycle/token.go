package lifecycle

import "time"

// Token has the facts about a machine's bootstrap token.
type Token struct {
	// State says whether it may exist, Lifetime how long it is valid.
	State    TokenState
	Lifetime time.Duration
	// Again is when to retry a failed deletion; zero: never.
	Again time.Duration
}

// TokenState says whether a bootstrap token has to be deleted.
type TokenState string

// The states.
const (
	// TokenNone: no token exists, or this pass is done with it.
	TokenNone TokenState = ""
	// TokenMade: this process created it.
	TokenMade TokenState = "Made"
	// TokenUnknown: another process may have created one.
	TokenUnknown TokenState = "Unknown"
)

// servedToken reports whether the machine's bootstrap token has been used, or cannot be used any more, where
// d ends the pass. The token is deleted before the object records that: afterwards no process would delete
// it. After a restart, machines that have run for long are not checked.
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
