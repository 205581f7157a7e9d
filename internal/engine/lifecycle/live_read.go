package lifecycle

// Shown says how current the machine in the decision is, compared with the API server.
type Shown struct {
	// OwnWrite: the cache has this process's last write of the machine.
	OwnWrite bool
	// RemovalAccepted: the infrastructure has accepted this process's request to terminate the instance.
	RemovalAccepted bool
}

// NeedsLiveRead reports whether d may be performed only after the API server itself has returned the machine,
// unchanged.
//
// A process that has just taken over may see machines that its predecessor has deleted, and would create
// instances for them. After a write of its own it knows better, once the cache has that write: no other
// process removes finalizers. As long as the cache has an older version, the server may have been restored to
// that. Before a removal the server is asked as long as the infrastructure has accepted none: the server may
// have been restored to a time when the machine was wanted.
func (d Decision) NeedsLiveRead(s Shown) bool {
	switch d.Step {
	case RecordRequest, Create:
		return !s.OwnWrite
	case Drain:
		return d.Force
	case Terminate:
		return !s.RemovalAccepted
	}
	return false
}
