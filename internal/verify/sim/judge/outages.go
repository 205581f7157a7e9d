package judge

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched is how much of the time since then all API servers were reachable. An outage that fits between two probes does
// not count, because no process can notice it.
func (j *Judge) watched(since time.Time) time.Duration {
	d := j.Now().Sub(since)
	for _, o := range j.Outages() {
		from, to := o.From, o.To
		if to.After(j.Now()) {
			to = j.Now()
		}
		if to.Sub(from) < j.LookEvery {
			continue
		}
		if from.Before(since) {
			from = since
		}
		d -= max(0, to.Sub(from))
	}
	return d
}

// timerStart is the start of a timer that restarts at the end of each outage, during which every controller stops. A pass
// that began before the end of the outage uses its earlier start.
func (j *Judge) timerStart(p *Pass, since time.Time) time.Time {
	for _, o := range j.Outages() {
		if o.To.After(since) && !o.To.After(p.At) && o.To.Sub(o.From) > j.noticed() {
			since = o.To
		}
	}
	return since
}

// outage is the last outage.
func (j *Judge) outage() (last Outage, some bool) {
	all := j.Outages()
	if len(all) == 0 {
		return last, false
	}
	return all[len(all)-1], true
}

// blind reports whether an API server has been unreachable for so long that every pass that began since must have noticed
// it.
func (j *Judge) blind() bool {
	o, some := j.outage()
	return some && !o.Denied && o.at(j.Now()) && j.Now().Sub(o.From) > j.noticed()
}

// noticed is the time after which every pass that begins has noticed an outage.
func (j *Judge) noticed() time.Duration { return j.LookFor + 4*j.LookEvery + j.Pause }

// judgeSight judges that a machine fails only after a process has watched it be unhealthy for its timeout. A kubelet that
// cannot reach its API server has not stopped.
func (j *Judge) judgeSight(p *Pass, old, now machine) {
	if j.LookEvery == 0 || !now.failed || old.failed || len(j.existing(string(now.GetUID()))) == 0 {
		return
	}
	since, timeout := j.timerStart(p, j.lostFor(old)), j.apiOf(old.Object).HealthTimeout
	switch {
	case old.lost && old.health != nil:
		timeout = *old.health
	case old.lost:
	case old.joining:
		since, timeout = j.made(old.GetUID()), j.apiOf(old.Object).JoinTimeout
		if old.join != nil {
			timeout = *old.join
		}
	default:
		return
	}
	// The start may come from another process's clock.
	if seen := j.watched(since); timeout > 0 && seen < timeout-time.Second-2*j.Skew {
		j.Broken(SeenOnly, "machine %s, which was %s since %s, failed after it was watched for %v, before its timeout of %v", old.GetName(), old.phase, since, seen, timeout)
	}
	if seen := j.Now().Sub(j.timerStart(p, p.Born)); seen < min(timeout, settle)-time.Second {
		j.Broken(SeenOnly, "machine %s, which was %s since %s, failed %v after the API servers were reachable again", old.GetName(), old.phase, since, seen)
	}
}

// judgeWhileBlind judges that sets create and delete no machines while an API server is unreachable. A set that is being
// deleted continues to delete its machines.
func (j *Judge) judgeWhileBlind(p *Pass, old, now client.Object) {
	if !j.blind() {
		return
	}
	m := now
	if m == nil {
		m = old
	}
	if old == nil || !j.deleted(p, controller(m)) {
		j.Broken(StillWhenBlind, "%s-%d creates or deletes machine %s", p.By.Role, p.By.Process, m.GetName())
	}
}

// inTransition reports whether a machine is being created or deleted. A failed machine with an owner will be deleted soon.
// A failed machine without an owner may stay, as may a machine that only foreign finalizers hold.
func (j *Judge) inTransition(m machine) bool {
	switch {
	case m.GetDeletionTimestamp() != nil:
		return !j.onlyForeignFinalizersLeft(m)
	case m.failed:
		return m.owner != "" && !m.kept
	}
	return !m.running && !m.lost && m.phase != "InPlaceUpdateFailed"
}

// judgeOneByOne judges that a machine fails because its node was lost for too long. A machine that was created after the
// pass began counts only for the next pass.
func (j *Judge) judgeOneByOne(p *Pass, old, now machine) {
	if now.group == "" || p.By.Deposed || !old.lost || !now.failed {
		return
	}
	for _, m := range j.machines() {
		if m.GetUID() != now.GetUID() && m.group == now.group && j.born(m.GetUID()) <= p.began && j.always(m.GetUID(), p, bySight, j.inTransition) {
			j.Broken(OneByOne, "%s-%d fails machine %s while %s is %s", p.By.Role, p.By.Process, now.GetName(), m.GetName(), m.phase)
		}
	}
}
