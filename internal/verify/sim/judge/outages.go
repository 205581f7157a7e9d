package judge

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched is how much of the time since then all API servers were within reach.
// An outage that fits between two looks is none: nobody can know of it.
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

// timerStart is when a time began that was to begin then, and begins anew with the end of each
// outage in which everybody came to a halt. A pass that began before that end goes on.
func (j *Judge) timerStart(p *Pass, since time.Time) time.Time {
	for _, o := range j.Outages() {
		if o.To.After(since) && !o.To.After(p.At) && o.To.Sub(o.From) > j.noticed() {
			since = o.To
		}
	}
	return since
}

// outage is the last that there was.
func (j *Judge) outage() (last Outage, some bool) {
	all := j.Outages()
	if len(all) == 0 {
		return last, false
	}
	return all[len(all)-1], true
}

// blind reports whether an API server has been out of reach for so long that every
// pass which began since must know it.
func (j *Judge) blind() bool {
	o, some := j.outage()
	return some && !o.Denied && o.at(j.Now()) && j.Now().Sub(o.From) > j.noticed()
}

// noticed is how long an outage takes to be known to every pass that began since.
func (j *Judge) noticed() time.Duration { return j.LookFor + 4*j.LookEvery + j.Pause }

// judgeSight judges that a machine is given up: not before it was seen to be
// unwell for as long as it may be. A kubelet that does not reach its API server
// is none that has gone.
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
	// Since when is what another clock may have said.
	if seen := j.watched(since); timeout > 0 && seen < timeout-time.Second-2*j.Skew {
		j.Broken(SeenOnly, "machine %s, which was %s since %s, was given up after %v in sight, and has %v", old.GetName(), old.phase, since, seen, timeout)
	}
	if seen := j.Now().Sub(j.timerStart(p, p.Born)); seen < min(timeout, settle)-time.Second {
		j.Broken(SeenOnly, "machine %s, which was %s since %s, was given up %v after sight began", old.GetName(), old.phase, since, seen)
	}
}

// judgeWhileBlind judges what sets do with their machines while a cluster is out of
// reach. One that is deleted goes on to delete them.
func (j *Judge) judgeWhileBlind(p *Pass, old, now client.Object) {
	if !j.blind() {
		return
	}
	m := now
	if m == nil {
		m = old
	}
	if old == nil || !j.deleted(p, controller(m)) {
		j.Broken(StillWhenBlind, "%s-%d makes or deletes machine %s", p.By.Role, p.By.Process, m.GetName())
	}
}

// inTransition reports whether a machine is on its way in or out: what failed and has
// an owner is about to go, what has none may stay, as may what only others hold.
func (j *Judge) inTransition(m machine) bool {
	switch {
	case m.GetDeletionTimestamp() != nil:
		return !j.onlyForeignFinalizersLeft(m)
	case m.failed:
		return m.owner != "" && !m.kept
	}
	return !m.running && !m.lost && m.phase != "InPlaceUpdateFailed"
}

// judgeOneByOne judges that a machine is given up because its node was lost for too
// long. One that was made since the pass began counts for the next.
func (j *Judge) judgeOneByOne(p *Pass, old, now machine) {
	if now.group == "" || p.By.Deposed || !old.lost || !now.failed {
		return
	}
	for _, m := range j.machines() {
		if m.GetUID() != now.GetUID() && m.group == now.group && j.born(m.GetUID()) <= p.began && j.always(m.GetUID(), p, bySight, j.inTransition) {
			j.Broken(OneByOne, "%s-%d gives up machine %s while %s is %s", p.By.Role, p.By.Process, now.GetName(), m.GetName(), m.phase)
		}
	}
}
