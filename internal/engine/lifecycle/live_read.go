package lifecycle

// Shown is how far the machine that was decided about is known to be what the API server has.
type Shown struct {
	// OwnWrite: a cache shows what this process wrote of the machine last.
	OwnWrite bool
	// RemovalAccepted: the infrastructure has accepted in this process that the instance is to go.
	RemovalAccepted bool
}

// NeedsLiveRead reports whether d may be performed only after the API server itself has shown the machine, unchanged.
//
// A process that has just taken over may see machines that its predecessor has deleted, and would create instances for them. After
// a write of its own it knows better, once the cache shows that: no other process takes finalizers off. As long as the cache shows what was
// before, the server may have gone back to that. Before a removal the server is asked as long as the infrastructure has accepted none:
// it may have gone back meanwhile, to when the machine was wanted.
func (d Decision) NeedsLiveRead(s Shown) bool {
	switch d.Step {
	case RecordAsk, Create:
		return !s.OwnWrite
	case Drain:
		return d.Force
	case Terminate:
		return !s.RemovalAccepted
	}
	return false
}
