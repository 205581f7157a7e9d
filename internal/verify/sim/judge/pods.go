package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// evictEvery divides the drain timeout: the result is how often a budget may refuse an eviction.
const evictEvery = 20 * time.Second

// unreachableAfter is how long a drain waits for pods on an unready node.
const unreachableAfter = 5 * time.Minute

// Refused records that a disruption budget refused the eviction of a pod.
func (j *Judge) Refused(pod client.Object) { j.refusals[pod.GetUID()]++ }

// machineOn returns the machine of the node with the name; false if no machine has it. It is the machine of the instance
// whose kubelet registered the node, whatever node names machines have recorded.
func (j *Judge) machineOn(nodeName string) (one machine, there bool) {
	n := j.node(nodeName)
	for _, i := range j.Instances() {
		if m, its := find(j.machines(), types.UID(i.UID)); its && n != nil && i.Node == n.UID {
			return m, true
		}
	}
	for _, m := range j.machines() {
		if n == nil || m.node != nodeName && (m.node != "" || m.provider == "" || m.provider != n.Spec.ProviderID) {
			continue
		}
		if sameID(m.provider, n.Spec.ProviderID) {
			return m, true
		}
		if !there {
			one, there = m, true
		}
	}
	return one, there
}

// PodLeaves judges that the machine controller evicts or deletes a pod. forced: the pod's budget was bypassed.
func (j *Judge) PodLeaves(p *Pass, old, now client.Object, forced bool) {
	pod := old.(*corev1.Pod)
	if pod.DeletionTimestamp != nil || now != nil && now.GetDeletionTimestamp() == nil {
		return
	}
	m, there := j.machineOn(pod.Spec.NodeName)
	if there {
		if j.always(m.GetUID(), p, atBegin, func(m machine) bool { return m.GetDeletionTimestamp() != nil && m.preDrain && !m.drained }) {
			j.Broken(HooksHonoured, "pod %s was removed from node %s in spite of a pre-drain hook", pod.Name, pod.Spec.NodeName)
		}
		Disruptions{j}.disrupted(p, m, j.node(pod.Spec.NodeName), "pod "+pod.Name+" was removed from its node")
		if forced && !j.mayForce(p, m, pod) {
			j.Broken(ForceInTime, "pod %s was removed by force from node %s %v after machine %s was deleted", pod.Name, pod.Spec.NodeName, j.Now().Sub(deletedSince(m)), m.GetName())
		}
	}
	j.volumeLeaves(p, pod)
}

// deletedSince is the deletion time of the machine; zero if it was not deleted.
func deletedSince(m machine) time.Time {
	if at := m.GetDeletionTimestamp(); at != nil {
		return at.Time
	}
	return time.Time{}
}

// timeout is the time after which the drain of m is forced; zero: never.
func (j *Judge) timeout(m machine) time.Duration {
	if m.GetAnnotations()[drainTimeout] == "never" {
		return 0
	}
	if m.drain != nil {
		return *m.drain
	}
	return j.apiOf(m.Object).DrainTimeout
}

// over reports whether duration d since then may be over by any clock. Only time in which processes watched counts; a zero
// time is never over.
func (j *Judge) over(since time.Time, d time.Duration) bool {
	return d > 0 && !since.IsZero() && j.watched(since) >= d-time.Second-2*j.Skew
}

// timedOut reports whether the drain of m's node may have timed out. The drain began when m was deleted, or when the node,
// which may be nil, was selected for an update.
func (j *Judge) timedOut(m machine, n *corev1.Node) bool {
	begun := time.Time{}
	if n != nil {
		begun = j.first(n.UID, func(o client.Object) bool { return selected(o.(*corev1.Node)) })
	}
	return j.over(deletedSince(m), j.timeout(m)) || j.over(begun, j.timeout(m))
}

// mayForce reports whether a pod may be deleted without its budget's consent.
func (j *Judge) mayForce(p *Pass, m machine, pod *corev1.Pod) bool {
	n, never := j.node(pod.Spec.NodeName), m.GetAnnotations()[drainTimeout] == "never"
	hurried := j.ever(m.GetUID(), p, atBegin, func(m machine) bool { return m.hurried })
	switch {
	case hurried, j.timedOut(m, n):
		return true
	case never || !heals(m):
		return false
	case n == nil:
		return true
	}
	for _, o := range j.since(n.UID, p, bySight) {
		if o == nil {
			return true
		}
		if since, is := readyAt(o.(*corev1.Node)); !is && j.over(since, unreachableAfter) {
			return true
		}
	}
	return j.refusals[pod.UID] >= j.patience(m)
}

// patience is how often the budget of a pod may refuse its eviction.
func (j *Judge) patience(m machine) int {
	retries := int(j.timeout(m) / evictEvery)
	if m.retries != nil {
		retries = min(retries, int(*m.retries))
	}
	return max(1, retries)
}

func claims(pod *corev1.Pod) (out []string) {
	for _, v := range pod.Spec.Volumes {
		if c := v.PersistentVolumeClaim; c != nil {
			out = append(out, c.ClaimName)
		}
	}
	return out
}

// volumeLeaves judges the order in which pods with volumes are evicted.
func (j *Judge) volumeLeaves(p *Pass, pod *corev1.Pod) {
	if len(claims(pod)) == 0 {
		return
	}
	if j.evicted[pod.UID] == nil {
		j.evicted[pod.UID] = map[int]bool{}
	}
	j.evicted[pod.UID][p.By.Process] = true
	if p.By.Late || !j.inTurn(pod.Spec.NodeName, p) {
		return
	}
	for _, o := range j.All(&corev1.Pod{}) {
		other := o.(*corev1.Pod)
		if len(claims(other)) == 0 || other.UID == pod.UID || other.Spec.NodeName != pod.Spec.NodeName || other.DeletionTimestamp == nil {
			continue
		}
		// This process may not have seen the requests of another.
		if j.evicted[other.UID][p.By.Process] && j.Now().Before(other.DeletionTimestamp.Add(j.shorter(p))) {
			j.Broken(VolumesInTurn, "pod %s was removed from node %s while pod %s is still being deleted", pod.Name, pod.Spec.NodeName, other.Name)
		}
	}
	if name := j.leftBehind(pod.Spec.NodeName, p); name != "" {
		j.Broken(VolumesInTurn, "pod %s was removed from node %s while %s is still attached to it", pod.Name, pod.Spec.NodeName, name)
	}
}

// shorter is how long p waits for volumes, by its clock.
func (j *Judge) shorter(p *Pass) time.Duration {
	return j.api(p.By).DetachTimeout - max(0, p.Skew)
}

// inTurn reports whether pods with volumes must be evicted from the node one after another. This does not hold for the
// other API, for forced drains, and for nodes that were not ready a moment before.
func (j *Judge) inTurn(nodeName string, p *Pass) bool {
	n := j.node(nodeName)
	m, there := j.machineOn(nodeName)
	if n == nil || !there || !heals(m) || j.ever(m.GetUID(), p, atBegin, func(m machine) bool { return m.hurried }) {
		return false
	}
	since, is := readyAt(n)
	return is && !j.timedOut(m, n) && since.Add(time.Second+j.ViewLag+2*j.Skew).Before(p.At)
}

// leftBehind names a volume that is attached to the node although its pod was deleted: so long before the pass that every
// cache shows both, and so recently that the drain still waits for the volume. The cache of attachments may have stopped
// before.
func (j *Judge) leftBehind(nodeName string, p *Pass) string {
	for _, o := range j.All(&storagev1.VolumeAttachment{}) {
		a := o.(*storagev1.VolumeAttachment)
		if a.Spec.NodeName != nodeName || a.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		left, gone := j.leftBy(*a.Spec.Source.PersistentVolumeName, nodeName)
		made := a.CreationTimestamp.Time
		known := left.Add(j.ViewLag).Before(p.At) && made.Add(time.Second+j.ViewLag).Before(p.At)
		if gone && known && p.seen[a.UID] != nil && j.Now().Sub(left) < j.shorter(p) && j.watched(made) == j.Now().Sub(made) {
			return a.Name
		}
	}
	return ""
}

// leftBy is the time at which the last pod with the volume left the node; false if such a pod still exists, or never
// existed. A pod whose grace period had ended earlier left at that earlier time.
func (j *Judge) leftBy(volume, nodeName string) (at time.Time, gone bool) {
	claim := ""
	for _, o := range j.All(&corev1.PersistentVolume{}) {
		if ref := o.(*corev1.PersistentVolume).Spec.ClaimRef; o.GetName() == volume && ref != nil {
			claim = ref.Name
		}
	}
	uses := func(o client.Object) bool {
		pod, ok := o.(*corev1.Pod)
		return ok && claim != "" && pod.Spec.NodeName == nodeName && slices.Contains(claims(pod), claim)
	}
	for _, o := range j.All(&corev1.Pod{}) {
		if uses(o) {
			return at, false
		}
	}
	for _, pod := range j.departed {
		if uses(pod.was) && pod.at.After(at) {
			at, gone = pod.at, true
		}
	}
	return at, gone
}
