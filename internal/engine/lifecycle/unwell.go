package lifecycle

import corev1 "k8s.io/api/core/v1"

// Unwell reports whether the node n is drained because the node or its machine was unhealthy, and not because
// there is one too many.
//
// It is called when a drain begins. The original uses the phase, which by then is always that of machines
// under deletion, so users always read ScaleDown (C16 of the Gardener notes). Here the previous phase counts,
// and if that was overwritten already, the node itself. A node that has not been healthy yet, because it is
// just joining, has not failed.
func Unwell(m Machine, n *corev1.Node, p Policy) bool {
	switch m.Stage {
	case StageFailed, StageUpdateFailed, StageLost:
		return true
	case StageRunning, StageDeleting:
		return !Healthy(n, p)
	}
	return false
}
