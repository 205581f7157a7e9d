package forecast

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// why returns why v was chosen and not another machine. It finds the criterion by calling [replicas.Rank]
// with v and a machine that stays. Open says that the answer may change until the set decides.
func why(now time.Time, s Set, d replicas.Decision, v replicas.Victim) (reason string, open bool) {
	if v.Reason != replicas.WhySurplus {
		return v.Reason, false
	}
	chosen, rest := split(s, d, v)
	if chosen == nil || len(rest) == 0 {
		return v.Reason, false
	}
	stays := replicas.Rank(now, rest, s.Policy)[0]
	c, found := decides(now, *chosen, stays, s.Policy)
	if !found {
		return v.Reason + ", by name before those that stay", false
	}
	return v.Reason + ", " + words(c, *chosen), shifting[c]
}

// split returns v and the members that stay.
func split(s Set, d replicas.Decision, v replicas.Victim) (chosen *replicas.Member, rest []replicas.Member) {
	for _, m := range s.Members {
		switch {
		case m.UID == v.UID:
			chosen = &m
		case m.Counts() && !m.Shielded && !slices.ContainsFunc(d.Delete, func(o replicas.Victim) bool { return o.UID == m.UID }):
			rest = append(rest, m)
		}
	}
	return chosen, rest
}

// decides returns the criterion that puts v before o: the first one that does so independently of their names.
func decides(now time.Time, v, o replicas.Member, p replicas.Policy) (replicas.Criterion, bool) {
	for _, c := range p.Order {
		one := p
		one.Order = []replicas.Criterion{c}
		v.Name, o.Name = "b", "a"
		if replicas.Rank(now, []replicas.Member{v, o}, one)[0].UID == v.UID {
			return c, true
		}
	}
	return "", false
}

// shifting are the criteria whose order changes with the state of the machines.
var shifting = map[replicas.Criterion]bool{replicas.UnavailableFirst: true, replicas.ByPhase: true, replicas.UnlinkedFirst: true}

func words(c replicas.Criterion, m replicas.Member) string {
	if m.Asked || m.Priority == 1 {
		return "marked to be deleted first"
	}
	if m.Failed {
		return "failed"
	}
	switch c {
	case replicas.UnlinkedFirst:
		return "without a node"
	case replicas.OldestFirst, replicas.ByAge:
		return "older than those that stay"
	case replicas.NewestFirst:
		return "newer than those that stay"
	case replicas.UnavailableFirst:
		if !m.Usable {
			return "not available"
		}
		return "ready for a shorter time than those that stay"
	case replicas.KeptLast:
		return "not kept for inspection"
	case replicas.ByPriority:
		return "of a lower priority than those that stay"
	case replicas.MarkedFirst:
		return "marked by the autoscaler"
	case replicas.ByPhase:
		return "further from running than those that stay"
	}
	return string(c)
}
