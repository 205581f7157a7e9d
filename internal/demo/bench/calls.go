package bench

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// CloudCalls is the number of requests to a simulated cloud during the life of a fleet.
type CloudCalls struct {
	Provider string   `json:"provider"`
	APIs     []string `json:"apis"`
	Machines int      `json:"machines"`
	// Limits are the simulator's rate limits; without them it throttles nothing.
	Limits []CloudLimit `json:"limits,omitempty"`
	Phases []CloudPhase `json:"phases"`
}

// CloudLimit is a simulator's rate limit, a token bucket, for operations that a pattern of [path.Match] matches; an
// empty pattern matches all.
type CloudLimit struct {
	Operation string  `json:"operation,omitempty"`
	PerSecond float64 `json:"perSecond"`
	Burst     float64 `json:"burst"`
}

// CloudPhase is a phase in the life of a fleet, from its beginning until the cloud gets no more requests.
type CloudPhase struct {
	// Phase is "created", "restarted" (the machine controller was killed and started again), "at rest" (until each machine was
	// reconciled once more by its resync) or "deleted".
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	// Instances is the number of instances at the end: one for each machine.
	Instances int `json:"instances"`
	// Looks is the number of passes over machines, per machine.
	Looks float64 `json:"looks"`
	// Changes and Reads are the requests per machine that change something or do not, including refused ones.
	Changes float64 `json:"changes"`
	Reads   float64 `json:"reads"`
	// Throttled is the number of requests that the cloud refused because there were too many.
	Throttled int `json:"throttled"`
	// PeakPerSecond is the largest number of requests within a second.
	PeakPerSecond int `json:"peakPerSecond"`
	// Operations are the requested operations, the most frequent first.
	Operations []Operation `json:"operations"`
}

// Operation is an operation of a cloud, with the name in its API.
type Operation struct {
	Name       string  `json:"name"`
	Changes    bool    `json:"changes,omitempty"`
	Calls      int     `json:"calls"`
	PerMachine float64 `json:"perMachine"`
}

// call is a request as the simulator reports it.
type call struct {
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	Writes    bool      `json:"writes"`
	Throttled bool      `json:"throttled"`
}

// count counts the requests.
func (p *CloudPhase) count(calls []call, machines int) {
	changes, reads, each := 0, 0, map[string]*Operation{}
	for _, c := range calls {
		o := each[c.Operation]
		if o == nil {
			o = &Operation{Name: c.Operation, Changes: c.Writes}
			each[c.Operation] = o
		}
		o.Calls++
		if c.Writes {
			changes++
		} else {
			reads++
		}
		if c.Throttled {
			p.Throttled++
		}
	}
	perMachine := func(n int) float64 { return rounded(float64(n) / float64(machines)) }
	p.Changes, p.Reads, p.PeakPerSecond = perMachine(changes), perMachine(reads), peak(calls)
	for _, name := range slices.Sorted(maps.Keys(each)) {
		o := each[name]
		o.PerMachine = perMachine(o.Calls)
		p.Operations = append(p.Operations, *o)
	}
	slices.SortStableFunc(p.Operations, func(a, b Operation) int { return cmp.Compare(b.Calls, a.Calls) })
}

// peak is the largest number of calls within a second.
func peak(calls []call) (most int) {
	at := make([]time.Time, len(calls))
	for i, c := range calls {
		at[i] = c.At
	}
	slices.SortFunc(at, time.Time.Compare)
	first := 0
	for i := range at {
		for at[i].Sub(at[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
