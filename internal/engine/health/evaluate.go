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

// State is the health of a machine.
type State string

// The states. All but Healthy count as unhealthy in the budget.
const (
	Healthy State = "Healthy"
	// Unhealthy: it needs a remedy.
	Unhealthy State = "Unhealthy"
	// Suspect: the node shows a condition whose timeout has not passed.
	Suspect State = "Suspect"
	// Starting: there is no node yet.
	Starting State = "Starting"
	// Leaving: it is under deletion, or another program remediates it.
	Leaving State = "Leaving"
	// Lost: its node does not exist, and the check ignores that.
	Lost State = "Lost"
)

// Verdict is the judgement about one machine.
type Verdict struct {
	State State
	// Message says why, for people.
	Message string
	// Due is when to judge again without an event; zero: never.
	Due time.Time
	// Gone says that nothing can recover: the node existed, and does not exist any more.
	Gone bool
	// Announced says that the node itself reports the problem, and that it counts at once.
	Announced bool
	// Reclaimed says that the infrastructure reclaims the instance: it ends in any case, which says nothing
	// about other machines.
	Reclaimed bool
	// Began is when the problem began, by a record; zero if there is no record, or if its author only noticed
	// silence.
	Began time.Time
}

// margin is added to the remaining time, so that the timeout has passed at that moment: transition times are
// in seconds.
const margin = time.Second

// startupStretch limits how far status changes of a machine may postpone the end of its start: one timeout
// each from creation to the instance, from there to running, and from there to the node.
const startupStretch = 3

// longest is what a timeout is cut to, 97 years: sums with it have to fit.
const longest = math.MaxInt64 / startupStretch

// rules are applied in this order; the first that has an opinion decides.
var rules = []func(*input) (Verdict, bool){failed, unlinked, lost, ailing, leaving}

type input struct {
	now  time.Time
	seen connectivity.State
	c    *Check
	t    *Target
}

// Evaluate judges t, with the connection seen. It has an answer for every input. All timeouts count watched
// time, so that no machine fails because of what happened unseen: neither in an outage nor before this
// process started.
func Evaluate(now time.Time, seen connectivity.State, c *Check, t *Target) Verdict {
	q := &input{now, seen, c, t}
	for _, rule := range rules {
		if v, ok := rule(q); ok {
			return v
		}
	}
	return Verdict{State: Healthy, Message: "the node is healthy"}
}

// failed: a failed machine never recovers by itself.
func failed(q *input) (Verdict, bool) {
	if !q.t.Failed || q.c.NodesOnly {
		return Verdict{}, false
	}
	return Verdict{State: Unhealthy, Message: "the machine failed", Gone: q.t.NodeName != "" && q.t.Node == nil, Began: q.t.Updated}, true
}

// unlinked: a machine without a node has a timeout to get one.
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
		return Verdict{State: Starting, Message: "it has no node, and needs none"}, true
	case q.t.Updated.IsZero() && q.t.Own.Startup == nil:
		// No controller has begun to create it: another machine would fare no better.
		return Verdict{State: Starting, Message: "no controller has begun to create it", Due: q.now.Add(timeout)}, true
	}
	left := q.startup(timeout)
	if left < 0 {
		return Verdict{State: Unhealthy, Message: fmt.Sprintf("no node has joined within %s", timeout), Began: q.t.Created}, true
	}
	return Verdict{State: Starting, Message: fmt.Sprintf("its node has until %s to join", stamp(q.now.Add(left))), Due: q.now.Add(left + margin)}, true
}

// left returns how much of a timeout is left; it is over if that is negative.
func (q *input) left(since time.Time, timeout time.Duration) time.Duration {
	return q.seen.Remaining(since, min(timeout, longest), q.now)
}

// startup returns how much longer the machine may be without a node. The timeout of a check counts from the
// last change of the status, but never from a time before the creation: the writer of the status may have had
// a slow clock. The machine's own timeout counts from its creation.
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

// lost: the recorded node does not exist any more.
func lost(q *input) (Verdict, bool) {
	switch {
	case q.t.Node != nil:
		return Verdict{}, false
	case q.c.NodesOnly:
		return Verdict{State: Lost, Message: fmt.Sprintf("node %s does not exist", q.t.NodeName)}, true
	}
	return Verdict{State: Unhealthy, Message: fmt.Sprintf("node %s does not exist any more", q.t.NodeName), Gone: true}, true
}

// ailing: each condition suffices. The surest one that has lasted too long decides; the next one to time out
// sets the next moment to judge.
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

// sickness returns the verdict about a node with this condition after its timeout. The node's kubelet
// reported True or False itself. Unknown was concluded from silence by another process, which may have been
// as disconnected as this one. Ready depends on both node and cluster, so an outage changes it. Neither of
// the two announces a problem.
func (q *input) sickness(have NodeCondition, timeout time.Duration) (v Verdict, left time.Duration) {
	v = Verdict{State: Unhealthy, Message: fmt.Sprintf("%s has been %s for more than %s", have.Type, have.Status, timeout)}
	if have.Status != unknown {
		v.Began = q.onset(have)
		v.Announced = timeout <= 0 && have.Type != ready
		v.Reclaimed = v.Announced && have.Type == string(interruption.Terminating) && have.Status == string(corev1.ConditionTrue)
	}
	if v.Announced {
		return v, -1
	}
	return v, q.left(q.onset(have), timeout)
}

// onset returns when the machine began to have the condition. A new machine may find the node of an earlier instance under its name, whose
// condition says nothing about the time before the machine.
func (q *input) onset(have NodeCondition) time.Time { return latest(have.Since, q.t.Created) }

// ready and unknown are a type and a status of node conditions.
const (
	ready   = string(corev1.NodeReady)
	unknown = string(corev1.ConditionUnknown)
)

// timeouts returns the timeouts that apply to have.
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

// leaving: the node is healthy, but the machine does not count as healthy.
func leaving(q *input) (Verdict, bool) {
	switch {
	case q.t.Deleting:
		return Verdict{State: Leaving, Message: "the machine is being deleted"}, true
	case q.t.Marked:
		return Verdict{State: Leaving, Message: "another program was asked to remediate the machine"}, true
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
	// Unclear says that the machine is healthy, but a remediation request for it may still exist.
	Unclear bool
}

// Judge judges t; before is the previous verdict about it, or nil.
func Judge(now time.Time, seen connectivity.State, c *Check, before *Judged, t *Target) Judged {
	j := Judged{Target: *t, Verdict: Evaluate(now, seen, c, t), Since: now}
	j.Unclear = before == nil || before.Unclear || j.Verdict.State != Healthy
	if before != nil && before.Verdict.State == j.Verdict.State {
		j.Since = before.Since
	}
	return j
}

// Due reports whether it is time to judge again without an event.
func (j *Judged) Due(now time.Time) bool {
	return !j.Verdict.Due.IsZero() && !now.Before(j.Verdict.Due)
}

// Stands reports whether the verdict still holds for t at now. It costs one comparison.
func (j *Judged) Stands(now time.Time, t *Target) bool {
	return j.Target.equal(t) && !j.Due(now)
}
