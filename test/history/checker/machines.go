package checker

import (
	"slices"
	"time"
)

// oneInstance looks for two instances of one machine that lived at the same time. One that was told to end does not count:
// nobody wants it any more.
func oneInstance(h *history, v *Verdict) {
	byUID := map[string][]*Instance{}
	for _, i := range h.instances {
		if i.UID == "" || i.Made.At.IsZero() {
			continue
		}
		v.Judged++
		for _, other := range byUID[i.UID] {
			if i.Made.At.Before(other.living()) && other.Made.At.Before(i.living()) {
				v.breaks(i.Made.At, []string{other.Made.Where(), i.Made.Where()}, "machine %s (%s) has the instances %s and %s", i.Machine, i.UID, other.ID, i.ID)
			}
		}
		byUID[i.UID] = append(byUID[i.UID], i)
	}
}

// machineOf is the machine with the UID in the era.
func (e *era) machineOf(uid string) *thing {
	t := e.things[uid]
	if t == nil || t.resource != "machines" {
		return nil
	}
	return t
}

// wantedStays looks for instances that were ended although their machine was wanted, and for calls that asked for it. After a
// restore of etcd two histories say what is wanted: the one that goes on, and the one that was cut off, from which controllers
// that were left running may know better. An instance may go if either has its machine deleted. One whose machine exists only
// in the history that was cut off is nobody's, and may go as well.
func wantedStays(h *history, v *Verdict) {
	judge := func(e Entry, from, to time.Time, what string) {
		n := h.eraOf(to)
		m := h.eras[n].machineOf(e.UID)
		if e.UID == "" || m == nil {
			return
		}
		v.Judged++
		if !m.surely(from, to, Object.wanted) || n > 0 && h.eras[n-1].unwanted(e.UID) {
			return
		}
		v.breaks(e.At, []string{e.Where(), m.during(to, to)[0].Where()}, "%s of machine %s, which is wanted", what, m.name())
	}
	for _, i := range h.instances {
		if end := i.Ending; !end.At.IsZero() {
			end.UID = i.UID
			judge(end, end.At, end.At, "instance "+i.ID+" is ended")
		} else if end := i.Gone; !end.At.IsZero() {
			end.UID = i.UID
			judge(end, end.At, end.At, "instance "+i.ID+" is gone")
		}
	}
	for _, c := range h.calls("delete") {
		judge(c.Entry, c.At, c.At, "the end of the instance is asked for")
	}
}

// unwanted says whether the machine was, or may have been, deleted at the end of the era, or was not there.
func (e *era) unwanted(uid string) bool {
	m := e.machineOf(uid)
	return m == nil || slices.ContainsFunc(m.versions, func(v version) bool { return v.gone || v.deleting() })
}

// calls are the calls of a verb with their replies.
func (h *history) calls(verb string) []call {
	replies := map[string]Entry{}
	for _, e := range h.Entries {
		if e.What == Reply {
			replies[e.ID] = e
		}
	}
	var out []call
	for _, e := range h.Entries {
		if e.What == Call && e.Verb == verb {
			out = append(out, call{e, replies[e.ID]})
		}
	}
	return out
}

// call is a call and its reply, which is zero where none came.
type call struct {
	Entry
	reply Entry
}

// recorded compares what the two halves of the infrastructure's log say. Without it, a recorder that sees nothing would let
// everything pass.
func recorded(h *history, v *Verdict) {
	made := map[string]time.Time{}
	for _, i := range h.instances {
		if t, ok := made[i.UID]; !i.Made.At.IsZero() && (!ok || i.Made.At.Before(t)) {
			made[i.UID] = i.Made.At
		}
	}
	for _, c := range h.calls("create") {
		if c.reply.At.IsZero() || c.reply.Error != "" {
			continue
		}
		v.Judged++
		if t, ok := made[c.UID]; !ok || t.After(c.reply.At) {
			v.breaks(c.At, []string{c.Where(), c.reply.Where()}, "machine %s was told that it has an instance, and none was seen", c.Machine)
		}
	}
}
