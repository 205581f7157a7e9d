package lifecycle

// Priority says which machines go first where many wait for a worker: the higher, the
// sooner. Instances that are to go cost money until they are gone. A machine whose
// instance runs needs only a write or two until it serves, and goes before those that
// have no instance yet: in a burst the first are done while the last wait. What stands
// behind them is not harmed by waiting.
func Priority(m Machine) int {
	switch {
	case !m.Deleted.IsZero():
		return 3
	case m.Recorded.ProviderID == "":
		return 0
	case m.Stage == StageRunning, m.Stage == StageFailed:
		return 1
	}
	return 2
}
