package double

import (
	"math/rand/v2"
	"path"
	"sync"
	"time"
)

// Failure is why a simulator fails a request. Its cloud finds the words.
type Failure struct {
	// Kind is one of those that package provider has: "Throttled", "Exhausted", "Invalid", "Denied",
	// "Conflict" or "Transient". "Garbage" is an answer that is no API's: a page of HTML.
	Kind string `json:"kind"`
	// After is the delay that a throttled answer asks for.
	After time.Duration `json:"after,omitempty"`
	// Scope is how far something is exhausted: "type", "zone" or "account".
	Scope string `json:"scope,omitempty"`
}

// Fault lets requests fail.
type Fault struct {
	Failure
	// Operation is a pattern of [path.Match] for the names of operations; empty for all of them.
	Operation string `json:"operation,omitempty"`
	// Writes: it hits only what may change something.
	Writes bool `json:"writes,omitempty"`
	// Skip is how many of the requests that it would hit pass before the first that it hits.
	Skip int `json:"skip,omitempty"`
	// Times is how often, 0 for always.
	Times int `json:"times,omitempty"`
	// Share is the share of requests that it hits, between 0 and 1; 0 for each.
	Share float64 `json:"share,omitempty"`
	// Done: what was asked for is done, and the reply is lost.
	Done bool `json:"done,omitempty"`
	// Stall: no reply comes until the caller is canceled.
	Stall bool `json:"stall,omitempty"`
	// Delay comes before whatever else happens. A fault without a kind that does not stall is only slow.
	Delay time.Duration `json:"delay,omitempty"`
}

// faults are those that are left. It is safe for concurrent use.
type faults struct {
	mu   sync.Mutex
	list []Fault
}

func (f *faults) add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fault)
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
}

func (f *faults) all() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Fault{}, f.list...)
}

// take returns the first fault for the operation, once less.
func (f *faults) take(operation string, writes bool) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.list {
		if fault.Writes && !writes || !fault.hits(operation) {
			continue
		}
		if fault.Skip > 0 {
			f.list[i].Skip--
			continue
		}
		switch fault.Times {
		case 0:
		case 1:
			f.list = append(f.list[:i:i], f.list[i+1:]...)
		default:
			f.list[i].Times--
		}
		return fault, true
	}
	return Fault{}, false
}

func (f Fault) hits(operation string) bool {
	if f.Operation != "" {
		if ok, _ := path.Match(f.Operation, operation); !ok {
			return false
		}
	}
	return f.Share == 0 || rand.Float64() < f.Share //nolint:gosec // Chance, not secrecy.
}
