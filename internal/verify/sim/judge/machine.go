package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Created judges that the cloud creates an instance for a pass. late: the request was sent some time ago.
func (j *Judge) Created(made Instance, p *Pass, late bool) {
	j.changesBefore[made.ID] = j.seq
	n := 0
	for _, i := range j.Instances() {
		if i.UID == made.UID && !i.ByHand && !diedUnrecorded(j, i) {
			n++
		}
	}
	if n > 1 {
		j.Broken(OneInstance, "%s has got %d instances", made.Name, n)
	}
	if j.blind() && !late {
		j.Broken(StillWhenBlind, "instance %s of %s was created", made.ID, made.Name)
	}
	all := j.since(types.UID(made.UID), p, bySight)
	there := slices.DeleteFunc(slices.Clone(all), func(o client.Object) bool { return o == nil })
	switch {
	case len(there) == 0:
		j.Broken(NoOrphan, "instance %s was created for %s, which does not exist", made.ID, made.Name)
	case all[len(all)-1] == nil:
		j.strays[made.UID] = true
	case !slices.ContainsFunc(there, func(o client.Object) bool { return j.held(readMachine(o)) }):
		j.Broken(HeldFirst, "instance %s was created for %s, which has no finalizer", made.ID, made.Name)
	}
}

// diedUnrecorded reports whether the instance died before any machine had recorded it, or a restore removed the record since. If a cloud
// has no tokens but its existing resources, it creates another instance then, and no client can know of the first.
func diedUnrecorded(j *Judge, i Instance) bool {
	records := func(o client.Object) bool { return o != nil && sameID(readMachine(o).provider, i.ProviderID) }
	if m, there := find(j.machines(), types.UID(i.UID)); there && records(m.Object) {
		return false
	}
	return i.Died && !i.Exists(j.Now()) && !slices.ContainsFunc(j.log[types.UID(i.UID)], func(c change) bool {
		return c.n > j.restored && (records(c.was) || records(c.now))
	})
}

// Stopped judges that an instance is terminated while it runs.
func (j *Judge) Stopped(i Instance, p *Pass) {
	if j.others(i) {
		j.Broken(OthersKept, "instance %s (%s) was terminated", i.ID, i.Name)
	}
	m, there := find(j.machines(), types.UID(i.UID))
	if p.By.Role == Orphans {
		j.collected(i, m, there)
		return
	}
	if !there || j.born(m.GetUID()) > p.began {
		return // the pass cannot know a machine that was recreated since it began
	}
	// A restore of the API server may undo the deletion, even if
	// caches still show it: the controller must read live.
	if !j.ever(m.GetUID(), p, atBegin, func(m machine) bool { return m.GetDeletionTimestamp() != nil }) {
		j.Broken(WantedStays, "instance %s of %s was terminated, but the machine was not deleted", i.ID, m.GetName())
	}
	hooked := func(m machine) bool { return m.preTerminate || m.preDrain && !m.drained }
	if j.always(m.GetUID(), p, atBegin, hooked) {
		j.Broken(HooksHonoured, "instance %s of %s was terminated in spite of its hooks", i.ID, m.GetName())
	}
	if j.ever(m.GetUID(), p, atBegin, func(m machine) bool { return m.hurried }) {
		return
	}
	n := j.node(i.NodeName)
	if n == nil || n.Spec.ProviderID != "" && !sameID(n.Spec.ProviderID, i.ProviderID) || j.hostile(n) && disowned(n, i) {
		return
	}
	j.drained(i, n, p)
	if name := j.leftBehind(n.Name, p); name != "" && j.inTurn(n.Name, p) {
		j.Broken(VolumesFirst, "instance %s of %s was terminated with %s attached", i.ID, i.Name, name)
	}
}

// drained judges that the node has no pods, except pods that a drain does not evict, pods that were created after the pass
// began, and pods for which a drain no longer waits.
func (j *Judge) drained(i Instance, n *corev1.Node, p *Pass) {
	for _, o := range j.All(&corev1.Pod{}) {
		pod := o.(*corev1.Pod)
		if pod.Spec.NodeName != n.Name || daemon(pod) || j.born(pod.UID) > p.began {
			continue
		}
		if !j.needNotWait(n, pod) {
			j.Broken(DrainedFirst, "instance %s of %s was terminated with pod %s still on its node", i.ID, i.Name, pod.Name)
		}
	}
}

// needNotWait reports whether a drain does not wait for a terminating pod: its grace period is over, or its node is not
// ready or became ready only after the deletion, so that no kubelet could confirm the pod's end.
func (j *Judge) needNotWait(n *corev1.Node, pod *corev1.Pod) bool {
	at := pod.DeletionTimestamp
	if at == nil {
		return false
	}
	grace := time.Duration(0)
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	since, is := readyAt(n)
	return !is || !j.Now().Before(at.Time) || !since.Before(at.Add(-grace))
}

// MachineWritten judges a write to a machine by the machine controller or the set controller; old is nil for a creation,
// now for a deletion.
func (j *Judge) MachineWritten(p *Pass, old, now client.Object) {
	if p.By.Role == Sets {
		j.setWrites(p, old, now)
		return
	}
	if p.By.Role != Machines || old == nil {
		return
	}
	was := readMachine(old)
	if now != nil {
		j.judgeSight(p, was, readMachine(now))
		j.judgeOneByOne(p, was, readMachine(now))
		j.judgeAbsence(p, was, readMachine(now))
		j.judgeReady(p, was, readMachine(now))
		j.judgeOwnNode(was, readMachine(now))
		j.judgeEarlyFailure(was, readMachine(now))
	}
	if j.held(was) && (now == nil || !j.held(readMachine(now))) {
		j.released(was)
		return
	}
	if old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil) {
		if n := j.node(was.node); n != nil && n.DeletionTimestamp == nil && !j.hostile(n) {
			j.Broken(NodeLossReal, "%s was deleted although node %s exists", old.GetName(), n.Name)
		}
		for _, i := range j.existing(string(old.GetUID())) {
			if j.forgotten[i.Node] && i.Gone.IsZero() {
				j.Broken(NodeLossReal, "%s was deleted although its instance %s runs and a restore removed the node", old.GetName(), i.ID)
			}
		}
	}
}

// NodeLostInRestore records that a restore of the target cluster removed a node: no controller may conclude that the node
// was deleted.
func NodeLostInRestore(j *Judge, node types.UID) { j.forgotten[node] = true }

func (j *Judge) released(m machine) {
	uid := string(m.GetUID())
	j.judgeTokens(m)
	j.settled(uid)
	for _, i := range j.existing(uid) {
		j.Broken(NoEarlyRelease, "%s was released, but its instance %s exists", m.GetName(), i.ID)
	}
	for _, part := range j.Parts() {
		if part.UID == uid {
			j.Broken(NoEarlyRelease, "%s was released, but its %s exists", m.GetName(), part.Name)
		}
	}
}

// NodeDeleted judges that a controller deletes a node.
func (j *Judge) NodeDeleted(n *corev1.Node) {
	for _, i := range j.existing("") {
		if i.Node != n.UID || i.Hostile {
			continue
		}
		j.Broken(NodeLast, "node %s was deleted, but its instance %s exists", n.Name, i.ID)
	}
}

// TokenGone judges that a kubelet finds its bootstrap token deleted before it expired.
func (j *Judge) TokenGone(i Instance, token string) {
	const recentNode = 10 * time.Minute
	m, there := find(j.machines(), types.UID(i.UID))
	if !there || m.GetDeletionTimestamp() != nil || !j.Now().Before(i.Created.Add(recentNode)) || nameTaken(j, i) {
		return
	}
	j.Broken(TokenThere, "instance %s of %s cannot join: its token %s was deleted", i.ID, i.Name, token)
}

// nameTaken reports whether another instance has joined under the node name of i since the token of i was created: by name
// and age that node may be the node of i, whose token would then have been used.
func nameTaken(j *Judge, i Instance) bool {
	var made time.Time
	for _, log := range j.log {
		if s, is := log[0].now.(*corev1.Secret); is && s.Annotations[tokenUID] == i.UID && (made.IsZero() || log[0].at.Before(made)) {
			made = log[0].at
		}
	}
	return slices.ContainsFunc(j.Instances(), func(o Instance) bool {
		joined := j.made(o.Node)
		return o.ID != i.ID && o.NodeName == i.NodeName && !joined.IsZero() && !made.IsZero() && !joined.Before(made)
	})
}
