package judge

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sizing is a set's size and the pass of the deployment controller that set it; nil: users set it.
type sizing struct {
	of set
	by *Pass
}

// sizes records who set the size of a set.
func (j *Judge) sizes(p *Pass, old, now client.Object) {
	if now == nil || old != nil && readSet(old).size == readSet(now).size {
		return
	}
	if p != nil && (p.By.Role != Deployments || p.By.Deposed || p.By.Late) {
		p = nil
	}
	if p != nil {
		decided := *p
		decided.sent = j.seq
		p = &decided
	}
	j.sized[now.GetUID()] = append(j.sized[now.GetUID()], sizing{readSet(now), p})
}

// sizedBy is the pass that last set the set's size; nil: users set it.
func (j *Judge) sizedBy(uid types.UID) *Pass {
	if all := j.sized[uid]; len(all) > 0 {
		return all[len(all)-1].by
	}
	return nil
}

// sizings are the sizes of s since the pass looked.
func (j *Judge) sizings(s set, p *Pass) (out []sizing) {
	saw, last := j.since(s.GetUID(), p, bySight), sizing{of: s}
	for _, c := range j.log[s.GetUID()] {
		if c.now == nil {
			continue
		}
		if i := slices.IndexFunc(j.sized[s.GetUID()], func(z sizing) bool { return z.of.Object == c.now }); i >= 0 {
			last = j.sized[s.GetUID()][i]
		}
		if slices.Contains(saw, c.now) {
			out = append(out, last)
		}
	}
	return out
}

// RolloutWrites judges a write of the deployment controller.
func (j *Judge) RolloutWrites(p *Pass, old, now client.Object) {
	d, ok := j.deploymentBehind(p)
	if !ok {
		return
	}
	o := now
	if o == nil {
		o = old
	}
	switch {
	case sameKind(o, &corev1.Node{}) && old != nil && now != nil:
		j.judgeSelection(p, d, old.(*corev1.Node), now.(*corev1.Node))
	case j.isMachine(o):
		j.judgeForeign(p, d, old)
	case j.isSet(o):
		j.judgeSet(p, d, old, now)
	}
}

// deploymentBehind is the present state of the deployment that the pass is for.
func (j *Judge) deploymentBehind(p *Pass) (deployment, bool) {
	for _, d := range j.deployments() {
		if client.ObjectKeyFromObject(d) == p.Key && sameKind(d.Object, j.api(p.By).Deployment) {
			seen, same := p.seen[d.GetUID()]
			return d, same && seen != nil
		}
	}
	return deployment{}, false
}

// judgeForeign judges that the deployment changes a machine.
func (j *Judge) judgeForeign(p *Pass, d deployment, old client.Object) {
	if old == nil {
		return
	}
	foreign := func(s set) bool { return s.owner != d.GetUID() }
	all, there := states(j, controller(old), p, bySight, readSet)
	if there && len(all) > 0 && !slices.ContainsFunc(all, func(s set) bool { return !foreign(s) }) {
		j.Broken(OwnOnly, "machine %s of set %s was changed for deployment %s", old.GetName(), all[0].GetName(), d.GetName())
	}
}

// judgeSet judges that the deployment creates, changes or deletes a set.
func (j *Judge) judgeSet(p *Pass, d deployment, old, now client.Object) {
	j.judgeOwn(d, old, now)
	if p.By.Deposed || d.GetDeletionTimestamp() != nil {
		return
	}
	if old == nil {
		j.judgeSecondSet(p, d, readSet(now))
	}
	was, is := 0, 0
	if old != nil {
		was = readSet(old).size
	}
	if now != nil && now.GetDeletionTimestamp() == nil {
		is = readSet(now).size
	}
	switch {
	case is > was:
		j.judgeRoom(p, d, readSet(now), was)
		j.judgeOldFirst(p, d, readSet(now), was)
		j.judgeStopped(p, d, readSet(now), was, is)
	case is < was && old.GetDeletionTimestamp() == nil:
		j.judgeNeed(p, d, readSet(old), is)
		j.judgeStopped(p, d, readSet(old), was, is)
	}
}

func (j *Judge) judgeOwn(d deployment, old, now client.Object) {
	for _, o := range []client.Object{old, now} {
		if o != nil && controller(o) != "" && controller(o) != d.GetUID() {
			j.Broken(OwnOnly, "set %s was changed for deployment %s", o.GetName(), d.GetName())
		}
	}
	switch {
	case now == nil || controller(now) == d.GetUID() && (old == nil || controller(old) != ""):
	case old == nil, controller(now) == "" && controller(old) == "":
		j.Broken(OwnOnly, "set %s, which has no controller, was written for deployment %s", now.GetName(), d.GetName())
	case controller(old) == "" && !adopts(d, readSet(old)):
		j.Broken(OwnOnly, "set %s was taken over by deployment %s", old.GetName(), d.GetName())
	}
}

// judgeSecondSet judges that the deployment creates a set beside a lasting one of the same template.
func (j *Judge) judgeSecondSet(p *Pass, d deployment, made set) {
	for _, s := range j.setsOf(d) {
		all, there := states(j, s.GetUID(), p, bySight, readSet)
		stays := there && !slices.ContainsFunc(all, func(s set) bool { return s.GetDeletionTimestamp() != nil })
		if s.GetUID() != made.GetUID() && stays && alike(s.Object, made.Object) {
			j.Broken(OneSet, "set %s has the template of %s", made.GetName(), s.GetName())
		}
	}
}

// rules are the versions of the deployment since the pass looked.
func (j *Judge) rules(p *Pass, d deployment) []deployment {
	all, _ := states(j, d.GetUID(), p, bySight, readDeployment)
	return all
}

func every(all []deployment, is func(deployment) bool) bool {
	return !slices.ContainsFunc(all, func(d deployment) bool { return !is(d) })
}

// makes is the number of machines up to which the set creates machines; a set that must not grow creates none.
func (s set) makes() int {
	if s.held {
		return 0
	}
	return s.size
}

// judgeRoom judges that a set may grow: the deployment has room for all machines that its sets have or will have, and for
// the machines that the rollout is deleting.
func (j *Judge) judgeRoom(p *Pass, d deployment, grown set, was int) {
	all := j.rules(p, d)
	if slices.ContainsFunc(all, func(d deployment) bool { return d.strategy == onDelete }) {
		return // a set replaces a deleted machine at once
	}
	_, most := spread(all, deployment.most)
	total, own, alone := 0, 0, true
	for _, s := range j.setsOf(d) {
		if s.GetDeletionTimestamp() != nil {
			continue
		}
		sizes, _ := states(j, s.GetUID(), p, bySight, readSet)
		least, _ := spread(sizes, func(s set) int { return s.size })
		makes, _ := spread(sizes, set.makes)
		living, leaving, there := j.countMachines(p, s)
		living = max(living, j.unseenMachines(p, d, s))
		switch {
		case s.GetUID() != grown.GetUID():
			alone = alone && least == 0
			total += max(living, makes) + leaving
		case s.size <= max(there, was+j.arrived(s, grown.Object)):
			return // this size creates no machine
		default:
			own = leaving
			total += max(living, s.size)
		}
	}
	if !alone && every(all, func(d deployment) bool { return !d.overlaps }) {
		// Otherwise only sizes count: a set does not wait for the machines that it deleted itself.
		total += own
	}
	if total > most {
		j.Broken(NotAbove, "set %s of deployment %s grew from %d to %d: there would be %d machines, but only %d are allowed", grown.GetName(), d.GetName(), was, grown.size, total, most)
	}
}

// unseenMachines is how many machines s has that the pass may not have seen but had to expect: in the pass's view, the
// controller of s has not yet seen the present size of s, and uses an earlier one. The deployment distributes a changed
// desired size, or a size that users gave s, at once.
func (j *Judge) unseenMachines(p *Pass, d deployment, s set) int {
	shown, by := p.seen[s.GetUID()], j.sizedBy(s.GetUID())
	switch {
	case shown == nil || by == nil || s.held || readSet(shown).observed >= shown.GetGeneration():
		return 0
	case by.seen[d.GetUID()] == nil || readDeployment(by.seen[d.GetUID()]).size != readDeployment(p.seen[d.GetUID()]).size:
		return 0
	}
	most := 0
	for _, c := range j.log[s.GetUID()] {
		if c.now != nil && c.now.GetGeneration() >= readSet(shown).observed {
			most = max(most, readSet(c.now).size)
		}
	}
	stays := func(m machine) bool { return s.counts(m) && !m.going }
	return min(most, len(slices.DeleteFunc(j.controlled(s), func(m machine) bool { return !stays(m) })))
}

// countMachines counts machines of s: those that stayed since the pass looked, those that were being deleted all that time
// because s had to shrink, and those that existed at any time, including those that s adopts.
func (j *Judge) countMachines(p *Pass, s set) (living, leaving, there int) {
	for _, uid := range j.known {
		if j.ever(uid, p, bySight, func(m machine) bool { return (m.owner == s.GetUID() || s.claims(m)) && !m.going }) {
			there++
		}
		switch {
		case !j.always(uid, p, bySight, func(m machine) bool { return m.owner == s.GetUID() }):
		case j.ever(uid, p, bySight, func(m machine) bool { return !m.going }):
			living++
		case j.surplus[uid]:
			leaving++
		}
	}
	return living, leaving, there
}

// judgeOldFirst judges that the set of the present template grows beyond its machines. Machines that were updated in place
// earlier already belong to it.
func (j *Judge) judgeOldFirst(p *Pass, d deployment, grown set, was int) {
	all := j.rules(p, d)
	if has := j.count(func(uid types.UID) bool { return j.ever(uid, p, bySight, grown.counts) }); grown.size <= has || !every(all, func(d deployment) bool { return d.strategy == recreate && alike(d.Object, grown.Object) }) || j.byHand(d) {
		return
	}
	olds := 0
	for _, s := range j.setsOf(d) {
		for _, uid := range j.known {
			if s.GetUID() != grown.GetUID() && j.always(uid, p, bySight, func(m machine) bool { return m.owner == s.GetUID() }) {
				olds++
			}
		}
	}
	if olds > 0 {
		j.Broken(OldFirst, "set %s of deployment %s grew from %d to %d while %d old machines exist", grown.GetName(), d.GetName(), was, grown.size, olds)
	}
}

// byHand reports whether users set the present size of one of d's sets.
func (j *Judge) byHand(d deployment) bool {
	return j.excuse(sizedByHand, slices.ContainsFunc(j.setsOf(d), func(s set) bool { return j.sizedBy(s.GetUID()) == nil }))
}

// judgeNeed judges that a set shrinks although its deployment has machines of the present template only.
func (j *Judge) judgeNeed(p *Pass, d deployment, old set, is int) {
	all := j.rules(p, d)
	least, _ := spread(all, func(d deployment) int { return d.size })
	if is >= least || !every(all, func(d deployment) bool { return alike(d.Object, old.Object) }) || j.byHand(d) {
		return
	}
	for _, s := range j.setsOf(d) {
		if s.GetUID() == old.GetUID() {
			continue
		}
		sizes, _ := states(j, s.GetUID(), p, bySight, readSet)
		_, most := spread(sizes, func(s set) int { return s.size })
		if _, _, there := j.countMachines(p, s); most > 0 || there > 0 || len(j.controlled(s)) > 0 {
			return
		}
	}
	j.Broken(NoNeed, "set %s of deployment %s, which wants %d, shrank from %d to %d", old.GetName(), d.GetName(), least, old.size, is)
}

// judgeAvailable judges that set s of d deletes m because of a size that the set had in the view of its pass or got later.
// The judge assumes the knowledge of the deployment when it set that size, with all later changes, or the knowledge of
// the set when it chose among its machines.
func (j *Judge) judgeAvailable(by *Pass, d deployment, s set, m machine) {
	broken := ""
	for _, size := range j.sizings(s, by) {
		if j.excuse(sizedByHand, size.by == nil) {
			return
		}
		p := *size.by
		p.now = by.now
		if broken = j.belowAvailable(&p, by, d, size.of, m); broken == "" {
			return
		}
	}
	if broken != "" {
		j.Broken(NotBelow, "set %s of deployment %s deleted machine %s: %s", s.GetName(), d.GetName(), m.GetName(), broken)
	}
}

// belowAvailable says why a set must not delete m for the size that d set in pass p; empty if it may.
func (j *Judge) belowAvailable(p, by *Pass, d deployment, s set, m machine) string {
	all := j.rules(p, d)
	least, _ := spread(all, deployment.least)
	size, _ := spread(all, func(d deployment) int { return d.size })
	mine := func(m machine) bool { return m.owner == s.GetUID() && !m.asked && !m.marked && !m.failed }
	if !every(all, deployment.steps) || s.size >= size || !j.always(m.GetUID(), p, bySight, mine) || !j.works(p, all, m.GetUID(), nil) {
		return ""
	}
	n := max(j.working(p, d, all, m.GetUID()), j.working(by, d, all, m.GetUID()))
	if least = min(least-keptOf(j, s), j.workedAtBegin(p, d, all)); n >= least {
		return ""
	}
	return fmt.Sprintf("only %d machines continue to work, but %d must", n, least)
}

// keptOf counts the failed machines of the set that are kept for inspection: they count as replicas.
func keptOf(j *Judge, s set) (n int) {
	for _, m := range j.controlled(s) {
		if m.failed && m.GetAnnotations()[preserve] != "" {
			n++
		}
	}
	return n
}

// judgeSelection judges that a node is selected for an update, during which its machine is unavailable.
func (j *Judge) judgeSelection(p *Pass, d deployment, old, now *corev1.Node) {
	m, there := j.machineOn(now.Name)
	if !there || !selected(now) || selected(old) || p.By.Deposed || p.By.Late {
		return
	}
	all := j.rules(p, d)
	least, _ := spread(all, deployment.least)
	if n := j.working(p, d, all, m.GetUID()); n < least && j.works(p, all, m.GetUID(), nil) {
		j.Broken(NotBelow, "node %s of deployment %s is to be updated: only %d machines continue to work, but %d must", now.Name, d.GetName(), n, least)
	}
	if c := j.alarm(p, d, all); c != "" {
		j.Broken(AlarmStops, "node %s of deployment %s is to be updated although check %s reports a storm", now.Name, d.GetName(), c)
	}
}

// working counts the machines of d, without one of them, that worked at any time since the pass looked and that no set
// deleted in order to shrink.
func (j *Judge) working(p *Pass, d deployment, all []deployment, without types.UID) int {
	return j.count(func(uid types.UID) bool {
		return uid != without && !j.surplus[uid] && j.worksFor(p, d, all, uid, j.Now())
	})
}

func (j *Judge) count(is func(types.UID) bool) (n int) {
	for _, uid := range j.known {
		if is(uid) {
			n++
		}
	}
	return n
}

// worksFor reports whether the machine worked as a machine of d at any time between the pass's look and `by`. A machine
// that a user released together with its set continues to work, and the next set adopts it: a set with an earlier size
// keeps the machine. The same holds if a user has deleted the other set since.
func (j *Judge) worksFor(p *Pass, d deployment, all []deployment, uid types.UID, by time.Time) bool {
	mine := func(m machine) bool {
		if m.owner == "" {
			return d.selector.Matches(labels.Set(m.GetLabels()))
		}
		sets, _ := states(j, m.owner, p, bySight, readSet)
		return !j.deletedByController(m.owner) && slices.ContainsFunc(sets, func(s set) bool { return s.owner == d.GetUID() })
	}
	return j.ever(uid, p, bySight, mine) && j.works(p, all, uid, &by)
}

// deletedByController reports whether the deployment controller, which knows the set's machines, deleted the set.
func (j *Judge) deletedByController(set types.UID) bool {
	log := j.log[set]
	if len(log) == 0 || log[len(log)-1].now != nil {
		return false
	}
	return slices.ContainsFunc(log, func(c change) bool {
		return c.by.Role == Deployments && (c.now == nil || c.now.GetDeletionTimestamp() != nil)
	})
}

// workedAtBegin is how many of the machines worked when the pass looked: a deployment that has too few working machines
// deletes machines that do not work.
func (j *Judge) workedAtBegin(p *Pass, d deployment, all []deployment) int {
	then := *p
	then.now = p.looked()
	return j.count(func(uid types.UID) bool { return j.worksFor(&then, d, all, uid, p.At) })
}

// works reports whether the machine worked at any time between the pass's look and `ever`; if that is nil, whether it
// worked when the pass looked and all the time since.
func (j *Judge) works(p *Pass, all []deployment, uid types.UID, ever *time.Time) bool {
	least, most := spread(all, func(d deployment) int { return int(d.minReady) })
	if ever != nil {
		since := ever.Add(j.Skew - time.Duration(least))
		return j.ever(uid, p, bySight, func(m machine) bool { return !m.going && !m.failed && j.nodeWorks(p, m, since, true) })
	}
	// Times are stored in whole seconds.
	since := p.At.Add(-j.Skew - time.Second - time.Duration(most))
	return j.always(uid, p, bySight, func(m machine) bool { return !m.going && !m.failed && j.nodeWorks(p, m, since, false) })
}

// nodeWorks reports whether the machine's node was usable: by the machine's phase if its API has such a phase, otherwise
// by the node's condition, since `latest` at most; and not selected for an update in place. ever: a node that is still
// cordoned after its update was usable.
func (j *Judge) nodeWorks(p *Pass, m machine, latest time.Time, ever bool) bool {
	fit := func(o client.Object) bool {
		n, ok := o.(*corev1.Node)
		if !ok || n == nil {
			return heals(m) && m.works
		}
		if heals(m) {
			return m.works && !updating(n) && (ever || !resting(n))
		}
		since, is := readyAt(n)
		return is && !since.After(latest)
	}
	n := j.node(m.node)
	if ever && j.excuse(nodeGoneSince, workedBefore(p, m, n)) {
		return true
	}
	if n == nil {
		return fit(nil)
	}
	all := j.since(n.UID, p, bySight)
	if ever {
		return slices.ContainsFunc(all, fit)
	}
	return !slices.ContainsFunc(all, func(o client.Object) bool { return !fit(o) })
}

// workedBefore reports whether the pass saw a ready node with the machine's name that does not exist any more. The given
// node may have joined under that name since.
func workedBefore(p *Pass, m machine, now *corev1.Node) bool {
	for _, o := range p.seen {
		if n, ok := o.(*corev1.Node); ok && n.Name == m.node && ready(n) && (now == nil || n.UID != now.UID) {
			return true
		}
	}
	return false
}

// adopts reports whether d may take over s, which has no controller.
func adopts(d deployment, s set) bool {
	return s.GetDeletionTimestamp() == nil && d.selector.Matches(labels.Set(s.GetLabels()))
}

func sameKind(a, b client.Object) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }
