package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// heldByOthers reports whether somebody else holds the object.
func (j *Judge) heldByOthers(o client.Object) bool {
	return j.Foreign != "" && slices.Contains(o.GetFinalizers(), j.Foreign)
}

// judgeHolders judges that no controller takes the finalizer of somebody else off.
func (j *Judge) judgeHolders(p *Pass, was, now client.Object) {
	if p != nil && was != nil && j.heldByOthers(was) && (now == nil || !j.heldByOthers(now)) {
		j.Broken(OthersHold, "%s-%d takes the finalizer of somebody else off %T %s", p.By.Role, p.By.Process, was, was.GetName())
	}
}

// doneWith reports whether nothing remains to be done for the machine but what others
// hold it for: our finalizer is off, and nothing of it is left.
func (j *Judge) doneWith(m machine) bool {
	uid := string(m.GetUID())
	return m.GetDeletionTimestamp() != nil && j.heldByOthers(m) && !j.held(m) && len(j.existing(uid)) == 0 &&
		!slices.ContainsFunc(j.Parts(), func(p Part) bool { return p.UID == uid })
}

// heldSet reports whether a set that is being deleted waits for others only: it is held
// itself, and is as it was, or its machines are.
func (j *Judge) heldSet(s set) bool {
	others := func(m machine) bool { return !j.doneWith(m) }
	return j.heldByOthers(s) || len(j.controlled(s)) > 0 && !slices.ContainsFunc(j.controlled(s), others)
}

// heldNode reports whether a node that is being deleted waits for others only, whose
// machine is gone.
func (j *Judge) heldNode(o client.Object) bool {
	n, ok := o.(*corev1.Node)
	return ok && n.DeletionTimestamp != nil && j.heldByOthers(n)
}

// releasedBefore reports whether the machine controller let go of the machine, and others
// held it for longer.
func (j *Judge) releasedBefore(uid types.UID) bool {
	return slices.ContainsFunc(j.log[uid], func(c change) bool {
		return c.by.Role == Machines && c.was != nil && c.now != nil && j.held(readMachine(c.was)) && !j.held(readMachine(c.now))
	})
}

// lingering counts the machines of s that only others hold: one API counts them among
// its replicas as long as they are there.
func (j *Judge) lingering(s set) (n int32) {
	for _, m := range j.controlled(s) {
		if heals(m) && s.selects(m) && j.doneWith(m) {
			n++
		}
	}
	return n
}

// crowded reports whether a set by itself stays frozen on account of machines that only
// others hold: all that are there count, and there have to be fewer than twice what is
// wanted and two more.
func (j *Judge) crowded(s set) bool { return s.size+int(j.lingering(s)) > 2*s.size+1 }
