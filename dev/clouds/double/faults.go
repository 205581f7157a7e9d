package double

import (
	"math/rand/v2"
	"path"
	"sync"
	"time"
)

// Failure is the reason for which a simulator fails a request. Its cloud chooses the error and the text.
type Failure struct {
	// Kind is a kind of package provider: "Throttled", "Exhausted", "Invalid", "Denied", "Conflict" or "Transient". "Garbage" is
	// an HTML page, as from another server.
	Kind string `json:"kind"`
	// After is the delay in a throttled answer.
	After time.Duration `json:"after,omitempty"`
	// Scope is the scope of an exhaustion: "type", "zone" or "account".
	Scope string `json:"scope,omitempty"`
}

// Fault makes requests fail.
type Fault struct {
	Failure
	// Operation is a pattern of [path.Match] for the names of operations; empty: all operations.
	Operation string `json:"operation,omitempty"`
	// Writes: the fault applies only to requests that may change something.
	Writes bool `json:"writes,omitempty"`
	// Skip is the number of matching requests that succeed before the first failure.
	Skip int `json:"skip,omitempty"`
	// Times is the number of failures; 0: no limit.
	Times int `json:"times,omitempty"`
	// Share is the share of requests that fail, between 0 and 1; 0: each.
	Share float64 `json:"share,omitempty"`
	// Done: the request has its effect, but the reply is lost.
	Done bool `json:"done,omitempty"`
	// Stall: no reply comes until the caller's request is canceled.
	Stall bool `json:"stall,omitempty"`
	// Delay is the delay before the answer or the failure. A fault without a kind and without Stall only
	// delays.
	Delay time.Duration `json:"delay,omitempty"`
}

// faults are the remaining faults. It is safe for concurrent use.
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

// take returns the first fault for the operation, and counts it.
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
