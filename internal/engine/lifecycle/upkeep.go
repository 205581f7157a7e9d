package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// UpkeepEvery is the pause between two upkeeps of an instance.
const UpkeepEvery = 10 * time.Minute

// Upkeep reconciles a running instance with its class from time to time: its tags and its membership of load
// balancers ([provider.Maintainer]).
type Upkeep struct {
	// Due says that the instance may differ from its class.
	Due bool
	// At is when it was tried last, Err is the result.
	At  time.Time
	Err error
}

// hasTurn reports whether the upkeep is due.
func (u Upkeep) hasTurn(now time.Time) bool {
	return u.Due && (u.At.IsZero() || u.again(now) <= 0)
}

// again returns how long until the next upkeep; a failed one is retried sooner. Only a failed upkeep
// schedules a pass: otherwise it runs with the next pass for another reason.
func (u Upkeep) again(now time.Time) time.Duration {
	every := UpkeepEvery
	if u.Err != nil {
		every /= 10
	}
	return u.At.Add(every).Sub(now)
}

// upkeep reports whether the upkeep of the machine's instance has its turn, where d is the decision in which
// the machine's life waits.
func upkeep(q input, d Decision) bool {
	if !q.m.Deleted.IsZero() || d.Stage == StageFailed || q.w.Final != nil && q.w.Final.Step != Maintain {
		return false
	}
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i != nil && i.State == provider.Running && !i.Uninitialized && q.w.Upkeep.hasTurn(q.now)
}
