package gardener

import (
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// removal is how far the driver is with the removal of one instance.
type removal struct {
	// since is when DeleteMachine first succeeded and has not failed since, last when it last did; times is how often.
	since, last time.Time
	times       int
	// ended: it is done, whatever the driver shows of the instance.
	ended bool
}

// removals is what this process had the driver remove, by what provider IDs are identified by. Losing it costs that DeleteMachine
// is called again. It is safe for concurrent use.
type removals struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]removal
}

// remembered is for how long a removal that is done counts against what the driver shows. EC2 shows instances for an hour after their
// end. What is shown longer than this is an instance again, which the collector reports.
const remembered = 2 * time.Hour

func newRemovals(clk provider.Clock) *removals {
	return &removals{clock: clk, all: map[string]removal{}}
}

// due reports whether DeleteMachine is to be called: for the first time, or again after the pause.
func (r *removals) due(providerID string, pause time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.all[identify(providerID)]
	return !ok || one.times == 0 || r.clock.Now().Sub(one.last) >= pause
}

// accepted notes that DeleteMachine has succeeded.
func (r *removals) accepted(providerID string) {
	r.change(providerID, func(one *removal) {
		one.last = r.clock.Now()
		if one.times++; one.times == 1 {
			one.since = one.last
		}
	})
}

// failed notes that it has failed: what succeeded before says nothing any more.
func (r *removals) failed(providerID string) {
	r.change(providerID, func(one *removal) { *one = removal{last: r.clock.Now()} })
}

// end notes that the removal is done.
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

// repeated reports whether DeleteMachine has succeeded twice at least, over so long.
func (r *removals) repeated(providerID string, over time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[identify(providerID)]
	return one.times > 1 && one.last.Sub(one.since) >= over
}

// ended reports whether the instance was removed, so that what the driver shows of it is what was.
func (r *removals) ended(providerID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.all[identify(providerID)]
	return one.ended && r.clock.Now().Sub(one.last) <= remembered
}
