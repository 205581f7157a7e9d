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

// sizing is a size that a set was given, in a pass over its deployment; nil: people
// did.
type sizing struct {
	of set
	by *Pass
}

// sizes notes who gave a set its size.
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

// sizedBy is the pass that last gave the set its size; nil: people did.
func (j *Judge) sizedBy(uid types.UID) *Pass {
	if all := j.sized[uid]; len(all) > 0 {
		return all[len(all)-1].by
	}
	return nil
}

// sizings are those that s had since the pass looked.
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

// RolloutWrites judges a write of the controller of deployments.
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

// deploymentBehind is the deployment that the pass is about, as it is.
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

// judgeSet judges that the deployment makes, changes or deletes a set.
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
		j.Broken(OwnOnly, "set %s, which is nobody's, was written for deployment %s", now.GetName(), d.GetName())
	case controller(old) == "" && !adopts(d, readSet(old)):
		j.Broken(OwnOnly, "set %s was taken over by deployment %s", old.GetName(), d.GetName())
	}
}

// judgeSecondSet judges that the deployment makes a set beside one of the same template that
// stays, and did since the pass looked.
func (j *Judge) judgeSecondSet(p *Pass, d deployment, made set) {
	for _, s := range j.setsOf(d) {
		all, there := states(j, s.GetUID(), p, bySight, readSet)
		stays := there && !slices.ContainsFunc(all, func(s set) bool { return s.GetDeletionTimestamp() != nil })
		if s.GetUID() != made.GetUID() && stays && alike(s.Object, made.Object) {
			j.Broken(OneSet, "set %s has the template of %s", made.GetName(), s.GetName())
		}
	}
}

// rules are what the deployment asked for since the pass looked.
func (j *Judge) rules(p *Pass, d deployment) []deployment {
	all, _ := states(j, d.GetUID(), p, bySight, readDeployment)
	return all
}

func every(all []deployment, is func(deployment) bool) bool {
	return !slices.ContainsFunc(all, func(d deployment) bool { return !is(d) })
}

// makes is up to how many machines the set makes some; one that must not grow makes none.
func (s set) makes() int {
	if s.held {
		return 0
	}
	return s.size
}

// judgeRoom judges that a set may get larger: there is room for what all sets have
// or are to have, and for what leaves on account of the rollout.
func (j *Judge) judgeRoom(p *Pass, d deployment, grown set, was int) {
	all := j.rules(p, d)
	if slices.ContainsFunc(all, func(d deployment) bool { return d.strategy == onDelete }) {
		return // a machine that leaves is replaced at once
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
			return // no machine is made on this account
		default:
			own = leaving
			total += max(living, s.size)
		}
	}
	if !alone && every(all, func(d deployment) bool { return !d.overlaps }) {
		// Else it is a matter of size: a set does not wait for what itself gave up.
		total += own
	}
	if total > most {
		j.Broken(NotAbove, "set %s of deployment %s grew from %d to %d: there would be %d machines, and may be %d", grown.GetName(), d.GetName(), was, grown.size, total, most)
	}
}

// unseenMachines is how many machines s has that the pass may not have seen, and had to reckon
// with: by what it saw, the controller of s has yet to hear of the size that s has, and
// goes by those before. Another size of d, or one that people gave s, is shared out at once.
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

// countMachines counts the machines of s that stayed since the pass looked, those that
// were leaving all that time because s was to be smaller, and those that were there
// at any time, with those that it takes over.
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

// judgeOldFirst judges that the set of the present template gets larger than it is:
// machines that were updated in place before are its already.
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
		j.Broken(OldFirst, "set %s of deployment %s grew from %d to %d with %d old machines there", grown.GetName(), d.GetName(), was, grown.size, olds)
	}
}

// byHand reports whether people gave a set of d its present size.
func (j *Judge) byHand(d deployment) bool {
	return j.excuse(sizedByHand, slices.ContainsFunc(j.setsOf(d), func(s set) bool { return j.sizedBy(s.GetUID()) == nil }))
}

// judgeNeed is about a deployment whose machines are all of its template.
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

// judgeAvailable judges that set s of d gives m up, for a size that the set had by what
// its pass saw or came to have since. What counts is what was known when the deployment
// gave the set that size, and what happened since; or what the set went by when it chose
// among its machines.
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
		j.Broken(NotBelow, "set %s of deployment %s gave up machine %s: %s", s.GetName(), d.GetName(), m.GetName(), broken)
	}
}

// belowAvailable says why a set that d gave its size in p must not give m up for that; empty
// when it may.
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
	return fmt.Sprintf("%d machines go on working, and %d have to", n, least)
}

// keptOf counts the machines of the set that failed and stay for inspection: they take the place of others there.
func keptOf(j *Judge, s set) (n int) {
	for _, m := range j.controlled(s) {
		if m.failed && m.GetAnnotations()[preserve] != "" {
			n++
		}
	}
	return n
}

// judgeSelection is about a node that is to be updated: it will not be available
// meanwhile.
func (j *Judge) judgeSelection(p *Pass, d deployment, old, now *corev1.Node) {
	m, there := j.machineOn(now.Name)
	if !there || !selected(now) || selected(old) || p.By.Deposed || p.By.Late {
		return
	}
	all := j.rules(p, d)
	least, _ := spread(all, deployment.least)
	if n := j.working(p, d, all, m.GetUID()); n < least && j.works(p, all, m.GetUID(), nil) {
		j.Broken(NotBelow, "node %s of deployment %s is to be updated: %d machines go on working, and %d have to", now.Name, d.GetName(), n, least)
	}
	if c := j.alarm(p, d, all); c != "" {
		j.Broken(AlarmStops, "node %s of deployment %s is to be updated in spite of what check %s says", now.Name, d.GetName(), c)
	}
}

// working counts the machines of d, without one, that worked at any time since the
// pass looked, and that no set gave up to be smaller.
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

// worksFor reports whether the machine worked as one of d's at any time since the
// pass looked, up to then. One that a person let go with its set works on, and is
// adopted by the next: a set whose size was decided before follows that. So it does where
// a person deleted the other set since.
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

// deletedByController reports whether the set is gone by the hand of the controller of deployments,
// which knows what it had.
func (j *Judge) deletedByController(set types.UID) bool {
	log := j.log[set]
	if len(log) == 0 || log[len(log)-1].now != nil {
		return false
	}
	return slices.ContainsFunc(log, func(c change) bool {
		return c.by.Role == Deployments && (c.now == nil || c.now.GetDeletionTimestamp() != nil)
	})
}

// workedAtBegin is how many of them did when the pass looked: a deployment that had fewer
// than it has to gives up what is of no use.
func (j *Judge) workedAtBegin(p *Pass, d deployment, all []deployment) int {
	then := *p
	then.now = p.looked()
	return j.count(func(uid types.UID) bool { return j.worksFor(&then, d, all, uid, p.At) })
}

// works reports whether the machine worked at any time since the pass looked, up to
// then; nil: when it looked, and all the time since.
func (j *Judge) works(p *Pass, all []deployment, uid types.UID, ever *time.Time) bool {
	least, most := spread(all, func(d deployment) int { return int(d.minReady) })
	if ever != nil {
		since := ever.Add(j.Skew - time.Duration(least))
		return j.ever(uid, p, bySight, func(m machine) bool { return !m.going && !m.failed && j.nodeWorks(p, m, since, true) })
	}
	// Times are written down in whole seconds.
	since := p.At.Add(-j.Skew - time.Second - time.Duration(most))
	return j.always(uid, p, bySight, func(m machine) bool { return !m.going && !m.failed && j.nodeWorks(p, m, since, false) })
}

// nodeWorks reports whether the machine's node was fit for work: by the machine's
// own phase where the API has such, else by its condition, since then at the latest;
// and not about to be updated in place. One that takes no pods since it was works where
// others go on, and is not missed itself.
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

// workedBefore reports whether a node of the machine's name was seen ready, that is
// gone; another may have joined since under that name, which is given.
func workedBefore(p *Pass, m machine, now *corev1.Node) bool {
	for _, o := range p.seen {
		if n, ok := o.(*corev1.Node); ok && n.Name == m.node && ready(n) && (now == nil || n.UID != now.UID) {
			return true
		}
	}
	return false
}

// adopts reports whether d may take over s, which nobody controls.
func adopts(d deployment, s set) bool {
	return s.GetDeletionTimestamp() == nil && d.selector.Matches(labels.Set(s.GetLabels()))
}

func sameKind(a, b client.Object) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }
