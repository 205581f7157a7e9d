package checker

import (
	"slices"
	"strconv"
	"time"
)

// The results of a sabotage.
const (
	// Seen: the checker finds the statement broken after one line of the record was falsified.
	Seen = "seen"
	// Unseen: the checker does not find it, so its result for this statement is worth nothing.
	Unseen = "UNSEEN"
	// Nothing: the run has no line that can be falsified for this statement.
	Nothing = "no occasion"
	// Needless: the run already breaks the statement.
	Needless = "needless"
)

// saboteurs falsify a record so that one statement is broken. They return false if the record has no fitting line.
var saboteurs = map[string]func(r *Run, h *history) bool{
	"one-instance":  twin,
	"drain-first":   hasten,
	"hooks":         hookOn,
	"wanted-stays":  endWanted,
	"released-last": outlive,
	"held-first":    letGo,
	"node-last":     keepOn,
	"set-bound":     func(r *Run, _ *history) bool { return shrink(r, "machinesets") },
	"surge":         func(r *Run, _ *history) bool { return shrink(r, "machinedeployments") },
	"unavailable":   demand,
	"no-roll":       claimQuiet,
	"no-leak":       forgetGone,
	OthersKept:      disown,
	Rest: func(r *Run, _ *history) bool {
		at := func(e Event) bool { return e.What == Mark && e.Mark == AtRest }
		r.change(at, func(e *Event) { e.Message = "disk" })
		return slices.ContainsFunc(r.Events, at)
	},
	"settles": func(r *Run, _ *history) bool {
		r.Events = append(r.Events, Event{What: Mark, Mark: Unsettled})
		return true
	},
	"recorded": func(r *Run, h *history) bool {
		for _, c := range h.calls("create") {
			if c.reply.Error == "" && !c.reply.At.IsZero() {
				r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.What == Made && e.UID == c.UID })
				return true
			}
		}
		return false
	},
}

// Prove falsifies the record of a run once for each named statement, or for all without names. It returns, in the order of
// [Judge], whether the checker sees each falsification.
func Prove(r Run, names ...string) []string {
	h := sortOut(r)
	var out []string
	for _, s := range named(names) {
		fake := r.clone()
		var before, after Verdict
		if s.judge(h, &before); len(before.Broken) > 0 {
			out = append(out, Needless)
			continue
		}
		if !saboteurs[s.name](&fake, h) {
			out = append(out, Nothing)
			continue
		}
		s.judge(sortOut(fake), &after)
		if len(after.Broken) > 0 {
			out = append(out, Seen)
		} else {
			out = append(out, Unseen)
		}
	}
	return out
}

// clone is a copy of the run with its own events.
func (r Run) clone() Run {
	r.Events = slices.Clone(r.Events)
	for n := range r.Events {
		if w := r.Events[n].Write; w != nil {
			own := *w
			r.Events[n].Write = &own
		}
	}
	return r
}

// twin gives a machine a second instance while its first one lives.
func twin(r *Run, h *history) bool {
	for _, i := range h.instances {
		if i.UID != "" && i.living().Sub(i.Made.At) > time.Second {
			second := i.Made
			second.Instance += "-twin"
			second.At = second.At.Add(time.Second / 2)
			r.Events = append(r.Events, second)
			return true
		}
	}
	return false
}

// change falsifies the events for which so returns true.
func (r *Run) change(so func(Event) bool, to func(*Event)) {
	for n := range r.Events {
		if so(r.Events[n]) {
			to(&r.Events[n])
		}
	}
}

// hasten ends an instance, with a pod on its node, immediately after its machine was deleted.
func hasten(r *Run, h *history) bool {
	for _, i := range h.instances {
		if i.Ending.At.IsZero() {
			continue
		}
		m := h.eras[h.eraOf(i.Ending.At)].machineOf(i.UID)
		if m == nil {
			continue
		}
		deleted, ok := m.firstDeleting()
		at := deletedAt(deleted)
		if !ok || h.undrained(m, deleted, at) || !at.Before(i.Ending.At) {
			continue
		}
		for _, pod := range h.eras[h.eraOf(at)].of("pods") {
			if pod.node == i.node && pod.boundDone.Before(at) && pod.surely(at, at, func(o Object) bool { return !daemon(o) && !finished(o) }) {
				r.change(func(e Event) bool { return e.What == Ending && e.Instance == i.ID }, func(e *Event) { e.At = at })
				return true
			}
		}
	}
	return false
}

// deletedAt is the first moment at which the deletion has certainly taken effect.
func deletedAt(deleted version) time.Time {
	if deleted.Write == nil {
		return time.Time{}
	}
	return deleted.Done.Add(time.Microsecond)
}

// hookOn adds a hook to a machine that was drained and ended without one.
func hookOn(r *Run, h *history) bool {
	for _, i := range h.instances {
		if i.Ending.At.IsZero() {
			continue
		}
		m := h.eras[h.eraOf(i.Ending.At)].machineOf(i.UID)
		if m == nil || !m.surely(i.Ending.At, i.Ending.At, Object.deleting) {
			continue
		}
		for _, w := range r.writes() {
			if w.Object.Metadata.UID == i.UID {
				w.Object.Spec.LifecycleHooks.PreTerminate = []Hook{{Name: "false"}}
			}
		}
		return true
	}
	return false
}

// endWanted ends an instance long before its machine is deleted.
func endWanted(r *Run, h *history) bool {
	for _, i := range h.instances {
		m := h.eras[0].machineOf(i.UID)
		early := i.Made.At.Add(time.Millisecond)
		if i.Ending.At.IsZero() || h.eraOf(early) > 0 || m == nil || !m.surely(early, early, Object.wanted) {
			continue
		}
		r.change(func(e Event) bool { return e.What == Ending && e.Instance == i.ID }, func(e *Event) { e.At = early })
		return true
	}
	return false
}

// shrink lowers the wanted number of all sets or deployments to 0, and removes maxSurge.
func shrink(r *Run, resource string) bool {
	none, found := 0, false
	for _, w := range r.writes() {
		if w.Resource == resource && w.Object.Spec.Replicas != nil {
			w.Object.Spec.Replicas, found = &none, true
			w.Object.Spec.Strategy.RollingUpdate.MaxSurge = nil
		}
	}
	return found
}

// demand lets the controllers delete all machines of a deployment together with the first one.
func demand(r *Run, h *history) bool {
	for _, e := range h.eras {
		for _, w := range e.writes {
			set := h.deletedFrom(e, w)
			if set == nil {
				continue
			}
			var judged Verdict
			if h.judgeDeletion(e, set, w, &judged); judged.Judged == 0 {
				continue
			}
			_, sets := e.siblings(set)
			for _, sibling := range e.membersOf(sets) {
				if now := sibling.during(w.Begun, w.Begun); len(now) == 1 && works(now[0].Object) {
					r.Events = append(r.Events, now[0].deletedBy(w).Event())
				}
			}
			return true
		}
	}
	return false
}

// deletedBy is a deletion of this object by the same user, just before the user deletes another object.
func (v version) deletedBy(other *Write) Write {
	w := *other
	w.Begun, w.Done = other.Begun.Add(-2*time.Millisecond), other.Begun.Add(-time.Millisecond)
	w.Namespace, w.Name, w.Object = v.Metadata.Namespace, v.Metadata.Name, v.Object
	w.Object.Metadata.DeletionTimestamp = &w.Done
	w.Object.Metadata.Finalizers = []string{"held"}
	w.Object.Metadata.ResourceVersion = strconv.FormatUint(v.order+1, 10)
	return w
}

// claimQuiet adds a mark that only binaries were exchanged while a machine was created.
func claimQuiet(r *Run, h *history) bool {
	for _, e := range h.eras {
		for _, w := range e.writes {
			if w.User == h.Sets && w.Verb == "create" && w.Resource == "machines" && w.OK() {
				r.Events = append(r.Events, Event{What: Mark, Mark: Exchanged, From: w.Begun.Add(-time.Second), Until: w.Done.Add(time.Second)})
				return true
			}
		}
	}
	return false
}

// outlive lets an instance end after its machine was removed.
func outlive(r *Run, h *history) bool {
	for _, i := range h.instances {
		for _, e := range h.eras {
			if m := e.machineOf(i.UID); m != nil && m.last().gone && m.last().User == h.Machines && !i.Gone.At.IsZero() {
				r.change(func(e Event) bool { return e.What == Gone && e.Instance == i.ID }, func(e *Event) { e.At, e.From = m.last().Done.Add(time.Second), time.Time{} })
				return true
			}
		}
	}
	return false
}

// letGo removes the finalizers of a machine that has an instance.
func letGo(r *Run, h *history) bool {
	n := slices.IndexFunc(h.instances, func(i *Instance) bool {
		return slices.ContainsFunc(h.eras, func(e *era) bool { return e.machineOf(i.UID) != nil })
	})
	for _, w := range r.writes() {
		if n >= 0 && w.Object.Metadata.UID == h.instances[n].UID {
			w.Object.Metadata.Finalizers = nil
		}
	}
	return n >= 0
}

// keepOn lets the instance of a deleted node stay.
func keepOn(r *Run, h *history) bool {
	for _, w := range r.writes() {
		if w.User != h.Machines || w.Verb != "delete" || w.Resource != "nodes" {
			continue
		}
		n := slices.IndexFunc(h.instances, func(i *Instance) bool { return i.node == w.Name })
		if n >= 0 {
			id := h.instances[n].ID
			r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.What == Gone && e.Instance == id })
			return true
		}
	}
	return false
}

// disown adds a mark that an ended instance belongs to another cluster.
func disown(r *Run, h *history) bool {
	n := slices.IndexFunc(h.instances, func(i *Instance) bool { return !i.Gone.At.IsZero() })
	if n >= 0 {
		r.Events = append(r.Events, Event{What: Mark, Mark: Foreign, Instance: h.instances[n].ID})
	}
	return n >= 0
}

// forgetGone drops the record of an instance's end.
func forgetGone(r *Run, _ *history) bool {
	ended := slices.ContainsFunc(r.Events, func(e Event) bool { return e.What == Mark && e.Mark == End })
	n := slices.IndexFunc(r.Events, func(e Event) bool { return e.What == Gone })
	if !ended || n < 0 {
		return false
	}
	r.Events = slices.Delete(r.Events, n, n+1)
	return true
}
