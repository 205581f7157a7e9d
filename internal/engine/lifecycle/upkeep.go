package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// UpkeepEvery is how long an instance is left alone after its upkeep.
const UpkeepEvery = 10 * time.Minute

// Upkeep is what is done now and then for an instance that runs: its tags and the membership
// of load balancers are as the class says ([provider.Maintainer]).
type Upkeep struct {
	// Due says that the instance may not be so.
	Due bool
	// At is when it was tried last, Err what came of that.
	At  time.Time
	Err error
}

// hasTurn reports whether it is time.
func (u Upkeep) hasTurn(now time.Time) bool {
	return u.Due && (u.At.IsZero() || u.again(now) <= 0)
}

// again is how long it still has; what failed is tried again sooner. Only what failed is waited for: whoever else
// looks at the machine does the rest.
func (u Upkeep) again(now time.Time) time.Duration {
	every := UpkeepEvery
	if u.Err != nil {
		every /= 10
	}
	return u.At.Add(every).Sub(now)
}

// upkeep reports whether the machine's instance has its turn, where d is what the machine's life waits for.
func upkeep(q input, d Decision) bool {
	if !q.m.Deleted.IsZero() || d.Stage == StageFailed || q.w.Final != nil && q.w.Final.Step != Maintain {
		return false
	}
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i != nil && i.State == provider.Running && !i.Uninitialized && q.w.Upkeep.hasTurn(q.now)
}
