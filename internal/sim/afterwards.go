package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/sim/cloud"
)

const (
	// patience is how long the world may take to come to rest: longer than the
	// longest timeouts (2 h of draining, 10 min of health, 20 min of joining).
	patience = 8 * time.Hour
	// mostRounds bounds the work to come to rest.
	mostRounds = 5000
	// restTime is for how long nothing may be written at rest, mostPasses how
	// many passes may be made meanwhile.
	restTime   = time.Hour
	mostPasses = 2000
	// healthEvery is how often somebody deletes machines that are beyond help,
	// in the dialect that leaves it to others.
	healthEvery = 20 * time.Minute
)

// afterwards is the time after the faults.
func (w *World) afterwards() {
	w.tracef("world", "the faults stop")
	w.land()
	w.mend()
	w.lastIllness()
	clear(w.users.intruders)
	if !w.converge(Converges, w.unsettled, w.nurse) {
		return
	}
	w.rest()
	w.deleteAll()
	w.converge(LeavesNothing, w.leftover, func() {})
}

// land brings to an end all that is under way.
func (w *World) land() {
	w.reconnect()
	for len(w.late) > 0 {
		w.stepLate()
	}
	for _, p := range slices.Clone(w.procs) {
		if p.deposed != nil {
			w.lapse(p)
			continue
		}
		for _, t := range slices.Clone(p.tasks) {
			w.finish(p, t)
		}
	}
}

// converge lets the world go on by itself until nothing remains to be done.
func (w *World) converge(statement string, remains func() string, nurse func()) bool {
	end, nursing := w.now.Add(patience), w.now.Add(healthEvery)
	for range mostRounds {
		if w.violation != nil {
			return false
		}
		if w.workOnce() {
			continue
		}
		w.checkOverdue()
		why := remains()
		if why == "" {
			return true
		}
		next := w.nextTime()
		if next.IsZero() || next.After(nursing) {
			next = nursing
		}
		if w.now.After(end) {
			w.broken(statement, "after %v: %s", patience, why)
			return false
		}
		w.advanceTo(next)
		if !w.now.Before(nursing) {
			nursing = w.now.Add(healthEvery)
			nurse()
		}
	}
	w.broken(statement, "still busy after %d rounds: %s", mostRounds, remains())
	return false
}

// workOnce lets everybody do once what they can do now, and reports whether
// anybody could.
func (w *World) workOnce() bool {
	did := false
	for _, p := range slices.Clone(w.procs) {
		did = w.catchUp(p) || did
		for _, key := range p.startable() {
			p.begin(key)
			did = true
		}
	}
	for _, actions := range []func() []func(){w.nodeActions, w.podActions, w.collectorActions} {
		if all := actions(); len(all) > 0 {
			all[0]()
			did = true
		}
	}
	return did
}

// unsettled says what is not as was asked for; empty when all is.
func (w *World) unsettled() string {
	for _, p := range w.procs {
		if n := len(p.queue.failures); n > 0 {
			return fmt.Sprintf("%s has to repeat %d passes that failed", p.name(), n)
		}
	}
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); (!w.alive(k) || !k.joined && !k.never) && !w.beyondHelp(k) {
			return fmt.Sprintf("the kubelet of %s is silent", i.Name)
		}
	}
	for _, m := range w.store.All(w.tells.machine) {
		if m.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("machine %s is still being deleted", m.GetName())
		}
		v := w.tells.view(m)
		if w.tells.unsure != nil && w.well(m) && w.tells.unsure(m) {
			return fmt.Sprintf("machine %s does not know of its instance", m.GetName())
		}
		if n := w.node(v.NodeName); n != nil && n.DeletionTimestamp != nil {
			return fmt.Sprintf("node %s is still being deleted", n.Name)
		}
		if !w.well(m) && !w.givenUp(m, v) {
			return fmt.Sprintf("machine %s is not well: stage %q, node %q", m.GetName(), v.Stage, v.NodeName)
		}
		if m.GetAnnotations()[dialect.UnrecordedAnnotation] != "" && !w.doubled(v) {
			return fmt.Sprintf("machine %s says that it has instances besides its own", m.GetName())
		}
	}
	for _, s := range w.store.All(w.tells.set) {
		if s.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("set %s is still being deleted", s.GetName())
		}
		n, t := w.tells.size(s), w.tells.tally(s)
		if have := len(w.members(s)); have != n || t.Replicas != int32(n) || t.Ready != int32(n) || t.Available != int32(n) {
			return fmt.Sprintf("set %s of %d has %d machines and says %+v", s.GetName(), n, have, t)
		}
	}
	if why := w.unrolled(); why != "" {
		return why
	}
	if why := w.miscountedChecks(); why != "" {
		return why
	}
	return w.stray()
}

// givenUp reports whether the machine may stay as it is: it failed, it is
// nobody's, and nothing makes it recover, or end an update in place. The node of
// its name may be that of an instance whose machine was lost.
func (w *World) givenUp(m client.Object, v lifecycle.Machine) bool {
	n := w.node(v.NodeName)
	stuck := !nodeReady(n) || w.fact(m).Marks.Candidate ||
		v.ProviderID != "" && n.Spec.ProviderID != "" && !strings.EqualFold(n.Spec.ProviderID, v.ProviderID)
	return v.Stage == lifecycle.StageFailed && w.tells.heals && metav1.GetControllerOf(m) == nil && stuck
}

// well reports whether the machine runs, with the instance that it has recorded
// and no other, and its node is ready.
func (w *World) well(m client.Object) bool {
	v, there := w.tells.view(m), w.cloud.Existing(w.tells.view(m).UID)
	return v.Stage == lifecycle.StageRunning && nodeReady(w.node(v.NodeName)) && len(there) == 1 && there[0].ProviderID() == v.ProviderID
}

// stray names what belongs to no machine; empty when there is no such thing.
func (w *World) stray() string {
	for _, i := range w.cloud.Existing("") {
		switch m := w.machineOf(i.UID); {
		case m == nil && !w.excused(i.UID) && !w.namesake(i):
			return fmt.Sprintf("instance %s of %s has no machine", i.ID, i.Name)
		case m != nil && w.losses.doubles[i.ID] && w.spare(i, m):
			return fmt.Sprintf("machine %s has instance %s besides its own", i.Name, i.ID)
		}
	}
	for _, p := range w.cloud.Parts("") {
		if w.machineOf(p.UID) == nil && !w.excused(p.UID) && !w.inUse(p.UID) {
			return fmt.Sprintf("the %s of %s has no machine", p.Name, p.UID)
		}
	}
	for _, n := range objects(w, &corev1.Node{}) {
		m := w.store.Lookup(w.tells.machine, client.ObjectKey{Namespace: namespace, Name: n.Name})
		if m == nil && !w.strayNode(n) {
			return fmt.Sprintf("node %s has no machine", n.Name)
		}
	}
	return ""
}

// namesake reports whether a machine that was given up has the instance's name,
// and none of its own: it is not touched before that machine goes.
func (w *World) namesake(i *cloud.Machine) bool {
	m := w.store.Lookup(w.tells.machine, client.ObjectKey{Namespace: namespace, Name: i.Name})
	return m != nil && w.givenUp(m, w.tells.view(m)) && len(w.cloud.Existing(string(m.GetUID()))) == 0
}

// inUse reports whether an instance is there that was made for the UID, too.
func (w *World) inUse(uid string) bool { return uid != "" && len(w.cloud.Existing(uid)) > 0 }

// excused reports whether what was made for a machine that is gone may stay:
// nobody looks for it, or it is not to be touched.
func (w *World) excused(uid string) bool {
	if uid == "" && !w.tells.strangers {
		return true
	}
	return w.users.strays[uid] && !w.is.collects || w.is.collects && w.doubtful()
}

// strayNode reports whether a stray instance made the node, or one that may stay.
func (w *World) strayNode(n *corev1.Node) bool {
	for _, i := range w.cloud.Machines() {
		left := w.users.strays[i.UID] || w.users.hurried[i.UID] // nobody looks for the nodes of these
		if i.Name == n.Name && (left && !w.is.collects || i.Exists(w.now) && w.machineOf(i.UID) == nil && w.excused(i.UID)) {
			return true
		}
	}
	return false
}

// nurse does what only people do: it deletes machines that are beyond help,
// where nobody else does, and looks after rollouts that wait for somebody.
func (w *World) nurse() {
	w.nurseRollouts()
	if w.tells.heals {
		return
	}
	for _, m := range w.store.All(w.tells.machine) {
		if m.GetDeletionTimestamp() == nil && !w.well(m) {
			w.sendAway(m)
			w.does("deletes machine %s, which is beyond help", m.GetName())
		}
	}
}

// breath is how long the world may take to do what its controllers put off: a
// set that is woken often is looked at half a second later, and a kubelet that
// has gone is noticed after its grace.
const breath = 2 * time.Minute

// breathe lets that be done.
func (w *World) breathe() {
	for end := w.now.Add(breath); w.now.Before(end) && w.violation == nil; {
		if w.workOnce() {
			continue
		}
		next := w.nextTime()
		if next.IsZero() || next.After(end) {
			next = end
		}
		w.advanceTo(next)
	}
}

// rest watches that nothing is written while nothing changes but heartbeats.
func (w *World) rest() {
	if w.updates() || w.unmarked() || w.uncollected() {
		return
	}
	w.breathe()
	writes, passes, end := w.writes, w.reconciles, w.now.Add(restTime)
	w.tracef("world", "is at rest")
	for beat := w.now; w.now.Before(end) && w.violation == nil; {
		if w.workOnce() {
			continue
		}
		if !w.now.Before(beat) {
			for _, n := range objects(w, &corev1.Node{}) {
				w.heartbeat(n)
			}
			beat = w.now.Add(5 * time.Minute)
			continue
		}
		next := w.nextTime()
		if next.IsZero() || next.After(beat) {
			next = beat
		}
		w.advanceTo(next)
		if w.reconciles-passes > mostPasses {
			break
		}
	}
	if n := w.writes - writes; n > 0 {
		w.broken(Rests, "%d writes in %v", n, restTime)
	}
	if n := w.reconciles - passes; n > mostPasses {
		w.broken(Rests, "%d passes in %v", n, restTime)
	}
}

// updates reports whether a node is being updated, which nobody waits for where
// its set has no deployment any more.
func (w *World) updates() bool {
	return slices.ContainsFunc(w.store.All(w.tells.machine), func(m client.Object) bool {
		s := w.tells.view(m).Stage
		return s == lifecycle.StageUpdating || w.node(m.GetName()) != nil && w.fact(m).Marks.Selected
	})
}

// unmarked reports whether a node is no machine's and is not marked for that yet:
// that takes as long as machines may take to join.
func (w *World) unmarked() bool {
	known := map[string]bool{}
	for _, m := range w.store.All(w.tells.machine) {
		known[w.tells.view(m).NodeName] = true
	}
	return slices.ContainsFunc(objects(w, &corev1.Node{}), func(n *corev1.Node) bool {
		_, marked := n.Annotations[v1alpha1.AnnotationKeyNotManaged]
		return !marked && !known[n.Name]
	})
}

// uncollected reports whether a collector may still remove something: a listing
// that was doubted is believed some day.
func (w *World) uncollected() bool {
	nobodys := func(uid string) bool { return w.machineOf(uid) == nil && (uid != "" || w.tells.strangers) }
	return w.is.collects && (slices.ContainsFunc(w.cloud.Existing(""), func(i *cloud.Machine) bool { return nobodys(i.UID) }) ||
		slices.ContainsFunc(w.cloud.Parts(""), func(p *cloud.Part) bool { return nobodys(p.UID) }))
}

// heartbeat is what a kubelet writes all the time.
func (w *World) heartbeat(n *corev1.Node) {
	w.edit(n, "status", func(o client.Object) {
		for i := range o.(*corev1.Node).Status.Conditions {
			o.(*corev1.Node).Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(w.now.Truncate(time.Second))
		}
	})
}

func (w *World) deleteAll() {
	w.does("deletes everything")
	for _, c := range w.checks() {
		w.must("delete a health check", w.store.Delete(c, client.DeleteOptions{}))
	}
	for _, d := range w.deployments() {
		w.must("delete a deployment", w.store.Delete(d, client.DeleteOptions{}))
	}
	for _, s := range w.store.All(w.tells.set) {
		w.must("delete a set", w.store.Delete(s, client.DeleteOptions{}))
	}
	for _, m := range w.store.All(w.tells.machine) {
		w.sendAway(m)
	}
}

// leftover names something that is left; empty when nothing is.
func (w *World) leftover() string {
	for _, all := range [][]client.Object{w.deployments(), w.store.All(w.tells.set), w.store.All(w.tells.machine)} {
		for _, o := range all {
			return fmt.Sprintf("%s %s is left, finalizers %v", w.store.KindOf(o).Kind, o.GetName(), o.GetFinalizers())
		}
	}
	return w.stray()
}
