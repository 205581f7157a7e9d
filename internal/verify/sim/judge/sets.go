package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// setWrites judges the set controller's writes to machines.
func (j *Judge) setWrites(p *Pass, old, now client.Object) {
	gone := old != nil && old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil)
	switch {
	case old == nil:
		j.judgeWhileBlind(p, old, now)
		j.judgeGrowth(p, readMachine(now))
	case gone:
		j.judgeWhileBlind(p, old, now)
		j.judgeGivenUp(p, readMachine(old))
	}
}

// judgeGrowth judges that a set creates m. A machine counts if it was a replica of the set in all states since the pass
// looked.
func (j *Judge) judgeGrowth(p *Pass, m machine) {
	s, ok := find(j.sets(), m.owner)
	if !ok || p.By.Deposed {
		return // requests of a deposed process on the wire cannot be stopped
	}
	all, there := states(j, s.GetUID(), p, bySight, readSet)
	if there && !slices.ContainsFunc(all, func(s set) bool { return !s.frozen }) {
		j.Broken(FrozenRests, "set %s made machine %s", s.GetName(), m.GetName())
	}
	n := 0
	for _, o := range j.controlled(s) {
		if o.GetUID() == m.GetUID() || j.always(o.GetUID(), p, bySight, s.counts) {
			n++
		}
	}
	if _, most := spread(all, func(s set) int { return s.size }); n > most {
		j.Broken(NotTooMany, "set %s has %d machines with %s, and wanted at most %d", s.GetName(), n, m.GetName(), most)
	}
}

// judgeGivenUp judges that a set deletes m. If m was a replica in all states, the set may delete it only because it has too
// many machines.
func (j *Judge) judgeGivenUp(p *Pass, m machine) {
	s, ok := find(j.sets(), m.owner)
	if !ok || j.deleted(p, s.GetUID()) || p.By.Deposed {
		return
	}
	j.judgeShare(p, s, m)
	all, _ := states(j, s.GetUID(), p, bySight, readSet)
	if j.ever(m.GetUID(), p, atBegin, func(m machine) bool { return !s.counts(m) || m.failed || m.marked }) {
		return
	}
	others := 0
	for _, uid := range j.known {
		if uid != m.GetUID() && !j.chosenSince(p, uid) && j.ever(uid, p, atBegin, s.counts) {
			others++
		}
	}
	if least, _ := spread(all, func(s set) int { return s.size }); others < least {
		j.Broken(NotTooFew, "set %s has %d machines without %s, and wants %d", s.GetName(), others, m.GetName(), least)
	}
	j.surplus[m.GetUID()] = j.sizedBy(s.GetUID()) != nil
	if d, ok := find(j.deployments(), s.owner); ok && d.GetDeletionTimestamp() == nil {
		j.judgeUpdated(p, d, s, m)
		j.judgeAvailable(p, d, s, m)
	}
}

// chosenSince reports whether the process deleted the machine, which had not failed, after the process had sent the late
// write and before it got an answer to that write.
func (j *Judge) chosenSince(p *Pass, uid types.UID) bool {
	return p.sent != 0 && slices.ContainsFunc(j.log[uid], func(c change) bool {
		if c.n <= p.sent || c.by.Role != p.By.Role || c.by.Process != p.By.Process || c.by.Late || c.was == nil {
			return false
		}
		m, going := readMachine(c.was), c.now == nil || c.now.GetDeletionTimestamp() != nil
		return going && m.GetDeletionTimestamp() == nil && !m.failed && !m.marked
	})
}

// deleted reports whether the set was being deleted at any time since the pass looked: a restore may have undone the
// deletion.
func (j *Judge) deleted(p *Pass, set types.UID) bool {
	going := func(o client.Object) bool { return o != nil && o.GetDeletionTimestamp() != nil }
	return slices.ContainsFunc(j.since(set, p, atBegin), going)
}

// judgeShare judges that a set with a deletion limit, or a set of a deployment with such a limit, deletes a machine. Failed
// machines are exempt if sets of the API replace them. The set knows its own machines, and the machines of its siblings
// from its caches. Late writes are not judged: siblings that the set counted may have been deleted since.
func (j *Judge) judgeShare(p *Pass, s set, m machine) {
	if p.By.Late {
		return
	}
	all, _ := states(j, s.GetUID(), p, bySight, readSet)
	unguarded := func(s set) bool { return s.share == 0 }
	if slices.ContainsFunc(all, unguarded) || j.ever(m.GetUID(), p, atBegin, j.replaced) {
		return
	}
	whole := []set{s}
	if d, ok := find(j.deployments(), s.owner); ok {
		whole = j.setsOf(d)
	}
	total, going := 0, 0
	for _, one := range whole {
		w := window(one.GetUID() != s.GetUID())
		for _, uid := range j.known {
			if !j.ever(uid, p, w, func(m machine) bool { return m.owner == one.GetUID() }) {
				continue
			}
			total++
			leavesToOthers := func(m machine) bool { return one.selects(m) && m.GetDeletionTimestamp() != nil }
			if uid == m.GetUID() || j.always(uid, p, w, leavesToOthers) {
				going++
			}
		}
	}
	_, most := spread(all, func(s set) int { return max(1, total*s.share/100, s.approved) })
	if going > most {
		j.Broken(ShareKept, "set %s deletes %s: %d of %d machines are being deleted, but only %d are allowed", s.GetName(), m.GetName(), going, total, most)
	}
}

// arrived counts the machines that a deployment handed over to s since it last set the size of s. The write `now` does not
// count as setting the size; nil: all writes count. A size that a restore or a user has undone since does not count.
func (j *Judge) arrived(s set, now client.Object) (n int) {
	given := []int64{0}
	for _, c := range j.log[s.GetUID()] {
		switch resized := c.now != now && c.was != nil && c.now != nil && readSet(c.was).size != readSet(c.now).size; {
		case resized && c.by.Role == Deployments:
			given = append(given, c.n)
		case resized:
			given = given[:max(1, len(given)-1)]
		}
	}
	since := given[len(given)-1]
	for _, uid := range j.known {
		for _, c := range j.log[uid] {
			if c.n > since && c.by.Role == Deployments && c.was != nil && c.now != nil && controller(c.was) != s.GetUID() && controller(c.now) == s.GetUID() {
				n++
			}
		}
	}
	return n
}

// judgeUpdated judges that a set deletes m although machines that were updated in place were handed over to it: until it is
// resized, it may keep that many more machines.
func (j *Judge) judgeUpdated(p *Pass, d deployment, s set, m machine) {
	came := j.arrived(s, nil)
	all, _ := states(j, d.GetUID(), p, bySight, readDeployment)
	least, _ := spread(all, func(d deployment) int { return d.size })
	if came == 0 || s.size >= least || !alike(d.Object, s.Object) || j.sizedBy(s.GetUID()) == nil {
		return
	}
	if n := len(j.members(s)); n < s.size+came {
		j.Broken(UpdatedStays, "set %s of size %d, which got %d updated machines, deleted %s and has %d", s.GetName(), s.size, came, m.GetName(), n)
	}
}

// owned reports whether o has a controller.
func owned(o client.Object) bool { return controller(o) != "" }
