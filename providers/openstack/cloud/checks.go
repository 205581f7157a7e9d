package cloud

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// check is the result of the last check of a server's ports and trunks.
type check struct {
	at time.Time
	// missing is what the server visibly lacked, err the failure of the repair.
	missing string
	err     error
}

// mostChecks limits the memory: a dropped entry costs another check of the server.
const mostChecks = 100_000

// checks stores the last check of each server, by its ID.
type checks struct {
	began time.Time
	mu    sync.Mutex
	last  map[string]check
}

func newChecks(began time.Time) *checks { return &checks{began: began, last: map[string]check{}} }

// done stores a check.
func (l *checks) done(id string, one check) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) >= mostChecks {
		clear(l.last)
	}
	l.last[id] = one
}

// due reports whether it is time to check again. A new process checks all servers one after the other,
// spread over the interval after which it would check again.
func (l *checks) due(id string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.last[id]
	switch {
	case !ok:
		return now.Sub(l.began) >= turn(id)
	case now.Sub(last.at) >= checkEvery:
		return true
	case isFinal(last.err):
		return now.Sub(last.at) >= refusedFor
	}
	return last.err != nil
}

// turn is the time at which a server is first checked by a new process.
func turn(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return time.Duration(h.Sum32()%uint32(checkEvery/time.Second)) * time.Second
}

// refusal returns the final error of a recent repair, if the server lacked the same then; nil: try.
func (l *checks) refusal(id, owed string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.last[id]; isFinal(last.err) && last.missing == owed && now.Sub(last.at) < refusedFor {
		return last.err
	}
	return nil
}

// isFinal reports whether another try soon is useless.
func isFinal(err error) bool {
	kind := provider.KindOf(err)
	return err != nil && (kind == provider.Denied || kind == provider.Invalid || kind == provider.Exhausted)
}
