package checker

import (
	"slices"
	"time"
)

// creations calls each for each machine that the controllers of sets have made in an era.
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

// counts says whether a machine counts as one that the set has: its own, selected, and neither leaving nor given up.
func counts(set *thing) func(Object) bool {
	return func(o Object) bool {
		_, uid := o.owner()
		return uid == set.last().Metadata.UID && o.wanted() && o.phase() != "Failed" && set.last().selects(o.Metadata.Labels)
	}
}

// surely counts those machines of sets that were there at a time and counted.
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

// known are the versions of a set or deployment that its controller may have acted on at a time: from the generation on that
// it has last written into the status as observed.
func (h *history) known(t *thing, at time.Time) []version {
	var observed int64
	for _, v := range t.versions {
		if v.User == h.Sets && !v.Begun.After(at) {
			observed = max(observed, v.Status.ObservedGeneration)
		}
	}
	return slices.DeleteFunc(t.during(time.Time{}, at), func(v version) bool { return v.Metadata.Generation < observed })
}

// setBound looks at each machine that the controllers of sets made.
func setBound(h *history, v *Verdict) {
	h.creations(func(e *era, made *Write, set *thing) {
		v.Judged++
		most := 0
		for _, k := range h.known(set, made.Done) {
			most = max(most, k.replicas())
		}
		if n := e.surely(made.Done, set); n > most {
			v.breaks(made.Begun, []string{made.Where()}, "machine %s is the %d. of set %s, which wanted %d at most", made.Object.Metadata.Name, n, set.name(), most)
		}
	})
}

// siblings are the deployment of a set and all of its sets; nil where it has none.
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

// surge looks at each machine that was made for a deployment.
func surge(h *history, v *Verdict) {
	h.creations(func(e *era, made *Write, set *thing) {
		deployment, sets := e.siblings(set)
		if deployment == nil {
			return
		}
		v.Judged++
		most := 0
		for _, k := range h.known(deployment, made.Done) {
			more, _ := k.bounds()
			most = max(most, k.replicas()+more)
		}
		if n := e.surely(made.Done, sets...); n > most {
			v.breaks(made.Begun, []string{made.Where()}, "machine %s is the %d. of deployment %s, which may have %d", made.Object.Metadata.Name, n, deployment.name(), most)
		}
	})
}

// unavailable looks at each machine of a deployment that worked and that the controllers of sets gave up. Only what they did
// themselves is judged: from the moment at which the deployment last had all that it wants, until a user took a machine away
// or one failed.
func unavailable(h *history, v *Verdict) {
	for _, e := range h.eras {
		for _, w := range e.writes {
			if set := h.gaveUp(e, w); set != nil {
				h.givenUp(e, set, w, v)
			}
		}
	}
}

// gaveUp is the set whose machine, at work until then, the controllers of sets gave up; nil where that is not what was asked.
func (h *history) gaveUp(e *era, w *Write) *thing {
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

// works says whether a machine is available, but for its node.
func works(o Object) bool { return o.wanted() && o.phase() == "Running" }

// mayWork says whether a machine may be available: one of machine.openshift.io counts by its node, and its phase follows later.
func mayWork(o Object) bool {
	return works(o) || o.wanted() && o.phase() != "Failed" && o.Status.NodeRef.Name != ""
}

func (h *history) givenUp(e *era, set *thing, w *Write, v *Verdict) {
	deployment, sets := e.siblings(set)
	if deployment == nil || !deployment.surely(w.Begun, w.Done, Object.wanted) || !set.surely(w.Begun, w.Done, Object.wanted) {
		return // what is deleted takes its machines with it
	}
	var all []*thing
	for _, s := range sets {
		all = append(all, e.members(s)...)
	}
	whole, ok := lastWhole(deployment, all, w.Begun)
	if !ok || h.lostOtherwise(all, whole, w.Done) {
		return
	}
	v.Judged++
	least := deployment.last().replicas()
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
		v.breaks(w.Begun, []string{w.Where()}, "machine %s of deployment %s is given up, which leaves %d at work, and %d have to be", w.Name, deployment.name(), left, least)
	}
}

// lastWhole is the last moment before a time at which a deployment surely had all that it wants at work.
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

// lostOtherwise says whether one of the machines stopped working between two times by another hand than the controllers' of
// sets.
func (h *history) lostOtherwise(machines []*thing, from, until time.Time) bool {
	return slices.ContainsFunc(machines, func(m *thing) bool {
		for i, v := range m.versions {
			lost := i > 0 && works(m.versions[i-1].Object) && !works(v.Object)
			if lost && v.User != h.Sets && v.Done.After(from) && v.Begun.Before(until) {
				return true
			}
		}
		return false
	})
}
