package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Rebooting is a health check's request to reboot the machine's instance, and its result.
type Rebooting struct {
	// Request is when a reboot was requested, which is also its name (RFC 3339); empty: none was.
	Request string
	// Until is when the requestor stops waiting for it.
	Until time.Time
	// For has the node's unhealthy conditions ("Ready=Unknown,DiskPressure=True"): a request is valid while
	// the node has any of them, or is not Ready. Empty: the requestor did not say, and the node is not
	// checked.
	For string
	// Answered is the request to which the following fields belong.
	Answered string
	State    RebootState
	// At is when the infrastructure was last called, or when the reboot was done.
	At time.Time
	// Calls counts the calls to the infrastructure.
	Calls int
	// Message is the failure.
	Message string
}

// RebootState is the state of a reboot.
type RebootState string

// The states of a reboot.
const (
	// RebootBegun is stored before the infrastructure is called: the result is unknown.
	RebootBegun RebootState = "Begun"
	// RebootDone: the infrastructure accepted it.
	RebootDone RebootState = "Done"
	// RebootFailed: no retry can succeed.
	RebootFailed RebootState = "Failed"
	// RebootUnsupported: this infrastructure cannot reboot.
	RebootUnsupported RebootState = "Unsupported"
)

// RebootPower is an infrastructure's ability to reboot.
type RebootPower string

// The abilities to reboot. The zero value: none.
const (
	// RebootsEachTime: a repeated call is another reboot.
	RebootsEachTime RebootPower = "EachTime"
	// RebootsOnce: it recognizes a repeated request.
	RebootsOnce RebootPower = "Once"
)

// maxBlindReboots is how often an infrastructure that does not recognize a repeated request is called for it.
// If the result of the first call is unknown, after a crash or a lost reply, that costs at most one more
// reboot.
const maxBlindReboots = 2

// Saw returns r with the result of the present request that a process has observed. A result of another
// request is ignored.
func (r Rebooting) Saw(came Rebooting) Rebooting {
	if came.Answered == "" || came.Answered != r.Request {
		return r
	}
	came.Request, came.Until, came.For = r.Request, r.Until, r.For
	return came
}

// reboot returns the requested reboot of the machine's instance, with its known result.
func (q input) reboot() Rebooting { return q.m.Reboot.Saw(q.w.Reboot) }

// Current returns the state of the present request; empty: it has not begun.
func (r Rebooting) Current() RebootState {
	if r.Request == "" || r.Answered != r.Request {
		return ""
	}
	return r.State
}

// calls returns how often the infrastructure was called for the present request.
func (r Rebooting) calls() int {
	if r.Current() == "" {
		return 0
	}
	return r.Calls
}

// open reports whether the request still has to be carried out.
func (r Rebooting) open(now time.Time, power RebootPower) bool {
	switch {
	case r.Request == "" || !now.Before(r.Until):
		return false
	case r.Current() == "":
		return true
	}
	return r.Current() == RebootBegun && (power == RebootsOnce || r.calls() < maxBlindReboots)
}

// Begin returns the record to store before the infrastructure is called, and whether to call it.
func (r Rebooting) Begin(now time.Time, power RebootPower) (_ Rebooting, call bool) {
	r.Calls, r.Answered, r.At, r.Message = r.calls()+1, r.Request, now, ""
	r.State = RebootBegun
	if power == "" {
		r.State, r.Calls, r.Message = RebootUnsupported, 0, "the provider cannot reboot"
	}
	return r, power != ""
}

// End returns the record to store after the call returned err. After a transient failure the reboot stays
// begun.
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

// rebootHeld are the stages without reboots: the machine has failed, or its node's own agent is working.
var rebootHeld = map[Stage]bool{
	StageFailed: true, StageDeleting: true, StageUpdating: true, StageUpdated: true, StageUpdateFailed: true,
}

// rebootable reports whether the machine's own instance exists, and the connection is good enough to touch
// it.
func (q input) rebootable() bool {
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i != nil && i.State != provider.Stopping && !q.w.Instances.Substitute && q.w.Connectivity.Connected() && !rebootHeld[q.m.Stage] && !q.w.Node.Update.Request.Selected()
}

// rebootAsked handles a machine whose health check wants it rebooted before it is replaced. During the pause
// after a failed attempt, the machine's life continues.
func rebootAsked(q input) *Decision {
	r := q.reboot()
	if !r.open(q.now, q.w.Session.RebootPower) || !q.rebootable() || q.recovered() || q.rebootRest() > 0 {
		return nil
	}
	if r.Current() == "" && !permitted(q) {
		return askPermit(q)
	}
	return &Decision{
		Step: Reboot, Reason: ReasonRebootAsked,
		Message: fmt.Sprintf("a health check requested a reboot at %s", r.Request),
	}
}

// recovered reports whether the node recovered by itself, after a check requested the reboot and before that
// was begun. The check withdraws the request, but may be late.
func (q input) recovered() bool {
	if q.reboot().For == "" || !q.w.Node.Looked || !q.w.Node.ready() {
		return false
	}
	ails := strings.Split(q.reboot().For, ",")
	return !slices.ContainsFunc(q.w.Node.Object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return slices.Contains(ails, fmt.Sprintf("%s=%s", c.Type, c.Status))
	})
}

// rebootRest returns the remaining pause after a failed attempt.
func (q input) rebootRest() time.Duration {
	r := q.reboot()
	if r.Current() != RebootBegun {
		return 0
	}
	return q.p.Delays.after(nil, r.calls()) - q.now.Sub(r.At)
}

// rebootAgain returns when to check again a machine with a pending reboot: an attempt failed, or a
// precondition is not met. Zero: no reboot is pending.
func (q input) rebootAgain() time.Duration {
	if !q.reboot().open(q.now, q.w.Session.RebootPower) {
		return 0
	}
	if rest := q.rebootRest(); rest > 0 {
		return rest
	}
	return max(q.p.Delays.Transient, FirstDelay)
}

// Equal reports whether two are equal.
func (r Rebooting) Equal(o Rebooting) bool {
	same := r.Until.Equal(o.Until) && r.At.Equal(o.At)
	r.Until, r.At = o.Until, o.At
	return same && r == o
}
