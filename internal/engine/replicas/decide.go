package replicas

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Decision is what to do with a set now. At most one of Create and Delete is
// asked for.
type Decision struct {
	// Create is how many members to create.
	Create int
	// Delete are the members to delete, the first to go first.
	Delete []Victim
	// Withheld says why members that should go stay; empty when none does. Others,
	// which nobody misses, may go all the same.
	Withheld string
	// Held says why members that are wanted are not created; empty when all are. Others, up to
	// the size that was allowed last, are.
	Held string
	// Finished says that a set being deleted has no members left.
	Finished bool
	// Reason is a stable word for what was decided, Message the same for
	// people.
	Reason  Reason
	Message string
}

// Acts reports whether d changes anything.
func (d Decision) Acts() bool { return d.Create > 0 || len(d.Delete) > 0 }

// Victim is a member to delete, and why.
type Victim struct {
	UID    types.UID
	Name   string
	Reason string
	// Failed says that the member had been given up.
	Failed bool
}

// Reason is why a decision was taken.
type Reason string

// The reasons.
const (
	Invalid   Reason = "Invalid"   // the object is at fault
	Paused    Reason = "Paused"    // somebody else is in charge
	Orphaned  Reason = "Orphaned"  // the set goes, its members stay
	Cascading Reason = "Cascading" // the set goes, and its members with it
	Held      Reason = "Held"      // members are missing but may not be created
	ScalingUp Reason = "ScalingUp"
	ScalingDn Reason = "ScalingDown"
	Replacing Reason = "Replacing" // members go although there is no surplus
	Guarded   Reason = "Guarded"   // too many members would go at once
	Settled   Reason = "Settled"
)

// Why a member was chosen.
const (
	WhySurplus = "surplus"
	WhyMarked  = "chosen by the autoscaler"
	WhyFailed  = "failed"
	WhyCascade = "its set is being deleted"
)

// Decide returns what to do with set, whose members are those given, at now.
// Members that are on their way out may be among them and do not count. The
// order of members does not matter.
func Decide(now time.Time, set Set, members []Member, p Policy) Decision {
	if set.Deleting {
		return leave(now, set, members, p)
	}
	if set.Paused != "" {
		return Decision{Reason: Paused, Message: set.Paused}
	}
	if len(set.Faults) > 0 {
		return Decision{Reason: Invalid, Message: set.Faults[0].String()}
	}
	size, held := set.Growth.Hold(set.Replicas, len(members))
	set.Replicas = size
	d := toSize(now, set, members, p)
	if d.Held = held; held != "" && d.Reason == Settled {
		d.Reason, d.Message = Guarded, held
	}
	return d
}

// toSize brings the set to its size.
func toSize(now time.Time, set Set, members []Member, p Policy) Decision {
	counted := only(members, Member.Counts)
	if missing := set.Replicas - len(counted); missing > 0 {
		if set.NoGrowth != "" {
			return hold(now, set, counted, p)
		}
		return grow(missing, set.Replicas, p)
	}
	return shrink(now, set, counted, len(members)-len(counted), p)
}

// leave is the end of a set.
func leave(now time.Time, set Set, members []Member, p Policy) Decision {
	switch {
	case !p.Cascade:
		return Decision{Reason: Orphaned, Message: "the garbage collector looks after the members", Finished: true}
	case set.Orphaning:
		return Decision{Reason: Orphaned, Message: "waiting for the garbage collector to free the members"}
	case len(members) == 0:
		return Decision{Reason: Cascading, Message: "no members are left", Finished: true}
	}
	living := only(members, func(m Member) bool { return !m.Deleting })
	d := Decision{Reason: Cascading, Message: fmt.Sprintf("%d members are left, %d of them not deleted yet", len(members), len(living))}
	for _, m := range Rank(now, living, p)[:min(len(living), p.burst(len(members)))] {
		d.Delete = append(d.Delete, m.victim(WhyCascade))
	}
	return d
}

// burstShare is the part of a large set that one pass may create or delete.
const burstShare = 20

// burst bounds the creations of one pass over so many machines, and its deletions. A pass that deletes reads all machines of the set past the
// cache first: rounds of the same size would make the reads for a set grow with the square of its size.
func (p Policy) burst(machines int) int { return max(p.Burst, machines/burstShare) }

func grow(missing, size int, p Policy) Decision {
	n := min(missing, p.burst(size))
	return Decision{Create: n, Reason: ScalingUp, Message: fmt.Sprintf("%d members are missing, creating %d", missing, n)}
}

// hold is what a set does that has too few members and may create none. Those that
// failed go as they do when none is missing: a rollout that waits until its machines
// are not sick any more would wait for them for ever. An autoscaler's choice waits.
func hold(now time.Time, set Set, counted []Member, p Policy) Decision {
	d := Decision{Reason: Held, Message: fmt.Sprintf("%d members are missing, but %s", set.Replicas-len(counted), set.NoGrowth)}
	if set.Frozen {
		return d
	}
	p.HonourMarks = false
	out, _ := victims(now, set, counted, p)
	if d.Delete = out[:min(len(out), p.burst(len(counted)))]; len(d.Delete) > 0 {
		d.Message += fmt.Sprintf("; deleting %d that failed", len(d.Delete))
	}
	return d
}

// shrink gives up the surplus, and whatever has to go besides. A guard holds
// all of that or nothing: a wrong number is not put right by following it
// halfway.
func shrink(now time.Time, set Set, counted []Member, leaving int, p Policy) Decision {
	out, surplus := victims(now, set, counted, p)
	held := set.Guard.refuse(out, len(counted)+leaving, leaving)
	if held != "" {
		out, surplus = slices.DeleteFunc(out, func(v Victim) bool { return !v.replaced() }), 0
	}
	d := Decision{Delete: out[:min(len(out), p.burst(len(counted)))], Withheld: held}
	switch {
	case len(out) == 0 && held != "":
		d.Reason, d.Message = Guarded, held
	case len(out) == 0 && surplus > 0:
		d.Reason, d.Message = ScalingDn, fmt.Sprintf("%d members too many, one of which may be going already", surplus)
	case len(out) == 0:
		d.Reason, d.Message = Settled, fmt.Sprintf("%d members, as wanted", len(counted))
	case surplus == 0:
		d.Reason, d.Message = Replacing, fmt.Sprintf("%d members have to be replaced", len(d.Delete))
	default:
		d.Reason, d.Message = ScalingDn, fmt.Sprintf("%d members too many, deleting %d", surplus, len(d.Delete))
	}
	return d
}

// victims are the members of a set that have to go, the first to go first, and
// how many of those go only because they are too many. Shielded members hide
// from all of it, so that of 3 wanted and 5 there, 3 of them shielded, none
// goes.
func victims(now time.Time, set Set, counted []Member, p Policy) (out []Victim, surplus int) {
	open := only(counted, func(m Member) bool { return !m.Shielded })
	going := only(open, func(m Member) bool { return deletionReason(now, set, m, p) != "" })
	// Those that go in any case are not to be joined by others on their account.
	surplus = max(0, len(open)-len(going)-set.Replicas)
	if surplus == 0 {
		// Nobody is chosen by rank: spare a large set at rest the sorting.
		open = going
	}
	ranked, left := Rank(now, open, p), surplus
	waits := needed(now, set, ranked, surplus, p)
	for _, m := range pendingFirst(ranked) {
		why := deletionReason(now, set, m, p)
		switch {
		case why == "" && left == 0:
			continue
		case why == "":
			why, left = WhySurplus, left-1
			if waits[m.Name] {
				continue
			}
		}
		out = append(out, m.victim(why))
	}
	return out, surplus
}

// needed are the names of members that work and would be among the n surplus ones only
// because their deletion was asked for before, where others of no use would stay in
// their place. Neither goes: it is not known yet whether that deletion happens.
func needed(now time.Time, set Set, ranked []Member, n int, p Policy) map[string]bool {
	if n == 0 || !slices.ContainsFunc(ranked, func(m Member) bool { return m.PendingDeletion }) {
		return nil
	}
	ranked = only(ranked, func(m Member) bool { return deletionReason(now, set, m, p) == "" })
	works := func(m Member) bool { return uselessness(now, p, &m) == 0 }
	first, out := map[string]bool{}, map[string]bool{}
	for _, m := range pendingFirst(ranked)[:n] {
		first[m.Name] = true
		out[m.Name] = m.PendingDeletion && works(m)
	}
	costs := false
	for _, m := range ranked[:n] {
		delete(out, m.Name)
		costs = costs || !first[m.Name] && !works(m)
	}
	if !costs {
		return nil
	}
	return out
}

// pendingFirst moves those to the front whose deletion was asked for before.
func pendingFirst(ranked []Member) []Member {
	doomed := only(ranked, func(m Member) bool { return m.PendingDeletion })
	if len(doomed) == 0 {
		return ranked
	}
	return append(doomed, only(ranked, func(m Member) bool { return !m.PendingDeletion })...)
}

// deletionReason returns why m has to go whatever its rank; empty when it may stay.
func deletionReason(now time.Time, set Set, m Member, p Policy) string {
	switch {
	case p.HonourMarks && marked(set, m):
		return WhyMarked
	case p.ReplaceFailed && m.Failed && !m.Preservation.Spares(now):
		return WhyFailed
	}
	return ""
}

// marked reports whether the autoscaler chose m in a change of replicas that
// the set has seen. A mark younger than the last change belongs to a change
// still under way.
func marked(set Set, m Member) bool {
	const victim = 1
	return !set.Scaled.IsZero() && !m.Marked.IsZero() && m.Priority == victim && !m.Marked.After(set.Scaled)
}

func (m Member) victim(why string) Victim {
	return Victim{UID: m.UID, Name: m.Name, Reason: why, Failed: m.Failed}
}

func only(all []Member, keep func(Member) bool) []Member {
	out := make([]Member, 0, len(all))
	for _, m := range all {
		if keep(m) {
			out = append(out, m)
		}
	}
	return out
}
