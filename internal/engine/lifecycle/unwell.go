package lifecycle

import corev1 "k8s.io/api/core/v1"

// Unwell reports whether the node n is drained because it, or its machine, was
// not well, and not because there is one too many.
//
// It is asked when a drain begins. The original asks the phase, and by then that
// is always the one of machines on their way out, so that people read ScaleDown
// whatever happened (C16 of the Gardener notes). Here the phase counts that the machine had before,
// and where that was overwritten already, the node itself. A node that has not
// been well yet, because it is only just joining, has not failed.
func Unwell(m Machine, n *corev1.Node, p Policy) bool {
	switch m.Stage {
	case StageFailed, StageUpdateFailed, StageLost:
		return true
	case StageRunning, StageDeleting:
		return !Healthy(n, p)
	}
	return false
}
