package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hasForeignFinalizer reports whether somebody else holds the object.
func (j *Judge) hasForeignFinalizer(o client.Object) bool {
	return j.Foreign != "" && slices.Contains(o.GetFinalizers(), j.Foreign)
}

// judgeForeignFinalizer judges that no controller takes the finalizer of somebody else off.
func (j *Judge) judgeForeignFinalizer(p *Pass, was, now client.Object) {
	if p != nil && was != nil && j.hasForeignFinalizer(was) && (now == nil || !j.hasForeignFinalizer(now)) {
		j.Broken(OthersHold, "%s-%d takes the finalizer of somebody else off %T %s", p.By.Role, p.By.Process, was, was.GetName())
	}
}

// onlyForeignFinalizersLeft reports whether nothing remains to be done for the machine but what others
// hold it for: our finalizer is off, and nothing of it is left.
func (j *Judge) onlyForeignFinalizersLeft(m machine) bool {
	uid := string(m.GetUID())
	return m.GetDeletionTimestamp() != nil && j.hasForeignFinalizer(m) && !j.held(m) && len(j.existing(uid)) == 0 &&
		!slices.ContainsFunc(j.Parts(), func(p Part) bool { return p.UID == uid })
}

// onlyOthersHoldSet reports whether a set that is being deleted waits for others only: it is held
// itself, and is as it was, or its machines are.
func (j *Judge) onlyOthersHoldSet(s set) bool {
	others := func(m machine) bool { return !j.onlyForeignFinalizersLeft(m) }
	return j.hasForeignFinalizer(s) || len(j.controlled(s)) > 0 && !slices.ContainsFunc(j.controlled(s), others)
}

// onlyOthersHoldNode reports whether a node that is being deleted waits for others only, whose
// machine is gone.
func (j *Judge) onlyOthersHoldNode(o client.Object) bool {
	n, ok := o.(*corev1.Node)
	return ok && n.DeletionTimestamp != nil && j.hasForeignFinalizer(n)
}

// releasedBefore reports whether the machine controller let go of the machine, and others
// held it for longer.
func (j *Judge) releasedBefore(uid types.UID) bool {
	return slices.ContainsFunc(j.log[uid], func(c change) bool {
		return c.by.Role == Machines && c.was != nil && c.now != nil && j.held(readMachine(c.was)) && !j.held(readMachine(c.now))
	})
}

// heldOnlyByOthers counts the machines of s that only others hold: one API counts them among
// its replicas as long as they are there.
func (j *Judge) heldOnlyByOthers(s set) (n int32) {
	for _, m := range j.controlled(s) {
		if heals(m) && s.selects(m) && j.onlyForeignFinalizersLeft(m) {
			n++
		}
	}
	return n
}

// staysFrozen reports whether a set by itself stays frozen on account of machines that only
// others hold: all that are there count, and there have to be fewer than twice what is
// wanted and two more.
func (j *Judge) staysFrozen(s set) bool { return s.size+int(j.heldOnlyByOthers(s)) > 2*s.size+1 }
