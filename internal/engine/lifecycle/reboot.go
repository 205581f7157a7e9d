package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Rebooting is what a health check asked about the machine's instance, and what
// came of that.
type Rebooting struct {
	// Request is when a reboot was asked for, which is also its name (RFC 3339);
	// empty: none was.
	Request string
	// Until is when nobody waits for that any more.
	Until time.Time
	// For is what ails the node ("Ready=Unknown,DiskPressure=True"): a request goes by
	// its word while the node shows any of that, or is not Ready. Empty: whoever asked
	// did not say, and the node is not looked at.
	For string
	// Answered is the request that the rest is about.
	Answered string
	State    RebootState
	// At is when the infrastructure was last called, or when it was done.
	At time.Time
	// Calls is how often the infrastructure was called.
	Calls int
	// Message says what went wrong.
	Message string
}

// RebootState is how far a reboot is.
type RebootState string

// How far a reboot is.
const (
	// RebootBegun is stored before the infrastructure is called: the outcome is
	// not known.
	RebootBegun RebootState = "Begun"
	// RebootDone: the infrastructure took it on.
	RebootDone RebootState = "Done"
	// RebootFailed: no retry can succeed.
	RebootFailed RebootState = "Failed"
	// RebootUnsupported: this infrastructure cannot.
	RebootUnsupported RebootState = "Unsupported"
)

// RebootPower is how an infrastructure reboots.
type RebootPower string

// How an infrastructure reboots. The zero value: not at all.
const (
	// RebootsEachTime: a call that is repeated is another reboot.
	RebootsEachTime RebootPower = "EachTime"
	// RebootsOnce: it knows a request again.
	RebootsOnce RebootPower = "Once"
)

// maxBlindReboots is how often an infrastructure is called for a request that
// does not know it again. What is not known of the first call, after a crash or
// a lost reply, costs one more reboot at the most.
const maxBlindReboots = 2

// Saw is r with what a process saw come of the present request. What it saw of another
// one is over.
func (r Rebooting) Saw(came Rebooting) Rebooting {
	if came.Answered == "" || came.Answered != r.Request {
		return r
	}
	came.Request, came.Until, came.For = r.Request, r.Until, r.For
	return came
}

// reboot is what is asked and known about rebooting the machine's instance.
func (q input) reboot() Rebooting { return q.m.Reboot.Saw(q.w.Reboot) }

// Current is how far the present request is; empty: nobody has begun.
func (r Rebooting) Current() RebootState {
	if r.Request == "" || r.Answered != r.Request {
		return ""
	}
	return r.State
}

// calls is how often the infrastructure was called for the present request.
func (r Rebooting) calls() int {
	if r.Current() == "" {
		return 0
	}
	return r.Calls
}

// open reports whether there is still something to do about the request.
func (r Rebooting) open(now time.Time, power RebootPower) bool {
	switch {
	case r.Request == "" || !now.Before(r.Until):
		return false
	case r.Current() == "":
		return true
	}
	return r.Current() == RebootBegun && (power == RebootsOnce || r.calls() < maxBlindReboots)
}

// Begin is what has to be stored before the infrastructure is called, if it is.
func (r Rebooting) Begin(now time.Time, power RebootPower) (_ Rebooting, call bool) {
	r.Calls, r.Answered, r.At, r.Message = r.calls()+1, r.Request, now, ""
	r.State = RebootBegun
	if power == "" {
		r.State, r.Calls, r.Message = RebootUnsupported, 0, "the provider cannot reboot"
	}
	return r, power != ""
}

// End is what is to be stored after the call came to err. A failure that may
// pass leaves the reboot begun.
func (r Rebooting) End(now time.Time, err error) Rebooting {
	r.At, r.Message = now, text(err)
	switch provider.KindOf(err) {
	case "":
		r.State = RebootDone
	case provider.Denied, provider.Invalid:
		r.State = RebootFailed
	}
	return r
}

// rebootHeld are the stages in which nobody reboots: the machine is given up, or
// its node's own agent is at work.
var rebootHeld = map[Stage]bool{
	StageFailed: true, StageDeleting: true, StageUpdating: true, StageUpdated: true, StageUpdateFailed: true,
}

// rebootable reports whether the machine's own instance is there, and we see
// well enough to touch it.
func (q input) rebootable() bool {
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i != nil && i.State != provider.Stopping && !q.w.Instances.Substitute && q.w.Connectivity.Connected() && !rebootHeld[q.m.Stage] && !q.w.Node.Update.Request.Selected()
}

// rebootAsked is about a machine whose health check wants it rebooted before it
// is replaced. While a failed attempt is left to rest, its life goes on.
func rebootAsked(q input) *Decision {
	r := q.reboot()
	if !r.open(q.now, q.w.Session.RebootPower) || !q.rebootable() || q.recovered() || q.rebootRest() > 0 {
		return nil
	}
	return &Decision{
		Step: Reboot, Reason: ReasonRebootAsked,
		Message: fmt.Sprintf("a health check asked at %s for a reboot", r.Request),
	}
}

// recovered reports whether the node got well by itself, after a check asked for the
// reboot and before that was begun. The check takes the request back, but may be late.
func (q input) recovered() bool {
	if q.reboot().For == "" || !q.w.Node.Looked || Ready(q.w.Node.Object).Status != corev1.ConditionTrue {
		return false
	}
	ails := strings.Split(q.reboot().For, ",")
	return !slices.ContainsFunc(q.w.Node.Object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return slices.Contains(ails, fmt.Sprintf("%s=%s", c.Type, c.Status))
	})
}

// rebootRest is for how long a failed attempt is left to rest.
func (q input) rebootRest() time.Duration {
	r := q.reboot()
	if r.Current() != RebootBegun {
		return 0
	}
	return q.p.Delays.after(nil, r.calls()) - q.now.Sub(r.At)
}

// rebootAgain is when to look again at a machine that is still to be rebooted:
// an attempt failed, or what it takes is not seen. Zero: there is none.
func (q input) rebootAgain() time.Duration {
	if !q.reboot().open(q.now, q.w.Session.RebootPower) {
		return 0
	}
	if rest := q.rebootRest(); rest > 0 {
		return rest
	}
	return max(q.p.Delays.Transient, FirstDelay)
}

// Equal reports whether two say the same.
func (r Rebooting) Equal(o Rebooting) bool {
	same := r.Until.Equal(o.Until) && r.At.Equal(o.At)
	r.Until, r.At = o.Until, o.At
	return same && r == o
}
