package drain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// named is how many pods a message names; the others are counted.
const named = 10

// message says in one line what is in the way, the blocked pods first. It has
// no times and counts in it that change while nothing else does.
func message(d Decision) string {
	if d.Done {
		return ""
	}
	var parts []string
	for _, b := range d.Blocked {
		parts = append(parts, b.Pod.String()+" ("+why(b)+")")
	}
	for _, b := range d.Waiting {
		parts = append(parts, b.Pod.String()+" ("+why(b)+")")
	}
	for _, t := range append(append([]Target{}, d.Evict...), d.Delete...) {
		parts = append(parts, t.Pod.String())
	}
	text := fmt.Sprintf("%d pods have to leave: ", len(parts))
	if len(parts) == 1 {
		text = "1 pod has to leave: "
	}
	if rest := len(parts) - named; rest > 0 {
		return text + strings.Join(parts[:named], ", ") + fmt.Sprintf(" and %d more", rest)
	}
	return text + strings.Join(parts, ", ")
}

func why(b Blocker) string {
	switch b.Reason {
	case ReasonBudgetNever:
		return "disruption budget " + b.Budget.Name + " allows no disruption even with all pods healthy"
	case ReasonBudgets:
		return "several disruption budgets cover it, " + b.Budget.Name + " among them"
	case ReasonBudget:
		if b.Budget == (types.NamespacedName{}) {
			return "a disruption budget has no room"
		}
		return "disruption budget " + b.Budget.Name + " has no room"
	case ReasonRefused:
		return "eviction refused: " + b.Detail
	case ReasonEvicted:
		return "eviction accepted"
	default:
		return "terminating"
	}
}

// next is when to look again: at once but for a short pause after requests,
// else when the first of the pods is due.
func next(now time.Time, d Decision) time.Duration {
	if d.Done {
		return 0
	}
	soonest := pollMost
	if len(d.Evict)+len(d.Delete) > 0 {
		soonest = pollLeast
	}
	for _, list := range [][]Blocker{d.Waiting, d.Blocked} {
		for _, b := range list {
			soonest = min(soonest, max(b.Until.Sub(now), pollLeast))
		}
	}
	return soonest
}
