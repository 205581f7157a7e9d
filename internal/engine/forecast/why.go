package forecast

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// why says why v was chosen and not another: the criterion is found by asking [replicas.Rank] about v and one that stays. Open says that
// the answer may change until the set decides.
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

// split finds v among the members, and those that stay.
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

// decides is the criterion by which v goes before o: the first that puts it there whatever their names are.
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

// shifting are the criteria by which the order changes with what machines are doing.
var shifting = map[replicas.Criterion]bool{replicas.UnavailableFirst: true, replicas.ByPhase: true, replicas.UnlinkedFirst: true}

func words(c replicas.Criterion, m replicas.Member) string {
	if m.Asked || m.Priority == 1 {
		return "asked to go first"
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
