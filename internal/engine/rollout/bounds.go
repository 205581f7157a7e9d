package rollout

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Bounds returns how many machines there may be above the wanted number, and how many may be unavailable. Of
// 10 wanted, surge 25 % is 3 and unavailable 25 % is 2. If both are zero, the rollout could not progress, so
// one machine may be unavailable. Unavailable is never more than the wanted number.
func Bounds(d Deployment) (surge, unavailable int) {
	if d.Strategy != Rolling && d.Strategy != InPlace || d.Replicas <= 0 {
		return 0, 0
	}
	surge = max(0, share(d.Surge, d.Replicas, true))
	if d.ByHand {
		surge = 0
	}
	unavailable = max(0, share(d.Unavailable, d.Replicas, false))
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, d.Replicas)
}

// share returns a number, or a percentage of n; 0 if it is neither.
func share(v *intstr.IntOrString, n int, up bool) int {
	if v == nil {
		return 0
	}
	out, err := intstr.GetScaledValueFromIntOrPercent(v, n, up)
	if err != nil {
		return 0
	}
	return out
}
