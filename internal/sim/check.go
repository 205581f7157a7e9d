package sim

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/sim/cloud"
	"github.com/millwright-dev/millwright/internal/sim/store"
)

// The statements that are checked, as they are named in reports.
const (
	OneInstance    = "at most one instance per machine, ever"
	HeldFirst      = "the finalizer is in place before an instance is created"
	NoOrphan       = "no instance is created for a machine that is gone"
	WantedStays    = "no wanted machine is terminated"
	DrainedFirst   = "nothing is terminated before its drain is done"
	HooksHonoured  = "hooks are always honoured"
	NoEarlyRelease = "a machine is not released while anything of it exists"
	NodeLast       = "a node is deleted only after its instance"
	NodeLossReal   = "a machine is given up for its node's loss only when the node is gone"
	NotTooMany     = "a set never makes more machines than it wants"
	NotTooFew      = "a set never deletes machines that it wants"
	TokenThere     = "an instance that may still join keeps its bootstrap token"
	PassEnds       = "every pass comes to an end"
	Converges      = "without faults the world comes to what was asked for"
	Rests          = "at rest nothing is written"
	LeavesNothing  = "deleting everything leaves nothing behind"

	// About the collector of orphans.
	WantedKept    = "no wanted instance is collected"
	OthersKept    = "what was not made for a machine of this cluster is not collected"
	OrphansWait   = "an orphan is collected only after its time in quarantine"
	OrphansCapped = "no more orphans are collected within an hour than may be"
	OrphansFew    = "no more orphans are collected at once than may be"

	// About volumes.
	VolumesInTurn = "pods with volumes leave a node one after another, with their volumes"
	VolumesFirst  = "nothing is terminated with a volume attached that is on its way"

	// About outages of API servers.
	SeenOnly       = "nothing is given up for what happened out of sight"
	StillWhenBlind = "nobody makes, gives up or collects anything while an API server is out of reach"
)

// snapshot is what was known when a pass began.
type snapshot struct {
	// size is the size of the set under reconciliation, as the process saw it.
	size int
	// touched counts what users had done, version what had been written.
	touched int
	version int64
	// joined is what version is, in the cluster that machines join.
	joined int64
	// at is when it was.
	at time.Time
	// frozen says that the process saw the set under reconciliation frozen.
	frozen bool
	// glimpse is what the controller of deployments saw, round what that of health
	// checks did.
	glimpse glimpse
	round   round
	// watched is what was seen of a set that is guarded, moving which machines
	// were seen on their way in or out.
	watched watched
	moving  map[types.UID]bool
}

func (p *process) snapshot(key reconcile.Request) snapshot {
	s := snapshot{touched: p.w.users.done, version: p.w.store.Version(), joined: p.w.target.Version(), at: p.w.now}
	switch p.role {
	case fleetRole:
		s.glimpse = p.glimpse(key.NamespacedName)
		return s
	case healthRole:
		s.round = p.round(key.NamespacedName)
		return s
	case machineRole:
		s.moving = p.moving()
	}
	if set := p.view(p.w.tells.set).Lookup(key.NamespacedName); set != nil {
		s.size, s.frozen, s.watched = p.w.tells.size(set), p.w.frozen(set), p.watch(set)
	}
	return s
}

// checked makes a write and judges what it did.
func (p *process) checked(s *store.Store, c store.Call, before snapshot, do func() error) error {
	if !c.Writes() {
		return do()
	}
	w := p.w
	old := s.Lookup(c.Object, c.Key)
	err := do()
	now := s.Lookup(c.Object, c.Key)
	if old == now {
		return err
	}
	if p.role == fleetRole {
		p.judgeRollout(c, old, now, before)
		return err
	}
	switch c.Kind.Kind {
	case "Pod":
		p.judgePod(c, old, now, before)
	case "Machine":
		w.ward.note(now)
		if p.role == healthRole {
			w.remedied(old, now)
			return err
		}
		p.judgeMachine(old, now, before)
	case "Node":
		if now == nil || old.GetDeletionTimestamp() == nil && now.GetDeletionTimestamp() != nil {
			w.checkForgotten(old.(*corev1.Node))
		}
	}
	return err
}

func (p *process) judgeMachine(old, now client.Object, before snapshot) {
	w := p.w
	if old != nil && now != nil && p.role == machineRole {
		w.checkSight(old, now)
		p.checkLone(old, now, before)
		if w.tells.view(now).Stage == lifecycle.StageFailed {
			delete(w.owners.chosen, now.GetUID()) // the wish is dropped, and it may recover
		}
	}
	if w.blind(false) && (old == nil || p.role == setRole && old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil)) {
		p.checkStill(old, now)
	}
	switch {
	case old == nil:
		p.checkGrowth(now, before)
		return
	case p.role == setRole && now != nil && metav1.GetControllerOf(old) == nil && metav1.GetControllerOf(now) != nil:
		w.owners.adopted[now.GetUID()] = w.store.Version()
	case controllerutil.ContainsFinalizer(old, w.tells.finalizer) && (now == nil || !controllerutil.ContainsFinalizer(now, w.tells.finalizer)):
		w.checkReleased(old)
	}
	if old.GetDeletionTimestamp() != nil || now != nil && now.GetDeletionTimestamp() == nil {
		return
	}
	if p.role == setRole {
		p.checkShrink(old, before)
		p.judgeShare(old, before)
		p.checkGivenUp(old, before)
		return
	}
	w.owners.lost[old.GetUID()] = true
	if n := w.node(w.tells.view(old).NodeName); n != nil && n.DeletionTimestamp == nil {
		w.broken(NodeLossReal, "%s was deleted although node %s exists", old.GetName(), n.Name)
	}
}

// setOf is the set that controls m; nil when it is gone.
func (w *World) setOf(m client.Object) client.Object {
	ref := metav1.GetControllerOf(m)
	if ref == nil {
		return nil
	}
	s := w.store.Lookup(w.tells.set, client.ObjectKey{Namespace: m.GetNamespace(), Name: ref.Name})
	if s == nil || s.GetUID() != ref.UID {
		return nil
	}
	return s
}

// members are the machines that count as the set's replicas.
func (w *World) members(set client.Object) (out []client.Object) {
	for _, m := range w.store.All(w.tells.machine) {
		if metav1.IsControlledBy(m, set) && w.tells.selector(set).Matches(labels.Set(m.GetLabels())) && w.tells.member(set, m).Counts() {
			out = append(out, m)
		}
	}
	return out
}

// checkGrowth leaves out what a deposed process had on the wire, what arrives
// late for a second time while people delete what came the first time, what was
// handed over to the set since the pass looked, and what the set took over while
// a creation was on the wire: nobody can stop that, and the set gives up the
// surplus.
func (p *process) checkGrowth(m client.Object, before snapshot) {
	w := p.w
	s := w.setOf(m)
	if p.deposed != nil || w.belated && before.touched != w.users.done {
		w.users.intruders[m.GetUID()] = true
		return
	}
	if s == nil {
		return
	}
	if before.frozen && w.frozen(s) && !w.belated {
		w.broken(FrozenRests, "set %s made machine %s", s.GetName(), m.GetName())
	}
	members := slices.DeleteFunc(w.members(s), func(o client.Object) bool {
		later := w.owners.moved[o.GetUID()] > before.version || w.belated && w.owners.adopted[o.GetUID()] > before.version
		return later || w.users.intruders[o.GetUID()] || p.seesElsewhere(o, s)
	})
	if n, most := len(members), max(before.size, w.tells.size(s)); n > most {
		w.broken(NotTooMany, "set %s has %d machines with %s, and wanted %d at most", s.GetName(), n, m.GetName(), most)
	}
}

// seesElsewhere reports whether the process has not seen yet that m was handed
// over to s.
func (p *process) seesElsewhere(m, s client.Object) bool {
	seen := p.view(m).Lookup(client.ObjectKeyFromObject(m))
	return seen != nil && metav1.GetControllerOf(seen) != nil && !metav1.IsControlledBy(seen, s)
}

// checkShrink leaves out what users did meanwhile: their deletions may cross
// the set's own. What an autoscaler chose goes in any case.
func (p *process) checkShrink(victim client.Object, before snapshot) {
	w := p.w
	s := w.setOf(victim)
	if s == nil || s.GetDeletionTimestamp() != nil || before.touched != w.users.done || p.deposed != nil {
		return
	}
	member := w.tells.member(s, victim)
	if !member.Counts() || member.Failed || !member.Marked.IsZero() || changedSince(victim, before.version) {
		return
	}
	crossed := 0 // machines that others sent away since the pass looked
	for _, m := range w.controlled(s) {
		if f := w.tells.member(s, m); w.owners.lost[m.GetUID()] && !f.Counts() && !f.Failed && changedSince(m, before.version) {
			crossed++
		}
	}
	if n, least := len(w.members(s))+crossed, min(before.size, w.tells.size(s)); n < least {
		w.broken(NotTooFew, "set %s has %d machines without %s, and wants %d", s.GetName(), n, victim.GetName(), least)
	}
}

// changedSince reports whether o was written after the version: a machine may
// recover between the look at it and its deletion.
func changedSince(o client.Object, version int64) bool { return versionOf(o) > version }

func (w *World) checkReleased(m client.Object) {
	uid := string(m.GetUID())
	for _, i := range w.cloud.Existing(uid) {
		w.broken(NoEarlyRelease, "%s was released, but its instance %s exists", m.GetName(), i.ID)
	}
	for _, part := range w.cloud.Parts(uid) {
		w.broken(NoEarlyRelease, "%s was released, but its %s exists", m.GetName(), part.Name)
	}
}

func (w *World) checkForgotten(n *corev1.Node) {
	for _, i := range w.cloud.Existing("") {
		if w.lost(i) {
			// Another machine has its name by now, and its node with it: nobody
			// can tell by the UID that the instance carries whose it is.
			continue
		}
		if i.Name == n.Name && strings.EqualFold(i.ProviderID(), n.Spec.ProviderID) {
			w.broken(NodeLast, "node %s was deleted, but its instance %s exists", n.Name, i.ID)
		}
	}
}

// machineOf is the machine object with the UID; nil when there is none.
func (w *World) machineOf(uid string) client.Object {
	for _, m := range w.store.All(w.tells.machine) {
		if string(m.GetUID()) == uid {
			return m
		}
	}
	return nil
}

func (w *World) checkCreated(made *cloud.Machine) {
	n := 0
	for _, i := range w.cloud.Machines() {
		if i.UID == made.UID && !w.losses.doubles[i.ID] {
			n++
		}
	}
	if n > 1 {
		w.broken(OneInstance, "%s has got %d instances", made.Name, n)
	}
	m := w.machineOf(made.UID)
	if w.blind(false) && w.cloud.Late == 0 {
		w.broken(StillWhenBlind, "instance %s of %s was made", made.ID, made.Name)
	}
	switch {
	case m == nil && w.lost(made):
		// Nobody could know, and somebody looks for it.
	case m == nil && w.actor.deposed != nil:
		w.users.strays[made.UID] = true
	case m == nil:
		w.broken(NoOrphan, "instance %s was made for %s, which is gone", made.ID, made.Name)
	case !controllerutil.ContainsFinalizer(m, w.tells.finalizer):
		w.broken(HeldFirst, "instance %s was made for %s, which has no finalizer", made.ID, made.Name)
	}
}

func (w *World) checkStopped(i *cloud.Machine) {
	m := w.machineOf(i.UID)
	if w.actor.role == orphanRole {
		w.checkCollected(i, m)
		return
	}
	if m == nil {
		return
	}
	v := w.tells.view(m)
	switch {
	case v.Deleted.IsZero():
		w.broken(WantedStays, "instance %s of %s was sent away, but nobody deleted the machine", i.ID, m.GetName())
	case len(v.PreTerminate) > 0, len(v.PreDrain) > 0 && !v.Drained:
		w.broken(HooksHonoured, "instance %s of %s was sent away in spite of its hooks", i.ID, m.GetName())
	}
	if !w.users.hurried[i.UID] {
		w.checkDrained(i)
	}
	if policy := w.inTurn(i.Name, w.acting.at); policy != nil {
		if name := w.leftBehind(i.Name, w.acting.at, w.actor.shorter(policy.DetachTimeout)); name != "" {
			w.broken(VolumesFirst, "instance %s of %s was sent away with %s attached", i.ID, i.Name, name)
		}
	}
}

// checkDrained leaves out pods that came after the pass began: no look, however
// fresh, keeps one from coming right after it.
func (w *World) checkDrained(i *cloud.Machine) {
	n := w.node(i.Name)
	if n == nil || !strings.EqualFold(n.Spec.ProviderID, i.ProviderID()) && n.Spec.ProviderID != "" {
		return
	}
	for _, pod := range objects(w, &corev1.Pod{}) {
		if pod.Spec.NodeName != n.Name || mayStay(pod) || w.users.born[pod.Name] > w.acting.joined {
			continue
		}
		ending := pod.DeletionTimestamp != nil && (!nodeReady(n) || !w.now.Before(pod.DeletionTimestamp.Time))
		if !ending && !wasSilent(n, pod) {
			w.broken(DrainedFirst, "instance %s of %s was sent away with pod %s still on its node", i.ID, i.Name, pod.Name)
		}
	}
}

// wasSilent reports whether the node came back since the pod was asked to go: it was
// silent then, and its drain may have ended without the pod's end.
func wasSilent(n *corev1.Node, pod *corev1.Pod) bool {
	at := pod.DeletionTimestamp
	return at != nil && !lifecycle.Ready(n).LastTransitionTime.Time.Before(at.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0))*time.Second))
}

func mayStay(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// checkPass looks at how a pass ended.
func (p *process) checkPass(t *task) {
	if t.err != nil && strings.Contains(t.err.Error(), "steps without an end") {
		p.w.broken(PassEnds, "%v", t.err)
	}
}
