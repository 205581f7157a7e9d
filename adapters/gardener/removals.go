package gardener

import (
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// removal is the progress of the deletion of one instance.
type removal struct {
	// since is the time of the first success of DeleteMachine after the last failure, last that of the last
	// success; times counts the successes.
	since, last time.Time
	times       int
	// ended: the deletion is complete, even if the driver still shows the instance.
	ended bool
}

// removals are the deletions of this process, by identified provider ID. Without this memory, DeleteMachine
// is called again. It is safe for concurrent use.
type removals struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]removal
}

// remembered is how long a completed deletion overrides the driver's listing. EC2 shows instances for an hour
// after their end. An instance that is shown for longer counts as existing, and the collector reports it.
const remembered = 2 * time.Hour

func newRemovals(clk provider.Clock) *removals {
	return &removals{clock: clk, all: map[string]removal{}}
}

// due reports whether to call DeleteMachine: for the first time, or again after the pause.
func (r *removals) due(providerID string, pause time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.all[identify(providerID)]
	return !ok || one.times == 0 || r.clock.Now().Sub(one.last) >= pause
}

// accepted records a success of DeleteMachine.
func (r *removals) accepted(providerID string) {
	r.change(providerID, func(one *removal) {
		one.last = r.clock.Now()
		if one.times++; one.times == 1 {
			one.since = one.last
		}
	})
}

// failed records a failure: earlier successes do not count any more.
func (r *removals) failed(providerID string) {
	r.change(providerID, func(one *removal) { *one = removal{last: r.clock.Now()} })
}

// end records the completion of the deletion.
func (r *removals) end(providerID string) {
	r.change(providerID, func(one *removal) { one.ended = true })
}

func (r *removals) change(providerID string, change func(*removal)) {
	id := identify(providerID)
	if id == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for old, one := range r.all {
		if now.Sub(one.last) > remembered {
			delete(r.all, old)
		}
	}
	one := r.all[id]
	change(&one)
	r.all[id] = one
}

// repeated reports whether DeleteMachine has succeeded at least twice, over this time.
func (r *removals) repeated(providerID string, over time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[identify(providerID)]
	return one.times > 1 && one.last.Sub(one.since) >= over
}

// ended reports whether the instance was deleted, so that the driver's listing is out of date.
func (r *removals) ended(providerID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[identify(providerID)]
	return one.ended && r.clock.Now().Sub(one.last) <= remembered
}
