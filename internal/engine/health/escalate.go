package health

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Escalation is the attempt before a machine is replaced.
type Escalation struct {
	// Reboot reboots the machine through its infrastructure first.
	Reboot bool
	// Patience is how long a machine may take to be rebooted, from the request, and to become healthy, from
	// the reboot.
	Patience time.Duration
}

// rebooted, as [Past].Again, says that the machine was not replaced.
const rebooted = -1

// relapse is how long after a reboot and its patience no other reboot is tried: a machine that becomes
// unhealthy again within it is replaced.
const relapse = rateWindow

// trial is the state of the escalation for a machine.
type trial struct {
	// restart says that a reboot comes first, asks that it is requested now.
	restart, asks bool
	// wait says why nothing happens before until.
	wait  string
	until time.Time
	// tried says what was tried before the machine is replaced.
	tried string
}

// trial returns the state of the escalation: a machine with a node may recover by a reboot, once. A machine
// that failed, or has no node, does not.
func (q *input) trial() trial {
	r, e := &q.t.Reboot, &q.c.Escalation
	if !e.Reboot || q.c.Remediation != Delete || q.t.Failed || q.t.Node == nil {
		return trial{}
	}
	asked, err := time.Parse(time.RFC3339, r.Request)
	if err != nil || q.ailing().Sub(latest(asked, r.At)) > relapse+e.Patience {
		return trial{restart: true, asks: true}
	}
	switch r.Current() {
	case lifecycle.RebootUnsupported:
		return trial{tried: "its infrastructure cannot reboot it"}
	case lifecycle.RebootFailed:
		return trial{tried: "the reboot failed: " + r.Message}
	case lifecycle.RebootDone:
		return q.since(r.At, "it was rebooted at %s", "")
	}
	return q.since(asked, "a reboot was requested at %s", r.Message)
}

// since returns the trial that began at a time: the check waits until the patience is over, and then replaces
// the machine.
func (q *input) since(begun time.Time, format, trouble string) trial {
	what := fmt.Sprintf(format, stamp(begun))
	if trouble != "" {
		what += " (" + trouble + ")"
	}
	left := q.left(begun, q.c.Escalation.Patience)
	if left < 0 {
		return trial{tried: fmt.Sprintf("%s and it is not healthy after %s", what, q.c.Escalation.Patience)}
	}
	until := q.now.Add(left)
	return trial{restart: true, wait: fmt.Sprintf("%s, and has until %s to be healthy", what, stamp(until)), until: until.Add(margin)}
}

// ailing returns since when the node has had a condition that the check counts.
func (q *input) ailing() (began time.Time) {
	for _, have := range q.t.Node.Conditions {
		if len(q.timeouts(have)) > 0 {
			began = sooner(began, q.onset(have))
		}
	}
	return began
}

// ails returns all conditions of [input.ailing], in the form of [lifecycle.Rebooting]; empty if that form
// cannot express them.
func (q *input) ails() string {
	var out []string
	for _, have := range q.t.Node.Conditions {
		if strings.Contains(have.Type, ",") {
			return ""
		}
		if len(q.timeouts(have)) > 0 {
			out = append(out, have.Type+"="+have.Status)
		}
	}
	return strings.Join(out, ",")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// restart remembers that t is being rebooted from now on. A reboot counts as a remedy within the hour, but
// has no successor machine.
func (m *Memory) restart(now time.Time, t *Target, free bool) {
	m.Past = append(m.Past, Past{Machine: t.UID, Name: t.Name, Owner: t.Owner.UID, At: now.Truncate(time.Second), Again: rebooted, Settled: true, Free: free})
}

// restarting returns when a reboot of t was begun, if that was after its current conditions began and within
// the patience; otherwise zero.
func (m Memory) restarting(q *input) (at time.Time) {
	for _, p := range m.Past {
		if p.Machine == q.t.UID && p.Again == rebooted && !p.At.Before(q.ailing().Truncate(time.Second)) && q.left(p.At, q.c.Escalation.Patience) >= 0 {
			at = latest(at, p.At)
		}
	}
	return at
}

// try puts the escalation before the remedy of a case. It reports whether the reboot was begun before: the
// process that began it did not get to the request, and the repeated request is the same.
func (r *round) try(c *Case) (begun bool) {
	q := &input{r.now, r.w.Seen, &r.w.Check, &c.Target}
	t := q.trial()
	c.Tried, c.Wait = t.tried, t.wait
	if !t.restart {
		return false
	}
	c.Remediation = Restart
	r.plan.Due = sooner(r.plan.Due, t.until)
	if !t.asks {
		return false
	}
	c.Request = r.memory.restarting(q)
	if begun = !c.Request.IsZero(); !begun {
		c.Request = r.now.Truncate(time.Second)
	}
	c.Until, c.For = c.Request.Add(r.w.Check.Escalation.Patience), q.ails()
	return begun
}

// awaitsReboot reports whether j is healthy and still to be rebooted.
func (j *Judged) awaitsReboot() bool {
	r := j.Target.Reboot
	return j.Verdict.State == Healthy && r.Request != "" && (r.Current() == "" || r.Current() == lifecycle.RebootBegun)
}
