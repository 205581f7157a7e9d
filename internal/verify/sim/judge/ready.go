package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// judgeReady judges that a machine is given up for its node, which did not join or was
// not well for too long. That is the end of it, so that no cache may say so alone: one
// whose node was ready when the pass began stays. What a process that was deposed has on
// the wire nobody can stop.
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
			j.Broken(ReadyStays, "%s was given up, which was %s, but its instance %s runs and node %s is ready", now.GetName(), old.phase, i.ID, n.Name)
		}
	}
}
