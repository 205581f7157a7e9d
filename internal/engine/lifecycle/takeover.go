package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Takeover bounds the requests for instances that earlier processes sent.
//
// A stored request is repeated without a write, so the machine does not say when an earlier process sent it
// for the last time. But an earlier process sends nothing after another process has taken over.
type Takeover struct {
	// Over is when the last request of an earlier process has arrived at the infrastructure: the time of the
	// takeover, and the time that a request may take.
	Over time.Time
}

// concerns reports whether an earlier process may have reconciled m.
func (t Takeover) concerns(m Machine) bool { return m.Created.Before(t.Over) }

// MayHaveRequested reports whether an earlier process, or another implementation, may have requested an
// instance for m that this process would request differently. A set's machine without a stored request says
// that no instance was requested. But a client may have removed the status with the request, so a machine that
// existed at the takeover is not trusted about that if its class has several choices: the infrastructure
// recognizes the same request, and not one for another choice.
func (t Takeover) MayHaveRequested(m Machine, choices []provider.Choice) bool {
	return m.Asked() || m.HasFinalizer && len(choices) > 0 && t.concerns(m)
}

// Unlisted returns how long an instance of m may still be unlisted, after the infrastructure has answered a
// question that was asked at that time. own is when this process last sent a request for m, zero if never;
// first is when this process asked about m for the first time: the infrastructure may have got the instance
// just before, if the author of m names an instance. Listings are up to lag old.
func (t Takeover) Unlisted(m Machine, own, first, asked time.Time, lag time.Duration) Unlisted {
	last := own
	switch {
	case t.concerns(m) && own.Before(t.Over):
		last = t.Over
	case own.IsZero():
		last = first
	}
	age := asked.Sub(last)
	return Unlisted{For: lag - age, Age: age}
}

// firstLook is the pause before the infrastructure is asked again for the instance of a request without an
// answer. The pauses grow with the age of the request.
const firstLook = 2 * time.Second

// again returns when to look again for the instance of a request without an answer: most instances are
// listed long before the maximum delay of listings.
func (u Unlisted) again() time.Duration { return min(u.For, max(u.Age, firstLook)) }
