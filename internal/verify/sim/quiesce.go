package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

const (
	// patience is how long the world may take to come to rest. It is longer than the longest timeouts (2 h for a drain,
	// 10 min for health, 20 min for a join).
	patience = 8 * time.Hour
	// restTime is how long the world is watched at rest: no write may happen. mostPasses bounds the passes in that time.
	restTime   = time.Hour
	mostPasses = 2000
	// healthEvery is how often users delete machines that cannot recover, in the dialect whose controllers leave that to
	// users.
	healthEvery = 20 * time.Minute
)

// quiesce is the time after the faults have stopped.
func (w *World) quiesce() {
	w.tracef("world", "the faults stop")
	w.finishUnderWay()
	if w.profile.ends > 0 {
		w.finishNamespaceDeletion()
		return
	}
	w.repair()
	w.endNodeFaults()
	if !w.converge(judge.Converges, w.unsettled, w.intervene) {
		return
	}
	w.watchPermanentFault()
	w.rest()
	w.endPermanentFault()
	w.restoreClasses() // machines that could not be repaired may still name a class
	clearPlaces(w)
	w.deleteAll()
	w.converge(judge.LeavesNothing, func() string { return cmp.Or(w.judge.Leftover(), budgetUsers{w}.permitsOfDeleted()) }, func() { w.giveCredentials(); w.removeUnowned() })
}

// finishUnderWay ends all passes and delivers all requests.
func (w *World) finishUnderWay() {
	w.reconnect()
	w.endTroubles()
	w.upgrade()
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

// converge lets the world continue by itself until nothing remains to be done.
func (w *World) converge(statement string, remains func() string, intervene func()) bool {
	end, nursing := w.now.Add(patience), w.now.Add(healthEvery)
	for range w.mostRounds() {
		if w.violation != nil {
			return false
		}
		if w.workOnce() {
			continue
		}
		w.judge.Overdue()
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
			intervene()
		}
	}
	w.broken(statement, "still busy after %d rounds: %s", w.mostRounds(), remains())
	return false
}

// mostRounds bounds the work until the world is at rest. A permanent fault causes retries all that time;
// [World.watchPermanentFault] judges how often.
func (w *World) mostRounds() int {
	most := 5000 + 20*w.profile.many
	if w.profile.limitsDisruptions {
		most += int(patience / dueEvery)
	}
	if w.profile.permanent != "" {
		most *= int(patience / time.Hour)
	}
	return most
}

// workOnce lets every actor once do all that it can do now, and reports whether any actor could do anything.
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

// unsettled says which object is not in its desired state; empty if all are.
func (w *World) unsettled() string {
	for _, p := range w.procs {
		if n := w.failing(p); n > 0 {
			return fmt.Sprintf("%s still has to repeat %d failed passes", p.name(), n)
		}
	}
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); (!w.alive(k) || !k.joined && !k.never) && !w.mayStaySilent(k) && !w.hopelessOn(i) {
			return fmt.Sprintf("the kubelet of %s is silent", i.Name)
		}
	}
	for _, m := range w.machines() {
		if w.owners.chosen[m.GetUID()] && m.GetDeletionTimestamp() == nil && w.deploymentOfMachine(m) && !w.hopeless(m) {
			return fmt.Sprintf("machine %s, which an autoscaler chose for deletion, still exists", m.GetName())
		}
	}
	if name := w.machineToRepair(); name != "" {
		return fmt.Sprintf("machine %s still has to be restarted by the external controller", name)
	}
	return w.judge.Unsettled()
}

// deploymentOfMachine reports whether m belongs to a deployment.
func (w *World) deploymentOfMachine(m client.Object) bool {
	s := w.setOf(m)
	return s != nil && w.deploymentOf(s) != nil
}

// intervene does the work of users: they delete machines that cannot recover and that no controller deletes, and continue
// rollouts that wait for a user.
func (w *World) intervene() {
	w.each(w.interveneInRollouts)
	w.removeForeignFinalizers(false) // a set with a deployment may have adopted objects with such finalizers
	w.giveCredentials()
	cloudModel{w}.freeNames()
	w.each(w.keepPlaces)
	w.removeUnowned()
	w.restoreClasses() // a deleted class may have been held until now
	w.each(w.deleteUnhealthyMachines)
	w.each(w.replaceBadImages)
	hazardEffects{w}.inspected()
}

func (w *World) deleteUnhealthyMachines() {
	if w.adapter.heals {
		return
	}
	for _, m := range w.store.All(w.adapter.machine) {
		if m.GetDeletionTimestamp() == nil && !w.judge.Well(m) && !w.hopeless(m) {
			w.deleteObject(m)
			w.does("deletes machine %s, which cannot recover", m.GetName())
		}
	}
}

// longestDelay is the longest delay of controllers. A set that is woken often waits half a second, the cluster notices a
// stopped kubelet after its grace period, and a failed look-up of an instance is repeated after 5 minutes.
const longestDelay = 6 * time.Minute

// waitOutDelays waits until all delays of controllers have passed.
func (w *World) waitOutDelays() {
	long := longestDelay
	if w.profile.repaired || w.hasOldChecks() || w.hasRemediationRequests() {
		long += repairsEvery // the external controller may restart a machine again that was annotated before its node was ready
	}
	if w.profile.denials || w.profile.outages {
		long += 30 * time.Minute // a pass records the target's identity, which it could not read before
	}
	if w.hasRemediationRequests() {
		long += time.Hour // a check with requests reports its remedies of the last hour
	}
	w.until(w.now.Add(long))
}

// rest checks that no write except heartbeats happens while nothing changes.
func (w *World) rest() {
	if w.profile.permanent != "" || w.judge.MayStillWrite() {
		return
	}
	w.waitOutDelays()
	writes, passes, end := w.counts.writes, w.counts.reconciles, w.now.Add(restTime)
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
		if w.counts.reconciles-passes > mostPasses+20*w.profile.many {
			break
		}
	}
	if n := w.counts.writes - writes; n > len(w.apis)*(w.askedSince(end.Add(-restTime))+writesPerHour*len(budgetUsers{w}.budgets())) {
		w.broken(judge.Rests, "%d writes in %v", n, restTime)
	}
	if n := w.counts.reconciles - passes; n > mostPasses+20*w.profile.many {
		w.broken(judge.Rests, "%d passes in %v", n, restTime)
	}
}

// askedSince counts the certificate requests of kubelets without a machine: the controllers may report each request once
// for each API.
func (w *World) askedSince(start time.Time) (n int) {
	for _, r := range objects(w, &certificatesv1.CertificateSigningRequest{}) {
		if !r.CreationTimestamp.Time.Before(start.Truncate(time.Second)) {
			n++
		}
	}
	return n
}

// heartbeat is a kubelet's heartbeat.
func (w *World) heartbeat(n *corev1.Node) {
	w.edit(n, "status", func(o client.Object) {
		for i := range o.(*corev1.Node).Status.Conditions {
			o.(*corev1.Node).Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(w.now.Truncate(time.Second))
		}
	})
}

func (w *World) deleteAll() {
	w.does("deletes everything")
	w.removeForeignFinalizers(true)
	for _, kind := range w.checkKinds() {
		for _, c := range w.store.All(kind) {
			w.must("delete a health check", w.store.Delete(c, client.DeleteOptions{}))
		}
	}
	w.each(func() {
		for _, d := range w.deployments() {
			w.must("delete a deployment", w.store.Delete(d, client.DeleteOptions{}))
		}
		for _, s := range w.store.All(w.adapter.set) {
			w.must("delete a set", w.store.Delete(s, client.DeleteOptions{}))
		}
		for _, m := range w.store.All(w.adapter.machine) {
			w.deleteObject(m)
		}
	})
}
