package checker

import (
	"slices"
	"strconv"
	"time"
)

// What came of a sabotage.
const (
	// Seen: the judge objects to the record once one line of it was falsified.
	Seen = "seen"
	// Unseen: it does not. Then its word is worth nothing.
	Unseen = "UNSEEN"
	// Nothing: the run has no line that could be falsified so.
	Nothing = "no occasion"
	// Needless: the run has broken the statement without help.
	Needless = "needless"
)

// saboteurs falsify a record so that one statement is broken, and say whether they found an occasion.
var saboteurs = map[string]func(r *Run, h *history) bool{
	"one-instance": twin,
	"drain-first":  hasten,
	"hooks":        hookOn,
	"wanted-stays": endWanted,
	"set-bound":    func(r *Run, _ *history) bool { return shrink(r, "machinesets") },
	"surge":        func(r *Run, _ *history) bool { return shrink(r, "machinedeployments") },
	"unavailable":  demand,
	"no-roll":      claimQuiet,
	"no-leak":      forgetGone,
	"settles": func(r *Run, _ *history) bool {
		r.Entries = append(r.Entries, Entry{What: Mark, Mark: Unsettled})
		return true
	},
	"recorded": func(r *Run, h *history) bool {
		for _, c := range h.calls("create") {
			if c.reply.Error == "" && !c.reply.At.IsZero() {
				r.Entries = slices.DeleteFunc(r.Entries, func(e Entry) bool { return e.What == Made && e.UID == c.UID })
				return true
			}
		}
		return false
	},
}

// Prove falsifies the record of a run once for each statement, and says whether its judge sees that.
func Prove(r Run) []string {
	h := sortOut(r)
	var out []string
	for _, s := range statements {
		fake := r
		fake.Writes, fake.Entries = slices.Clone(r.Writes), slices.Clone(r.Entries)
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

// twin gives a machine a second instance while its first one lives.
func twin(r *Run, h *history) bool {
	for _, i := range h.instances {
		if i.UID != "" && i.living().Sub(i.Made.At) > time.Second {
			second := i.Made
			second.Instance += "-twin"
			second.At = second.At.Add(time.Second / 2)
			r.Entries = append(r.Entries, second)
			return true
		}
	}
	return false
}

// change falsifies the entries for which it is so.
func (r *Run) change(so func(Entry) bool, to func(*Entry)) {
	for n := range r.Entries {
		if so(r.Entries[n]) {
			to(&r.Entries[n])
		}
	}
}

// hasten ends an instance as soon as its machine is deleted, with a pod on it.
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
			if pod.node == i.Machine && pod.boundDone.Before(at) && pod.surely(at, at, func(o Object) bool { return !daemon(o) && !finished(o) }) {
				r.change(func(e Entry) bool { return e.What == Ending && e.Instance == i.ID }, func(e *Entry) { e.At = at })
				return true
			}
		}
	}
	return false
}

// deletedAt is the first moment at which the deletion is a fact.
func deletedAt(deleted version) time.Time {
	if deleted.Write == nil {
		return time.Time{}
	}
	return deleted.Done.Add(time.Microsecond)
}

// hookOn puts a hook on a machine that was drained and ended without one.
func hookOn(r *Run, h *history) bool {
	for _, i := range h.instances {
		if i.Ending.At.IsZero() {
			continue
		}
		m := h.eras[h.eraOf(i.Ending.At)].machineOf(i.UID)
		if m == nil || !m.surely(i.Ending.At, i.Ending.At, Object.deleting) {
			continue
		}
		for n := range r.Writes {
			if r.Writes[n].Object.Metadata.UID == i.UID {
				r.Writes[n].Object.Spec.LifecycleHooks.PreTerminate = []Hook{{Name: "false"}}
			}
		}
		return true
	}
	return false
}

// endWanted ends an instance long before anybody wants it to.
func endWanted(r *Run, h *history) bool {
	for _, i := range h.instances {
		m := h.eras[0].machineOf(i.UID)
		early := i.Made.At.Add(time.Millisecond)
		if i.Ending.At.IsZero() || h.eraOf(early) > 0 || m == nil || !m.surely(early, early, Object.wanted) {
			continue
		}
		r.change(func(e Entry) bool { return e.What == Ending && e.Instance == i.ID }, func(e *Entry) { e.At = early })
		return true
	}
	return false
}

// shrink lets sets or deployments have wanted less than they got.
func shrink(r *Run, resource string) bool {
	none, found := 0, false
	for n := range r.Writes {
		if w := &r.Writes[n]; w.Resource == resource && w.Object.Spec.Replicas != nil {
			w.Object.Spec.Replicas, found = &none, true
			w.Object.Spec.Strategy.RollingUpdate.MaxSurge = nil
		}
	}
	return found
}

// demand lets the controllers give up all machines of a deployment together with the first.
func demand(r *Run, h *history) bool {
	for _, e := range h.eras {
		for _, w := range e.writes {
			set := h.gaveUp(e, w)
			if set == nil {
				continue
			}
			var judged Verdict
			if h.givenUp(e, set, w, &judged); judged.Judged == 0 {
				continue
			}
			for _, sibling := range e.members(set) {
				if now := sibling.during(w.Begun, w.Begun); len(now) == 1 && works(now[0].Object) {
					r.Writes = append(r.Writes, now[0].deletedBy(w))
				}
			}
			return true
		}
	}
	return false
}

// deletedBy is the deletion of an object just before another one's, by the same hand.
func (v version) deletedBy(other *Write) Write {
	w := *other
	w.Begun, w.Done = other.Begun.Add(-2*time.Millisecond), other.Begun.Add(-time.Millisecond)
	w.Namespace, w.Name, w.Object = v.Metadata.Namespace, v.Metadata.Name, v.Object
	w.Object.Metadata.DeletionTimestamp = &w.Done
	w.Object.Metadata.Finalizers = []string{"held"}
	w.Object.Metadata.ResourceVersion = strconv.FormatUint(v.order+1, 10)
	return w
}

// claimQuiet says that nothing but an exchange of binaries went on while a machine was made.
func claimQuiet(r *Run, h *history) bool {
	for _, e := range h.eras {
		for _, w := range e.writes {
			if w.User == h.Sets && w.Verb == "create" && w.Resource == "machines" && w.OK() {
				r.Entries = append(r.Entries, Entry{What: Mark, Mark: Exchanged, From: w.Begun.Add(-time.Second), Until: w.Done.Add(time.Second)})
				return true
			}
		}
	}
	return false
}

// forgetGone lets an instance stay for ever.
func forgetGone(r *Run, _ *history) bool {
	ended := slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.What == Mark && e.Mark == End })
	n := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.What == Gone })
	if !ended || n < 0 {
		return false
	}
	r.Entries = slices.Delete(r.Entries, n, n+1)
	return true
}
