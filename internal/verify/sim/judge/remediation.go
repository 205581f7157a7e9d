package judge

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settle is the time after the end of an outage during which a process remedies only machines that became unhealthy
// after that end.
const settle = time.Minute

// seenCheck returns the pass's check as the pass saw it; nil if the pass saw none.
func (j *Judge) seenCheck(p *Pass) *check {
	for _, o := range p.seen {
		if c := j.asCheck(o); c != nil && client.ObjectKeyFromObject(o) == p.Key {
			return c
		}
	}
	return nil
}

// Asks judges a request of the health check controller, whatever its outcome: it deletes a machine, or asks another
// controller to remedy it.
func (j *Judge) Asks(p *Pass, verb string, o client.Object) {
	switch {
	case verb == "delete" && j.isMachine(o):
		j.judgeRemedy(p, o, deletesMachine)
	case verb == "patch" && j.isMachine(o) && j.asksAnew(o, externalRemedy):
		j.judgeRemedy(p, o, leavesToOthers)
	case verb == "patch" && j.isMachine(o) && j.asksToReboot(o):
		j.judgeRemedy(p, o, rebootsMachine)
	case verb == "create" && j.Request != nil && sameKind(o, j.Request):
		if m, there := j.about(o); there {
			j.judgeRemedy(p, m.Object, leavesToOthers)
		}
	case verb == "patch" && j.asksAnew(o, restartNode):
		c := j.seenCheck(p)
		for _, m := range j.machines() {
			if c != nil && m.node == o.GetName() && sameKind(m.Object, selectable(c)) {
				j.judgeRemedy(p, m.Object, leavesToOthers)
			}
		}
	}
}

// asksToReboot reports whether o gets a reboot request that it did not have.
func (j *Judge) asksToReboot(o client.Object) bool {
	wanted, _ := rebootRequested(o)
	is, there := find(j.All(o), o.GetUID())
	if !there {
		return false
	}
	has, _ := rebootRequested(is)
	return wanted != "" && wanted != has
}

// asksAnew reports whether o gets an annotation that it did not have.
func (j *Judge) asksAnew(o client.Object, annotation string) bool {
	_, wanted := o.GetAnnotations()[annotation]
	is, there := find(j.All(o), o.GetUID())
	if !wanted || !there {
		return false
	}
	_, has := is.GetAnnotations()[annotation]
	return !has
}

// way is how a check remedies a machine.
type way string

// The ways: the check deletes the machine, leaves it to an external controller, or requests a reboot first.
const (
	deletesMachine way = "deletes"
	leavesToOthers way = "leaves"
	rebootsMachine way = "restarts"
)

// judgeRemedy judges that a check requests the remedy of a machine. Requests of a deposed process on the wire
// cannot be stopped.
func (j *Judge) judgeRemedy(p *Pass, m client.Object, how way) {
	c := j.seenCheck(p)
	if c == nil {
		return
	}
	under := j.seenBy(p, c)
	t, selected := under[m.GetUID()]
	first := !j.asked(c, m.GetUID())
	if first && how != rebootsMachine && !j.noteUndone(p, c, m.GetUID()) {
		j.remedies[c.UID] = append(j.remedies[c.UID], remedy{machine: m.GetUID(), owner: t.owner, at: p.At})
	}
	// The pass may have learned users' later changes of the check
	// from the answers to its own writes.
	if p.By.Deposed || j.editedSince(p, c) {
		return
	}
	switch {
	case how == deletesMachine && (c.reboots || requests(c) || external(c) && !t.failure):
		j.Broken(OthersRepair, "%s-%d deletes machine %s by check %s", p.By.Role, p.By.Process, m.GetName(), c.Name)
	case paused(c):
		j.Broken(PausedRests, "%s-%d remedies machine %s by check %s", p.By.Role, p.By.Process, m.GetName(), c.Name)
	case !selected, t.spared, t.owner == "" && (how == deletesMachine || c.older):
		j.Broken(ChosenOnly, "%s-%d remedies machine %s by check %s: selected %v, spared %v, of owner %q", p.By.Role, p.By.Process, m.GetName(), c.Name, selected, t.spared, t.owner)
	}
	j.judgeNodeless(p, under, m.GetName())
	j.judgeSighted(p, c, t, m.GetName())
	j.judgeSymptoms(p, c, t, m.GetName())
	j.judgeBudget(c, under, m)
	// Remedies that an earlier pass began, with the check's contents at that time, continue.
	begun := slices.ContainsFunc(remembered(c).Begun, func(b begun) bool { return b.Machine == m.GetUID() })
	if first && !begun && how != rebootsMachine {
		j.judgeRate(c, under, m.GetName())
	}
}

// editedSince reports whether users changed the check after the version c.
func (j *Judge) editedSince(p *Pass, c *check) bool {
	seen := false
	for _, ch := range j.log[c.UID] {
		if seen && ch.by.Role == "" {
			return true
		}
		seen = seen || ch.now == p.seen[c.UID]
	}
	return false
}

// sighted is the time since which the process had watched all clusters without a gap when the pass began. Gaps that are
// shorter than the interval of the probes do not count.
func (j *Judge) sighted(p *Pass) time.Time {
	since := p.Born
	for _, o := range j.Outages() {
		if o.To.After(since) && !o.To.After(p.At) && o.To.Sub(o.From) >= j.LookEvery {
			since = o.To
		}
	}
	return since
}

// judgeSighted judges remedies during and after outages. The probe that is due notices an outage.
func (j *Judge) judgeSighted(p *Pass, c *check, t target, name string) {
	if j.LookEvery == 0 {
		return
	}
	if o, some := j.outage(); some && o.at(p.At) && p.At.Sub(o.From) > j.LookEvery {
		j.Broken(SightedOnly, "%s-%d remedies machine %s, %v after an API server became unreachable", p.By.Role, p.By.Process, name, p.At.Sub(o.From))
	}
	since := j.sighted(p)
	if p.At.Sub(since) >= settle-time.Second {
		return
	}
	fresh := func(s symptom) bool { return !s.from.Before(since.Add(-time.Second - j.wrong(p, s))) }
	if !slices.ContainsFunc(symptoms(c, t), fresh) {
		j.Broken(SightedOnly, "%s-%d remedies machine %s, %v after the API servers were reachable again, for a condition from before the outage", p.By.Role, p.By.Process, name, p.At.Sub(since))
	}
}

// judgeNodeless judges remedies while no node exists and none existed when the pass looked: then the cluster lost all its
// nodes at once, so it was not each machine that lost its own.
func (j *Judge) judgeNodeless(p *Pass, under map[types.UID]target, name string) {
	known := func(o client.Object) bool { return sameKind(o, &corev1.Node{}) }
	if len(j.All(&corev1.Node{})) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(p.seen)), known) {
		return
	}
	without := 0
	for _, t := range under {
		if t.node != "" && !t.spared && t.GetDeletionTimestamp() == nil {
			without++
		}
	}
	if without > 1 {
		j.Broken(SightedOnly, "%s-%d remedies machine %s while no node exists, and %d machines had one", p.By.Role, p.By.Process, name, without)
	}
}

// wrong is the possible error of the process about the age of s.
func (j *Judge) wrong(p *Pass, s symptom) time.Duration {
	if s.ours {
		return 2 * j.Skew
	}
	return max(p.Skew, -p.Skew)
}

// judgeSymptoms judges whether a remedy has a reason.
func (j *Judge) judgeSymptoms(p *Pass, c *check, t target, name string) {
	all := symptoms(c, t)
	ripe := func(s symptom, lasted time.Duration) bool { return lasted >= s.timeout-time.Second-j.wrong(p, s) }
	is := func(s symptom) bool {
		if s.what == nodeGone {
			n := j.node(t.node)
			return n == nil || !n.CreationTimestamp.Time.Before(p.At.Truncate(time.Second))
		}
		return ripe(s, j.Now().Sub(s.from))
	}
	if !slices.ContainsFunc(all, is) {
		j.Broken(HealthyStay, "check %[2]s remedies machine %[1]s, which has: %+[3]v", name, c.Name, all)
	}
	if j.LookEvery == 0 {
		return
	}
	// A process that started later has watched the symptom only since its start.
	watched := func(s symptom) bool {
		from := s.from
		if p.Born.After(from) {
			from = p.Born
		}
		return s.timeout == 0 || is(s) && ripe(s, j.watched(from))
	}
	if !slices.ContainsFunc(all, watched) {
		j.Broken(WatchedOnly, "check %[2]s remedies machine %[1]s after watching it for %[3]v, and it has: %+[4]v", name, c.Name, j.watched(p.Born), all)
	}
}

// judgeBudget counts the unhealthy machines that the pass could see, and the machines that are being remedied.
func (j *Judge) judgeBudget(c *check, under map[types.UID]target, m client.Object) {
	count := map[types.UID]bool{m.GetUID(): true}
	for uid, t := range under {
		if ill(c, t) {
			count[uid] = true
		}
	}
	truly := j.truly(c)
	for uid, t := range truly {
		if t.GetDeletionTimestamp() != nil && j.asked(c, uid) {
			count[uid] = true
		}
	}
	gone := j.unreplaced(j.remedies[c.UID], func(types.UID) bool { return true })
	for _, g := range gone {
		if s, ok := find(j.sets(), g.owner); ok && s.GetDeletionTimestamp() == nil && len(j.members(s)) < s.size {
			count[g.machine] = true
		}
	}
	most := budget(c, max(len(under), len(truly))+len(gone))
	if len(count) > most {
		j.Broken(BudgetKept, "check %s, whose budget is %d of %d machines, remedies machine %s while %d are unhealthy or being remedied", c.Name, most, len(truly), m.GetName(), len(count))
	}
}

// judgeRate counts the remedies of the last hour. The process that began a remedy recorded the time by its own clock.
func (j *Judge) judgeRate(c *check, under map[types.UID]target, name string) {
	if !enforces(c) {
		return
	}
	window := time.Hour - j.Pause - 2*time.Second - 2*j.Skew
	n := 0
	for _, b := range j.remedies[c.UID] {
		if j.Now().Sub(b.at) < window {
			n++
		}
	}
	most := hourly(c, max(len(under), len(j.truly(c)))+len(j.remedies[c.UID]))
	if n > most {
		j.Broken(RateKept, "check %s remedies machine %s, the %dth within the hour, but only %d are allowed", c.Name, name, n, most)
	}
}
