package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// oneInstance looks for two instances of one machine that lived at the same time. An instance whose end was requested does not
// count, because its machine no longer needs it. In a run with Once it looks for any two instances. The exception is a first
// instance that ended without a request before its machine recorded it: an infrastructure that recognizes instances only by what
// exists creates another one then.
func oneInstance(h *history, v *Verdict) {
	byUID := map[string][]*Instance{}
	for _, i := range h.instances {
		if i.Made.At.IsZero() || h.foreign[i.ID] {
			continue
		}
		v.Judged++
		if i.UID == "" {
			v.breaks(i.Made.At, []string{i.Made.Where()}, "instance %s (%s) has no machine UID", i.ID, i.Machine)
			continue
		}
		for _, other := range byUID[i.UID] {
			if h.Once && !h.unheard(other, i.Made.At) || i.Made.At.Before(other.living()) && other.Made.At.Before(i.living()) {
				v.breaks(i.Made.At, []string{other.Made.Where(), i.Made.Where()}, "machine %s (%s) had two instances: %s and %s", i.UID, i.Machine, other.life(), i.life())
			}
		}
		byUID[i.UID] = append(byUID[i.UID], i)
	}
}

// unheard says whether an instance ended without a request at a time before, and its machine had not recorded it by that time.
func (h *history) unheard(i *Instance, before time.Time) bool {
	if i.Died.At.IsZero() || i.Died.At.After(before) {
		return false
	}
	return !slices.ContainsFunc(h.eras, func(e *era) bool {
		m := e.machineOf(i.UID)
		return m != nil && slices.ContainsFunc(m.versions, func(v version) bool { return v.Begun.Before(before) && v.Spec.ProviderID != "" })
	})
}

// life names the instance and its lifetime, for people.
func (i *Instance) life() string {
	end := "now"
	if !i.Gone.At.IsZero() {
		end = i.Gone.At.UTC().Format(time.TimeOnly)
	}
	return fmt.Sprintf("%s from %s to %s", i.ID, i.Made.At.UTC().Format(time.TimeOnly), end)
}

// othersKept looks for instances of other clusters that were ended.
func othersKept(h *history, v *Verdict) {
	for _, i := range h.instances {
		if !h.foreign[i.ID] {
			continue
		}
		v.Judged++
		if end := cmp.Or(i.Ending.At, i.Gone.At); !end.IsZero() {
			v.breaks(end, []string{i.Made.Where()}, "instance %s (%s), which is of another cluster, was ended", i.ID, i.Machine)
		}
	}
}

// machineOf returns the machine with the UID in the era.
func (e *era) machineOf(uid string) *thing {
	t := e.things[uid]
	if t == nil || t.resource != "machines" {
		return nil
	}
	return t
}

// wantedStays looks for instances that were ended although their machine was wanted, and for such calls. After a restore of etcd
// two histories say which machines are wanted: the current one, and the one before the restore, which controllers that kept
// running may have seen. An instance may be ended if its machine is deleted in either history. An instance may also be ended if
// its machine exists only in the history before the restore, because it has no owner.
func wantedStays(h *history, v *Verdict) {
	judge := func(e Event, from, to time.Time, what string) {
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
		} else if end := i.Gone; !end.At.IsZero() && i.Died.At.IsZero() {
			end.UID = i.UID
			judge(end, end.At, end.At, "instance "+i.ID+" is gone")
		}
	}
	for _, c := range h.calls("delete") {
		judge(c.Event, c.At, c.At, "the deletion of the instance is requested")
	}
}

// released looks for machines whose finalizer the machine controllers removed while their instance or one of its parts existed.
// Such an instance or part has no owner, and may stay for ever.
func released(h *history, v *Verdict) {
	for _, i := range slices.Concat(h.instances, h.parts) {
		for _, e := range h.eras {
			m := e.machineOf(i.UID)
			if m == nil || !m.last().gone || m.last().User != h.Machines {
				continue
			}
			v.Judged++
			if end := m.last(); i.during(end.Begun, end.Done) {
				v.breaks(end.Begun, []string{i.Made.Where(), end.Where()}, "machine %s is removed while its %s %s exists", m.name(), cmp.Or(i.Part, "instance"), i.ID)
			}
		}
	}
}

// heldFirst looks for instances of machines without a finalizer: such a machine could be removed, and its instance would have no
// owner.
func heldFirst(h *history, v *Verdict) {
	for _, i := range h.instances {
		var seen []version
		for _, e := range h.eras {
			if m := e.machineOf(i.UID); m != nil {
				seen = append(seen, m.versions...)
			}
		}
		if len(seen) == 0 || i.Made.At.IsZero() {
			continue // the record does not have the machine
		}
		v.Judged++
		if !slices.ContainsFunc(seen, func(v version) bool { return !v.Begun.After(i.Made.At) && len(v.Metadata.Finalizers) > 0 }) {
			v.breaks(i.Made.At, []string{i.Made.Where(), seen[0].Where()}, "instance %s is created for machine %s, which has no finalizer", i.ID, seen[0].Metadata.Name)
		}
	}
}

// nodeLast looks for nodes that the machine controllers deleted while the instance existed.
func nodeLast(h *history, v *Verdict) {
	for _, e := range h.eras {
		for _, w := range e.writes {
			if w.User != h.Machines || w.Verb != "delete" || w.Resource != "nodes" || !w.OK() {
				continue
			}
			v.Judged++
			for _, i := range h.instances {
				if i.node == w.Name && i.during(w.Begun, w.Done) && !e.older(w.Name, i.Made.At, w.Begun) {
					v.breaks(w.Begun, []string{i.Made.Where(), w.Where()}, "node %s is deleted while its instance %s exists", w.Name, i.ID)
				}
			}
		}
	}
}

// unwanted says whether at the end of the era the machine did not exist, or was or may have been deleted.
func (e *era) unwanted(uid string) bool {
	m := e.machineOf(uid)
	return m == nil || slices.ContainsFunc(m.versions, func(v version) bool { return v.gone || v.deleting() })
}

// calls returns the calls of a verb with their replies.
func (h *history) calls(verb string) []call {
	replies := map[string]Event{}
	for _, e := range h.Events {
		if e.What == Reply {
			replies[e.ID] = e
		}
	}
	var out []call
	for _, e := range h.Events {
		if e.What == Call && e.Verb == verb {
			out = append(out, call{e, replies[e.ID]})
		}
	}
	return out
}

// call is a call and its reply; the reply is zero if none came.
type call struct {
	Event
	reply Event
}

// recorded compares the controllers' replies with the infrastructure's own events. Without it, a recorder that sees nothing would
// break no statement.
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
			v.breaks(c.At, []string{c.Where(), c.reply.Where()}, "a reply says that machine %s has an instance, and the record has none", c.Machine)
		}
	}
}
