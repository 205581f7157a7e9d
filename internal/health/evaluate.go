package health

import (
	"fmt"
	"slices"
	"time"
)

// State is how a machine is.
type State string

// The states. All but Healthy count as unhealthy in the budget.
const (
	Healthy State = "Healthy"
	// Unhealthy: to be remedied.
	Unhealthy State = "Unhealthy"
	// Suspect: the node shows a condition whose timeout has not passed.
	Suspect State = "Suspect"
	// Starting: there is no node yet.
	Starting State = "Starting"
	// Leaving: it is on its way out, or somebody else is remedying it.
	Leaving State = "Leaving"
	// Lost: its node is gone, and the check does not go by that.
	Lost State = "Lost"
)

// Verdict is the judgement about one machine.
type Verdict struct {
	State State
	// Message says why, for people.
	Message string
	// Due is when to look again though nothing happens; zero: never.
	Due time.Time
}

// margin is put on the time that is left, so that a look at that moment finds
// the timeout passed: times of transition are in seconds.
const margin = time.Second

// startupStretch bounds by how much changes of a machine's status may postpone
// the end of its start: within the timeout each from creation to the instance,
// from there to its running, and from there to the node.
const startupStretch = 3

// rules are asked in this order; the first that has an opinion decides.
var rules = []func(*question) (Verdict, bool){failed, unlinked, lost, ailing, leaving}

type question struct {
	now time.Time
	c   *Check
	t   *Target
}

// Evaluate judges t. It has an answer for everything.
func Evaluate(now time.Time, c *Check, t *Target) Verdict {
	q := &question{now, c, t}
	for _, rule := range rules {
		if v, ok := rule(q); ok {
			return v
		}
	}
	return Verdict{State: Healthy, Message: "the node is healthy"}
}

// failed: a machine that was given up never comes back by itself.
func failed(q *question) (Verdict, bool) {
	if !q.t.Failed || q.c.NodesOnly {
		return Verdict{}, false
	}
	return Verdict{State: Unhealthy, Message: "the machine failed"}, true
}

// unlinked: a machine without a node has a time to get one.
func unlinked(q *question) (Verdict, bool) {
	if q.t.NodeName != "" {
		return Verdict{}, false
	}
	timeout := q.c.StartupTimeout
	if q.t.Own.Startup != nil {
		timeout = *q.t.Own.Startup
	}
	switch {
	case timeout <= 0 || q.c.NodesOnly:
		return Verdict{State: Starting, Message: "there is no node, which may stay so"}, true
	case q.t.Updated.IsZero() && q.t.Own.Startup == nil:
		// Nobody has begun to make it: another one would fare no better.
		return Verdict{State: Starting, Message: "nobody has begun to make it", Due: q.now.Add(timeout)}, true
	}
	end := q.startupEnd(timeout)
	if end.Before(q.now) {
		return Verdict{State: Unhealthy, Message: fmt.Sprintf("no node has joined within %s", timeout)}, true
	}
	return Verdict{State: Starting, Message: fmt.Sprintf("a node is awaited until %s", stamp(end)), Due: end.Add(margin)}, true
}

// startupEnd is when the machine has been without a node for too long. The
// clock of a check is the last change of the status; the machine's own counts
// from its creation.
func (q *question) startupEnd(timeout time.Duration) time.Time {
	if q.t.Own.Startup != nil {
		return q.t.Created.Add(timeout)
	}
	end := q.t.Updated.Add(timeout)
	if last := q.t.Created.Add(startupStretch * timeout); !q.t.Created.IsZero() && last.Before(end) {
		return last
	}
	return end
}

// lost: the node that was there is not there any more.
func lost(q *question) (Verdict, bool) {
	switch {
	case q.t.Node != nil:
		return Verdict{}, false
	case q.c.NodesOnly:
		return Verdict{State: Lost, Message: fmt.Sprintf("node %s does not exist", q.t.NodeName)}, true
	}
	return Verdict{State: Unhealthy, Message: fmt.Sprintf("node %s does not exist any more", q.t.NodeName)}, true
}

// ailing: conditions are alternatives; the next that may expire is the next
// moment to look.
func ailing(q *question) (Verdict, bool) {
	var wait Verdict
	for _, have := range q.t.Node.Conditions {
		for _, timeout := range q.timeouts(have) {
			end := have.Since.Add(timeout)
			if end.Before(q.now) {
				return Verdict{State: Unhealthy, Message: fmt.Sprintf("%s has been %s for more than %s", have.Type, have.Status, timeout)}, true
			}
			if due := end.Add(margin); wait.Due.IsZero() || due.Before(wait.Due) {
				wait = Verdict{State: Suspect, Due: due, Message: fmt.Sprintf("%s is %s, which may last until %s", have.Type, have.Status, stamp(end))}
			}
		}
	}
	return wait, wait.State != ""
}

// timeouts are those that have applies to.
func (q *question) timeouts(have NodeCondition) (out []time.Duration) {
	for _, want := range q.c.Conditions {
		if want.Type != have.Type || want.Status != have.Status {
			continue
		}
		if q.t.Own.Health != nil {
			out = append(out, *q.t.Own.Health)
		} else {
			out = append(out, want.Timeout)
		}
	}
	if q.t.Own.Health != nil && have.Status != "False" && slices.Contains(q.t.Own.Conditions, have.Type) {
		out = append(out, *q.t.Own.Health)
	}
	return out
}

// leaving: nothing is wrong with the node, but the machine does not count as
// healthy.
func leaving(q *question) (Verdict, bool) {
	switch {
	case q.t.Deleting:
		return Verdict{State: Leaving, Message: "the machine is being deleted"}, true
	case q.t.Marked:
		return Verdict{State: Leaving, Message: "somebody was asked to remedy the machine"}, true
	}
	return Verdict{}, false
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
