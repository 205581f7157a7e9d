package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
)

// nodeFailure is a failure of a kubelet for some time: in each period, it fails in the first part. The zero value is no
// failure.
type nodeFailure struct {
	from, to     time.Time
	period, sick time.Duration
	// mute: the kubelet does not report while it fails; otherwise it reports that it is not ready. forGood: the failure does
	// not end.
	mute, forGood bool
}

// at reports whether the failure shows at t.
func (a nodeFailure) at(t time.Time) bool {
	return !t.Before(a.from) && (a.forGood || t.Before(a.to)) && (a.period == 0 || t.Sub(a.from)%a.period < a.sick)
}

// next is the next time after t at which that changes; zero: never.
func (a nodeFailure) next(t time.Time) time.Time {
	switch {
	case t.Before(a.from):
		return a.from
	case a.forGood, !t.Before(a.to):
		return time.Time{}
	case a.period == 0:
		return a.to
	}
	phase := t.Sub(a.from) % a.period
	change := t.Add(a.period - phase)
	if phase < a.sick {
		change = t.Add(a.sick - phase)
	}
	if change.After(a.to) {
		return a.to
	}
	return change
}

// cut is a zone whose kubelets are cut off from the network.
type cut struct {
	zone     string
	from, to time.Time
}

// zones are the zones of instances, in turn.
var zones = []string{"a", "b", "c"}

func zoneOf(i *cloud.Machine) string { return zones[int(i.ID[len(i.ID)-1])%len(zones)] }

// place gives a new node its zone, in worlds in which zones matter.
func (w *World) place(k *kubelet, n *corev1.Node) {
	if w.profile.frail {
		metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelTopologyZone, zoneOf(k.on))
	}
}

// mute reports whether the kubelet does not report although it runs and has no other failure.
func (w *World) mute(k *kubelet) bool {
	c := w.healthState.cut
	return k.failure.mute && k.failure.at(w.now) || zoneOf(k.on) == c.zone && !w.now.Before(c.from) && w.now.Before(c.to)
}

// readyStatus is the status that a kubelet reports.
func (w *World) readyStatus(k *kubelet) corev1.ConditionStatus {
	if k.failure.at(w.now) && !k.failure.mute {
		return corev1.ConditionFalse
	}
	return corev1.ConditionTrue
}

// failNode makes a kubelet fail: once, repeatedly, or for good.
func (w *World) failNode() {
	var fit []*kubelet
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); k.joined && w.nodeOf(k) != nil && !k.failure.forGood && !w.now.Before(k.failure.to) {
			fit = append(fit, k)
		}
	}
	k, ok := pick(w, fit)
	if !ok {
		return
	}
	a := nodeFailure{from: w.now, to: w.now.Add(time.Duration(w.between(30, 900)) * time.Second), mute: w.chance(50)}
	switch n := w.roll(10); {
	case n < 2:
		a.forGood = true
	case n < 6:
		a.to = w.now.Add(time.Duration(w.between(300, 1800)) * time.Second)
		a.period = time.Duration(w.between(20, 400)) * time.Second
		a.sick = a.period * time.Duration(w.between(2, 8)) / 10
	}
	k.failure = a
	w.tracef("kubelet", "%s AILS for %v, %v of each %v, mute %v, for good %v", k.on.Name, a.to.Sub(a.from), a.sick, a.period, a.mute, a.forGood)
}

// cutZone cuts a whole zone off. Some zones never return.
func (w *World) cutZone() {
	if w.now.Before(w.healthState.cut.to) || !w.chance(30) {
		return
	}
	w.healthState.cut = cut{zone: zones[w.roll(len(zones))], from: w.now, to: w.now.Add(time.Duration(w.between(30, 1500)) * time.Second)}
	lost := w.chance(15)
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); lost && k.joined && zoneOf(i) == w.healthState.cut.zone {
			k.failure = nodeFailure{from: w.now, mute: true, forGood: true}
		}
	}
	w.tracef("network", "zone %s GOES DARK for %v, what is in it for good: %v", w.healthState.cut.zone, w.healthState.cut.to.Sub(w.now), lost)
}

// heartbeatInterval is the time between two heartbeats of an idle kubelet.
const heartbeatInterval = 5 * time.Minute

// advanceNodes lets the time up to t act on nodes: the cluster sees each change of a node that fails repeatedly,
// and each kubelet sends heartbeats.
func (w *World) advanceNodes(t time.Time) {
	if !w.profile.frail && !w.profile.checks {
		return
	}
	for {
		next := w.healthState.beat
		for _, i := range w.cloud.Existing("") {
			if at := w.nextNodeChange(w.kubelet(i)); !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		if next.After(t) {
			return
		}
		w.now = next
		for _, i := range w.cloud.Existing("") {
			w.show(w.kubelets[i.ID])
		}
		if !w.now.Before(w.healthState.beat) {
			w.healthState.beat = w.now.Add(heartbeatInterval)
			w.sendHeartbeats()
		}
	}
}

// nextNodeChange is the next time at which the cluster sees a change of a kubelet that fails repeatedly; zero: never.
func (w *World) nextNodeChange(k *kubelet) time.Time {
	if k.failure.period == 0 {
		return time.Time{}
	}
	next := k.failure.next(w.now)
	if n := w.nodeOf(k); n != nil && !w.alive(k) && ready(n) != corev1.ConditionUnknown {
		if at := k.seen.Add(unknownAfter); at.After(w.now) && (next.IsZero() || at.Before(next)) {
			return at
		}
	}
	return next
}

// show updates the node of a kubelet that fails repeatedly.
func (w *World) show(k *kubelet) {
	n := w.nodeOf(k)
	if k.failure.period == 0 || n == nil {
		return
	}
	if k.failure.at(w.now) && !k.failure.at(w.now.Add(-1)) {
		k.seen = w.now
	}
	switch silent := !w.alive(w.kubelet(k.on)); {
	case !silent && ready(n) != w.readyStatus(k):
		w.report(n, w.readyStatus(k))
	case silent && ready(n) != corev1.ConditionUnknown && !w.now.Before(k.seen.Add(unknownAfter)):
		w.report(n, corev1.ConditionUnknown)
	}
}

// sendHeartbeats sends the heartbeats of all kubelets that can report.
func (w *World) sendHeartbeats() {
	for _, i := range w.cloud.Existing("") {
		k := w.kubelet(i)
		n := w.nodeOf(k)
		if n == nil || !w.alive(k) {
			continue
		}
		w.heartbeat(n)
	}
}

// endNodeFaults ends the temporary failures of nodes, and makes some nodes fail for good: their machines have to
// be replaced.
func (w *World) endNodeFaults() {
	w.judge.FaultsStopped()
	w.healthState.cut.to = w.healthState.cut.from
	for _, i := range w.cloud.Machines() {
		if k := w.kubelet(i); !k.failure.forGood {
			k.failure = nodeFailure{}
		}
	}
	if !w.profile.frail {
		return
	}
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); w.nodeOf(k) != nil && !k.failure.forGood && w.chance(10) {
			k.failure = nodeFailure{from: w.now, mute: w.chance(50), forGood: true}
			w.tracef("kubelet", "%s ails for good, mute %v", i.Name, k.failure.mute)
		}
	}
}

// mayStaySilent reports whether a kubelet may stay silent: no controller replaces its machine or removes its
// instance. A kubelet does not join if its machine is being deleted or lost and the instance cannot be removed: no
// controller approves its certificate. It does not join either if its machine failed before it knew of the
// instance: no controller asks for that instance again, and so none learns its node name.
func (w *World) mayStaySilent(k *kubelet) bool {
	m, failed := w.machineOf(w.uidOf(k.on)), k.failure.forGood && !w.now.Before(k.stalled)
	switch {
	case w.profile.affects(k.on.Name) && (m == nil || m.GetDeletionTimestamp() != nil):
		return true
	case m == nil:
		return (failed || !k.joined) && w.judge.Stays(w.instance(k.on))
	case w.hopelessInstance(k.on):
		return true
	}
	unknown := w.profile.certified && !k.joined && !w.known(k.on)
	return (failed || unknown) && w.judge.GivenUp(m)
}
