package health

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/interruption"
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
	// Gone says that there is nothing that might recover: the node was there,
	// and does not exist any more.
	Gone bool
	// Announced says that the node itself says so, and that no time has to pass
	// for that to count.
	Announced bool
	// Reclaimed says that the infrastructure takes the instance back: it goes
	// whatever is done, and says nothing about others.
	Reclaimed bool
	// Began is when what makes the machine unhealthy is written to have begun;
	// zero where nobody wrote it down, or who did had only heard nothing.
	Began time.Time
}

// margin is put on the time that is left, so that a look at that moment finds
// the timeout passed: times of transition are in seconds.
const margin = time.Second

// startupStretch bounds by how much changes of a machine's status may postpone
// the end of its start: within the timeout each from creation to the instance,
// from there to its running, and from there to the node.
const startupStretch = 3

// longest is what a timeout is cut to, 97 years: sums with it have to fit.
const longest = math.MaxInt64 / startupStretch

// rules are asked in this order; the first that has an opinion decides.
var rules = []func(*input) (Verdict, bool){failed, unlinked, lost, ailing, leaving}

type input struct {
	now  time.Time
	seen connectivity.State
	c    *Check
	t    *Target
}

// Evaluate judges t by somebody who has seen what seen says. It has an answer
// for everything. All timeouts count watched time, so that nobody is given up
// for what happened unseen: neither in an outage nor before we started.
func Evaluate(now time.Time, seen connectivity.State, c *Check, t *Target) Verdict {
	q := &input{now, seen, c, t}
	for _, rule := range rules {
		if v, ok := rule(q); ok {
			return v
		}
	}
	return Verdict{State: Healthy, Message: "the node is healthy"}
}

// failed: a machine that was given up never comes back by itself.
func failed(q *input) (Verdict, bool) {
	if !q.t.Failed || q.c.NodesOnly {
		return Verdict{}, false
	}
	return Verdict{State: Unhealthy, Message: "the machine failed", Gone: q.t.NodeName != "" && q.t.Node == nil, Began: q.t.Updated}, true
}

// unlinked: a machine without a node has a time to get one.
func unlinked(q *input) (Verdict, bool) {
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
	left := q.startup(timeout)
	if left < 0 {
		return Verdict{State: Unhealthy, Message: fmt.Sprintf("no node has joined within %s", timeout), Began: q.t.Created}, true
	}
	return Verdict{State: Starting, Message: fmt.Sprintf("a node is awaited until %s", stamp(q.now.Add(left))), Due: q.now.Add(left + margin)}, true
}

// left is how much of a timeout is left; it is over when that is negative.
func (q *input) left(since time.Time, timeout time.Duration) time.Duration {
	return q.seen.Remaining(since, min(timeout, longest), q.now)
}

// startup is for how long the machine may yet be without a node. The clock of a
// check is the last change of the status, but no time before the creation: who wrote
// the status may have had a clock that was behind. The machine's own counts from its
// creation.
func (q *input) startup(timeout time.Duration) time.Duration {
	if q.t.Own.Startup != nil {
		return q.left(q.t.Created, timeout)
	}
	left := q.left(latest(q.t.Updated, q.t.Created), timeout)
	if q.t.Created.IsZero() {
		return left
	}
	return min(left, q.left(q.t.Created, startupStretch*min(timeout, longest)))
}

// lost: the node that was there is not there any more.
func lost(q *input) (Verdict, bool) {
	switch {
	case q.t.Node != nil:
		return Verdict{}, false
	case q.c.NodesOnly:
		return Verdict{State: Lost, Message: fmt.Sprintf("node %s does not exist", q.t.NodeName)}, true
	}
	return Verdict{State: Unhealthy, Message: fmt.Sprintf("node %s does not exist any more", q.t.NodeName), Gone: true}, true
}

// ailing: conditions are alternatives; the surest that has lasted for too long
// decides, and the next that may is the next moment to look.
func ailing(q *input) (Verdict, bool) {
	var ill, wait Verdict
	for _, have := range q.t.Node.Conditions {
		for _, timeout := range q.timeouts(have) {
			v, left := q.sickness(have, timeout)
			if left < 0 {
				if v.surer(ill) {
					ill = v
				}
				continue
			}
			if due := q.now.Add(left + margin); wait.Due.IsZero() || due.Before(wait.Due) {
				wait = Verdict{State: Suspect, Due: due, Message: fmt.Sprintf("%s is %s, which may last until %s", have.Type, have.Status, stamp(q.now.Add(left)))}
			}
		}
	}
	if ill.State != "" {
		return ill, true
	}
	return wait, wait.State != ""
}

// sickness is the verdict about a node that shows a condition which it may show
// for timeout, once nothing is left of that. True and False were said by
// somebody who was there. Unknown was concluded from silence by somebody who may
// have heard as little as we did, and Ready is what nodes and the cluster know of
// each other, which an outage changes: neither announces anything.
func (q *input) sickness(have NodeCondition, timeout time.Duration) (v Verdict, left time.Duration) {
	v = Verdict{State: Unhealthy, Message: fmt.Sprintf("%s has been %s for more than %s", have.Type, have.Status, timeout)}
	if have.Status != unknown {
		v.Began = have.Since
		v.Announced = timeout <= 0 && have.Type != ready
		v.Reclaimed = v.Announced && have.Type == string(interruption.Terminating) && have.Status == string(corev1.ConditionTrue)
	}
	if v.Announced {
		return v, -1
	}
	return v, q.left(have.Since, timeout)
}

// ready and unknown are a type and a status of node conditions.
const (
	ready   = string(corev1.NodeReady)
	unknown = string(corev1.ConditionUnknown)
)

// timeouts are those that have applies to.
func (q *input) timeouts(have NodeCondition) (out []time.Duration) {
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
func leaving(q *input) (Verdict, bool) {
	switch {
	case q.t.Deleting:
		return Verdict{State: Leaving, Message: "the machine is being deleted"}, true
	case q.t.Marked:
		return Verdict{State: Leaving, Message: "somebody was asked to remedy the machine"}, true
	}
	return Verdict{}, false
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Judged is a machine with the verdict about it.
type Judged struct {
	Target  Target
	Verdict Verdict
	// Since is when the verdict's state was first found.
	Since time.Time
	// Unclear says that, healthy as it is, what was asked for it may be left.
	Unclear bool
}

// Judge judges t, where before is what was found about it last; nil: nobody has
// looked.
func Judge(now time.Time, seen connectivity.State, c *Check, before *Judged, t *Target) Judged {
	j := Judged{Target: *t, Verdict: Evaluate(now, seen, c, t), Since: now}
	j.Unclear = before == nil || before.Unclear || j.Verdict.State != Healthy
	if before != nil && before.Verdict.State == j.Verdict.State {
		j.Since = before.Since
	}
	return j
}

// Due reports whether the moment has come to judge again though nothing happened.
func (j *Judged) Due(now time.Time) bool {
	return !j.Verdict.Due.IsZero() && !now.Before(j.Verdict.Due)
}

// Stands reports whether the verdict is that of t at now. It costs a comparison.
func (j *Judged) Stands(now time.Time, t *Target) bool {
	return j.Target.equal(t) && !j.Due(now)
}
