package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/provider"
)

// Limits of a message. It counts the items that it does not name.
const (
	named   = 10
	longest = 2000 // bytes
	// roomy is the limit of a list; the rest of the message needs some room, too.
	roomy = 1500 // bytes
)

// message says in one line what blocks the drain, blocked pods first, and since when. Its times and counts
// change only when a fact changes.
func message(d Decision, p Policy) string {
	if d.Done {
		return ""
	}
	pods, volumes := parts(d)
	var out []string
	if len(pods) > 0 {
		text := fmt.Sprintf("%d pods have to leave: ", len(pods))
		if len(pods) == 1 {
			text = "1 pod has to leave: "
		}
		out = append(out, text+list(pods))
	}
	if len(volumes) > 0 {
		out = append(out, list(volumes))
	}
	if len(d.Detach) > 0 {
		out = append(out, fmt.Sprintf("%d volume attachments are being removed", len(d.Detach)))
	}
	if len(d.Obstacles) > 0 {
		out = append(out, Warning(d.Obstacles))
	}
	if p.hurried() {
		out = append(out, "the instance is terminated at "+stamp(p.Deadline))
	}
	if p.Remark != "" {
		out = append(out, p.Remark)
	}
	return provider.Clip(strings.Join(out, "; "), longest)
}

// parts returns the texts about each pod and each volume.
func parts(d Decision) (pods, volumes []string) {
	last := func(b Blocker) int { // pods with a later turn
		if b.Reason == ReasonTurn {
			return 1
		}
		return 0
	}
	waiting := slices.Clone(d.Waiting)
	slices.SortStableFunc(waiting, func(a, b Blocker) int { return last(a) - last(b) })
	for _, b := range slices.Concat(d.Blocked, waiting) {
		if b.Volume != "" {
			volumes = append(volumes, whyVolume(b))
			continue
		}
		pods = append(pods, b.Pod.String()+" ("+why(b)+since(b)+")")
	}
	for _, t := range slices.Concat(d.Evict, d.Delete) {
		pods = append(pods, t.Pod.String())
	}
	return pods, volumes
}

// list joins as many parts as a message has room for, at least one.
func list(parts []string) string {
	size := 0
	for i, p := range parts {
		size += len(p) + len(", ")
		if i > 0 && (i == named || size > roomy) {
			return strings.Join(parts[:i], ", ") + fmt.Sprintf(" and %d more", len(parts)-i)
		}
	}
	return strings.Join(parts, ", ")
}

// Warning joins obstacles into one line, first those that keep the drain from finishing; empty without
// obstacles.
func Warning(obstacles []Obstacle) string {
	var endless, costly []string
	for _, o := range obstacles {
		text := o.Pod.String() + ": " + o.Message
		if o.Endless {
			endless = append(endless, text)
		} else {
			costly = append(costly, text)
		}
	}
	var out []string
	if len(endless) > 0 {
		out = append(out, "this drain cannot finish by itself: "+list(endless))
	}
	if len(costly) > 0 {
		out = append(out, "warning: "+list(costly))
	}
	return strings.Join(out, "; ")
}

func why(b Blocker) string {
	switch b.Reason {
	case ReasonBudgetNever:
		return "disruption budget " + b.Budget.String() + " " + never(b.Cause)
	case ReasonBudgets:
		all := b.Budget.String()
		for _, o := range b.Also {
			all += ", " + o.String()
		}
		return "several disruption budgets cover it: " + all
	case ReasonBudget:
		if b.Budget == (types.NamespacedName{}) {
			return "a disruption budget has no room"
		}
		return "disruption budget " + b.Budget.String() + " has no room"
	case ReasonRefused:
		return "eviction refused: " + b.Detail
	case ReasonEvicted:
		return "eviction accepted"
	case ReasonTurn:
		return "others leave before it"
	case ReasonLead:
		return "not before " + stamp(b.Until)
	default:
		return "terminating"
	}
}

// never says that a budget will never allow a disruption.
func never(cause string) string {
	const text = "allows no disruption even with all pods healthy"
	if cause == "" {
		return text
	}
	return text + ": " + cause
}

// since returns the start of waits that have their own.
func since(b Blocker) string {
	switch b.Reason {
	case ReasonEvicted, ReasonTurn, ReasonLead:
		return ""
	}
	if b.Since.IsZero() {
		return ""
	}
	return ", since " + stamp(b.Since)
}

func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

func whyVolume(b Blocker) string {
	text := "volume " + b.Volume
	if b.Pod.Name != "" {
		text += " of " + b.Pod.String()
	}
	switch b.Reason {
	case ReasonStillAttached:
		return text + " is still attached " + b.Detail + since(b)
	case ReasonReattaching:
		return text + " is detached and not attached elsewhere yet" + since(b)
	case ReasonRefused:
		return text + " cannot be detached: " + b.Detail + since(b)
	default:
		return text + " is being detached" + since(b)
	}
}

// next returns when to decide again: after a short pause if there are requests, otherwise when the first of
// the pods is due, or when the deadline changes the decision.
func next(now time.Time, d Decision, p Policy) time.Duration {
	if d.Done {
		return 0
	}
	soonest := pollMost
	switch {
	case len(d.Evict)+len(d.Delete)+len(d.Detach) > 0:
		soonest = pollLeast
	case len(d.Waiting) == 0 && !slices.ContainsFunc(d.Blocked, func(b Blocker) bool { return b.Budget.Name == "" }):
		soonest = FullRetryEvery // events report earlier when a pod leaves or a budget has room
	}
	for _, list := range [][]Blocker{d.Waiting, d.Blocked} {
		for _, b := range list {
			soonest = min(soonest, max(b.Until.Sub(now), pollLeast))
		}
	}
	for _, at := range p.moments() {
		if left := at.Sub(now); left > 0 {
			soonest = min(soonest, left)
		}
	}
	return soonest
}
