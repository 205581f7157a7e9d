package checker

import (
	"math"
	"slices"
	"time"
)

// creations calls each for each machine that the controllers of sets created in an era.
func (h *history) creations(each func(e *era, made *Write, set *thing)) {
	for _, e := range h.eras {
		for _, w := range e.writes {
			if w.User != h.Sets || w.Verb != "create" || w.Resource != "machines" || !w.OK() {
				continue
			}
			if _, uid := w.Object.owner(); e.things[uid] != nil {
				each(e, w, e.things[uid])
			}
		}
	}
}

// members are the machines of a set.
func (e *era) members(set *thing) []*thing {
	uid := set.last().Metadata.UID
	return slices.DeleteFunc(e.of("machines"), func(m *thing) bool {
		return !slices.ContainsFunc(m.versions, func(v version) bool { _, owner := v.owner(); return owner == uid })
	})
}

// counts returns a function that says whether the set counts a machine: the set owns and selects it, and the machine is neither
// being deleted nor Failed.
func counts(set *thing) func(Object) bool {
	return func(o Object) bool {
		_, uid := o.owner()
		return uid == set.last().Metadata.UID && o.wanted() && o.phase() != "Failed" && set.last().selects(o.Metadata.Labels)
	}
}

// surely counts the machines of the sets that certainly existed at a time and that their set counts.
func (e *era) surely(at time.Time, sets ...*thing) (n int) {
	for _, s := range sets {
		for _, m := range e.members(s) {
			if m.surely(at, at, counts(s)) {
				n++
			}
		}
	}
	return n
}

// known returns the versions of a set or deployment that its controller may have used for a request. Older generations than the
// last observed one are left out: the API server had confirmed the write of that generation to the status.
func (h *history) known(t *thing, by *Write) []version {
	var observed int64
	for _, v := range t.versions {
		if v.User == h.Sets && v.Done.Before(by.Begun) {
			observed = max(observed, v.Status.ObservedGeneration)
		}
	}
	return slices.DeleteFunc(t.during(time.Time{}, by.Done), func(v version) bool { return v.Metadata.Generation < observed })
}

// setBound judges each machine that the controllers of sets created.
func setBound(h *history, v *Verdict) {
	h.creations(func(e *era, made *Write, set *thing) {
		v.Judged++
		most := 0
		for _, k := range h.known(set, made) {
			most = max(most, k.replicas())
		}
		if n := e.surely(made.Done, set); n > most {
			v.breaks(made.Begun, []string{made.Where()}, "machine %s is the %d. of set %s, which wanted at most %d", made.Object.Metadata.Name, n, set.name(), most)
		}
	})
}

// siblings returns the deployment of a set and all sets of the deployment; nil for a set without a deployment.
func (e *era) siblings(set *thing) (deployment *thing, sets []*thing) {
	_, uid := set.last().owner()
	deployment = e.things[uid]
	if deployment == nil || deployment.resource != "machinedeployments" {
		return nil, nil
	}
	return deployment, slices.DeleteFunc(e.of("machinesets"), func(s *thing) bool {
		_, owner := s.last().owner()
		return owner != uid
	})
}

// surge judges each time that the controllers of sets scale up a set of a deployment: the sum of the machines that the sets of
// the deployment have or want. The statement set-bound judges whether a set creates more machines than it wants.
func surge(h *history, v *Verdict) {
	for _, e := range h.eras {
		for _, set := range e.of("machinesets") {
			for i, now := range set.versions {
				if now.User != h.Sets || now.gone || now.replicas() == 0 || i > 0 && set.versions[i-1].replicas() >= now.replicas() {
					continue
				}
				if deployment, sets := e.siblings(set); deployment != nil && deployment.surely(now.Begun, now.Done, Object.rolls) {
					h.grown(e, deployment, set, sets, now, v)
				}
			}
		}
	}
}

func (h *history) grown(e *era, deployment, set *thing, sets []*thing, now version, v *Verdict) {
	v.Judged++
	most, total, alone := 0, 0, true
	for _, k := range h.known(deployment, now.Write) {
		more, _ := k.bounds()
		most = max(most, k.replicas()+more)
	}
	for _, s := range sets {
		has, wants := e.surely(now.Done, s), now.replicas()
		if s != set {
			if !s.surely(now.Begun, now.Done, Object.wanted) {
				continue // the machines of the set are deleted with it
			}
			for _, w := range s.during(now.Begun, now.Done) {
				wants = min(wants, w.replicas())
			}
			alone = alone && wants == 0
			total += h.leaving(e, s, now)
		} else if wants <= has {
			return // the set creates no machine for this size
		}
		total += max(wants, has)
	}
	if !alone { // the only set that wants machines does not wait for those that it deleted itself
		total += h.leaving(e, set, now)
	}
	if total > most {
		v.breaks(now.Begun, []string{now.Where()}, "set %s is to have %d machines, and deployment %s then has %d of at most %d", set.name(), now.replicas(), deployment.name(), total, most)
	}
}

// leaving counts the machines of a set that the controllers of sets have deleted and that still exist.
func (h *history) leaving(e *era, set *thing, now version) (n int) {
	for _, m := range e.members(set) {
		if deleted, ok := m.firstDeleting(); ok && deleted.User == h.Sets && m.surely(now.Begun, now.Done, Object.deleting) {
			n++
		}
	}
	return n
}

// unavailable judges each deletion of a running machine of a deployment by the controllers of sets. It judges only their own
// work: the time from the last moment at which all wanted machines ran until a user deleted a machine or one failed.
func unavailable(h *history, v *Verdict) {
	for _, e := range h.eras {
		for _, w := range e.writes {
			if set := h.deletedFrom(e, w); set != nil {
				h.judgeDeletion(e, set, w, v)
			}
		}
	}
}

// deletedFrom returns the set of the running machine that the controllers of sets deleted; nil for another request.
func (h *history) deletedFrom(e *era, w *Write) *thing {
	if w.User != h.Sets || w.Verb != "delete" || w.Resource != "machines" || !w.OK() {
		return nil
	}
	machine := e.machineOf(max(w.Object.Metadata.UID, w.Object.Details.UID))
	before := w.Begun.Add(-time.Nanosecond)
	if machine == nil || !machine.surely(before, before, works) {
		return nil
	}
	_, uid := machine.last().owner()
	return e.things[uid]
}

// works says whether a machine is available, apart from its node.
func works(o Object) bool { return o.wanted() && o.phase() == "Running" }

// mayWork says whether a machine may be available: a machine of machine.openshift.io counts when it has a node, and its phase
// follows later.
func mayWork(o Object) bool {
	return works(o) || o.wanted() && o.phase() != "Failed" && o.Status.NodeRef.Name != ""
}

// membersOf are the machines of sets.
func (e *era) membersOf(sets []*thing) (all []*thing) {
	for _, s := range sets {
		all = append(all, e.members(s)...)
	}
	return all
}

func (h *history) judgeDeletion(e *era, set *thing, w *Write, v *Verdict) {
	deployment, sets := e.siblings(set)
	if deployment == nil || !deployment.surely(w.Begun, w.Done, Object.wanted) || !deployment.surely(w.Begun, w.Done, Object.rolls) || !set.surely(w.Begun, w.Done, Object.wanted) {
		return // the machines of a deleted owner are deleted with it
	}
	all := e.membersOf(sets)
	whole, ok := lastWhole(deployment, all, w.Begun)
	if !ok || h.lostOtherwise(all, whole, w.Done) || slices.ContainsFunc(sets, func(s *thing) bool { return h.sized(s, whole, w.Done) }) {
		return
	}
	v.Judged++
	least := math.MaxInt
	for _, d := range deployment.during(whole, w.Done) {
		_, less := d.bounds()
		least = min(least, d.replicas()-less)
	}
	left := 0
	for _, m := range all {
		if m.maybe(w.Done, w.Done, mayWork) {
			left++
		}
	}
	if left < least {
		v.breaks(w.Begun, []string{w.Where()}, "machine %s of deployment %s is deleted, which leaves %d running, and at least %d must run", w.Name, deployment.name(), left, least)
	}
}

// lastWhole returns the last moment before a time at which all wanted machines of a deployment certainly ran.
func lastWhole(deployment *thing, machines []*thing, before time.Time) (time.Time, bool) {
	var moments []time.Time
	for _, m := range machines {
		for _, v := range m.versions {
			if !v.Done.After(before) {
				moments = append(moments, v.Done)
			}
		}
	}
	slices.SortFunc(moments, func(a, b time.Time) int { return b.Compare(a) })
	for _, at := range moments {
		n := 0
		for _, m := range machines {
			if m.surely(at, at, works) {
				n++
			}
		}
		if deployment.surely(at, at, func(o Object) bool { return o.replicas() <= n }) {
			return at, true
		}
	}
	return time.Time{}, false
}

// sized says whether a user other than the controllers of sets resized or deleted a set between two times.
func (h *history) sized(s *thing, from, until time.Time) bool {
	for i, v := range s.versions {
		changed := i > 0 && (v.gone || v.deleting() || v.replicas() != s.versions[i-1].replicas())
		if changed && v.User != h.Sets && v.Done.After(from) && !v.Begun.After(until) {
			return true
		}
	}
	return false
}

// lostOtherwise says whether one of the machines stopped running between two times although the controllers of sets did not write
// the change.
func (h *history) lostOtherwise(machines []*thing, from, until time.Time) bool {
	return slices.ContainsFunc(machines, func(m *thing) bool {
		for i, v := range m.versions {
			lost := i > 0 && works(m.versions[i-1].Object) && (v.gone || !works(v.Object))
			if lost && v.User != h.Sets && v.Done.After(from) && !v.Begun.After(until) {
				return true
			}
		}
		return false
	})
}
