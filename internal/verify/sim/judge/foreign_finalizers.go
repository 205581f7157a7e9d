package judge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hasForeignFinalizer reports whether another controller's finalizer holds the object.
func (j *Judge) hasForeignFinalizer(o client.Object) bool {
	return j.Foreign != "" && slices.Contains(o.GetFinalizers(), j.Foreign)
}

// judgeForeignFinalizer judges that no controller removes a foreign finalizer.
func (j *Judge) judgeForeignFinalizer(p *Pass, was, now client.Object) {
	if p != nil && was != nil && j.hasForeignFinalizer(was) && (now == nil || !j.hasForeignFinalizer(now)) {
		j.Broken(OthersHold, "%s-%d removes a foreign finalizer from %T %s", p.By.Role, p.By.Process, was, was.GetName())
	}
}

// onlyForeignFinalizersLeft reports whether only foreign finalizers hold the machine: our finalizer is removed, and no
// instance or part of the machine is left.
func (j *Judge) onlyForeignFinalizersLeft(m machine) bool {
	uid := string(m.GetUID())
	return m.GetDeletionTimestamp() != nil && j.hasForeignFinalizer(m) && !j.held(m) && len(j.existing(uid)) == 0 &&
		!slices.ContainsFunc(j.Parts(), func(p Part) bool { return p.UID == uid })
}

// onlyOthersHoldSet reports whether a set that is being deleted waits only for foreign finalizers of the set itself or of
// its machines.
func (j *Judge) onlyOthersHoldSet(s set) bool {
	others := func(m machine) bool { return !j.onlyForeignFinalizersLeft(m) }
	return j.hasForeignFinalizer(s) || len(j.controlled(s)) > 0 && !slices.ContainsFunc(j.controlled(s), others)
}

// onlyOthersHoldNode reports whether a node without a machine that is being deleted waits only for foreign finalizers.
func (j *Judge) onlyOthersHoldNode(o client.Object) bool {
	n, ok := o.(*corev1.Node)
	return ok && n.DeletionTimestamp != nil && j.hasForeignFinalizer(n)
}

// releasedBefore reports whether the machine controller removed our finalizer before the machine's object was removed.
func (j *Judge) releasedBefore(uid types.UID) bool {
	return slices.ContainsFunc(j.log[uid], func(c change) bool {
		return c.by.Role == Machines && c.was != nil && c.now != nil && j.held(readMachine(c.was)) && !j.held(readMachine(c.now))
	})
}

// heldOnlyByOthers counts the machines of s that only foreign finalizers hold: one API counts such machines among the
// replicas of s.
func (j *Judge) heldOnlyByOthers(s set) (n int32) {
	for _, m := range j.controlled(s) {
		if heals(m) && s.selects(m) && j.onlyForeignFinalizersLeft(m) {
			n++
		}
	}
	return n
}

// staysFrozen reports whether machines that only foreign finalizers hold keep a set frozen. A set thaws when fewer machines
// exist than twice the desired number plus two.
func (j *Judge) staysFrozen(s set) bool { return s.size+int(j.heldOnlyByOthers(s)) > 2*s.size+1 }
