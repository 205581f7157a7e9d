package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// judgeReady judges that a machine fails because its node did not join or was unhealthy for too long. A failure is final,
// so a cache alone must not cause it: a machine whose node was ready when the pass began must not fail. Requests of a
// deposed process on the wire cannot be stopped.
func (j *Judge) judgeReady(p *Pass, old, now machine) {
	if !old.joining && !old.lost || !now.failed || p.By.Deposed || p.By.Late {
		return
	}
	for _, i := range j.existing(string(old.GetUID())) {
		n := j.node(i.NodeName)
		if i.ByHand || i.Hostile || renamed(i) || n == nil || !ready(n) || !sameID(n.Spec.ProviderID, i.ProviderID) {
			continue
		}
		since := func(c change) bool {
			return c.n > p.began && (c.was == nil || !sameReady(c.was.(*corev1.Node), n))
		}
		if !slices.ContainsFunc(j.log[n.UID], since) {
			j.Broken(ReadyStays, "%s, which was %s, failed although its instance %s runs and node %s is ready", now.GetName(), old.phase, i.ID, n.Name)
		}
	}
}
