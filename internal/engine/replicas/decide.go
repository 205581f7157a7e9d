package replicas

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Decision is the decision about a set now. At most one of Create and Delete is set.
type Decision struct {
	// Create is how many members to create.
	Create int
	// Delete are the members to delete, in the order of their deletion.
	Delete []Victim
	// Withheld says why members that should be deleted stay; empty if none does. Members whose deletion loses
	// nothing may still be deleted.
	Withheld string
	// Held says why wanted members are not created; empty if all are. Members up to the last allowed size are
	// created.
	Held string
	// Finished says that a set being deleted has no members left.
	Finished bool
	// Reason is a stable word for the decision, Message its text for users.
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
	// Failed says that the member has failed.
	Failed bool
}

// Reason is why a decision was taken.
type Reason string

// The reasons.
const (
	Invalid   Reason = "Invalid"   // the object is invalid
	Paused    Reason = "Paused"    // another controller is in charge
	Orphaned  Reason = "Orphaned"  // the set is deleted, its members stay
	Cascading Reason = "Cascading" // the set is deleted, and its members with it
	Held      Reason = "Held"      // members are missing but may not be created
	ScalingUp Reason = "ScalingUp"
	ScalingDn Reason = "ScalingDown"
	Replacing Reason = "Replacing" // members are deleted although there is no surplus
	Guarded   Reason = "Guarded"   // too many members would be deleted at once
	Settled   Reason = "Settled"
)

// Why a member was chosen.
const (
	WhySurplus = "surplus"
	WhyMarked  = "chosen by the autoscaler"
	WhyFailed  = "failed"
	WhyCascade = "its set is being deleted"
)

// Decide returns the decision about a set with the given members at now. The members may include some under
// deletion, which do not count. Their order does not matter.
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

// toSize decides how the set reaches its size.
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

// leave decides about a set under deletion.
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

// burst returns the limit of creations, and of deletions, in one pass over so many machines. A pass that
// deletes first reads all machines of the set past the cache: with a constant burst the reads for a set would
// grow with the square of its size.
func (p Policy) burst(machines int) int { return max(p.Burst, machines/burstShare) }

func grow(missing, size int, p Policy) Decision {
	n := min(missing, p.burst(size))
	return Decision{Create: n, Reason: ScalingUp, Message: fmt.Sprintf("%d members are missing, creating %d", missing, n)}
}

// hold decides about a set that has too few members and may create none. It deletes failed members as if none
// were missing: otherwise a rollout that waits until its machines are healthy would wait for them for ever.
// An autoscaler's choice waits.
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

// shrink deletes the surplus, and all members that have to go for other reasons. A guard holds all of that or
// nothing: going halfway does not correct a wrong number.
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
		d.Reason, d.Message = ScalingDn, fmt.Sprintf("%d members too many, one of which may be under deletion already", surplus)
	case len(out) == 0:
		d.Reason, d.Message = Settled, fmt.Sprintf("%d members, as wanted", len(counted))
	case surplus == 0:
		d.Reason, d.Message = Replacing, fmt.Sprintf("%d members have to be replaced", len(d.Delete))
	default:
		d.Reason, d.Message = ScalingDn, fmt.Sprintf("%d members too many, deleting %d", surplus, len(d.Delete))
	}
	return d
}

// victims returns the members of a set to delete, in order, and how many of those are only surplus. Shielded
// members are exempt, so that with 3 wanted and 5 existing, 3 of them shielded, none is deleted.
func victims(now time.Time, set Set, counted []Member, p Policy) (out []Victim, surplus int) {
	open := only(counted, func(m Member) bool { return !m.Shielded })
	going := only(open, func(m Member) bool { return deletionReason(now, set, m, p) != "" })
	// Members that go in any case must not cause others to go.
	surplus = max(0, len(open)-len(going)-set.Replicas)
	if surplus == 0 {
		// No member is chosen by rank, so a large set without changes needs no sorting.
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

// needed returns the names of members that work and would be among the n surplus ones only because their
// deletion was requested before, while useless members would stay. None of them is deleted: it is unknown
// whether the earlier deletion happens.
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

// pendingFirst moves members whose deletion was requested before to the front.
func pendingFirst(ranked []Member) []Member {
	doomed := only(ranked, func(m Member) bool { return m.PendingDeletion })
	if len(doomed) == 0 {
		return ranked
	}
	return append(doomed, only(ranked, func(m Member) bool { return !m.PendingDeletion })...)
}

// deletionReason returns why m has to go at any rank; empty if it may stay.
func deletionReason(now time.Time, set Set, m Member, p Policy) string {
	switch {
	case p.HonourMarks && marked(set, m):
		return WhyMarked
	case p.ReplaceFailed && m.Failed && !m.Preservation.Spares(now):
		return WhyFailed
	}
	return ""
}

// marked reports whether the autoscaler chose m in a change of replicas that the set has seen. A mark younger
// than the last change belongs to a change still in progress.
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
