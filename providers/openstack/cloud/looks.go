package cloud

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// look is what came of looking at what belongs to a server.
type look struct {
	at time.Time
	// owed is what the server showed that it lacks, err what could not be mended.
	owed string
	err  error
}

// mostLooks bounds what is remembered: forgetting costs another look at each server.
const mostLooks = 100_000

// looks remembers the last look at each server, by its ID.
type looks struct {
	began time.Time
	mu    sync.Mutex
	last  map[string]look
}

func newLooks(began time.Time) *looks { return &looks{began: began, last: map[string]look{}} }

// done remembers a look.
func (l *looks) done(id string, one look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) >= mostLooks {
		clear(l.last)
	}
	l.last[id] = one
}

// due reports whether it is time to look again. What a fresh process has not looked at yet it looks at one after the other, within the
// time after which it would look again.
func (l *looks) due(id string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.last[id]
	switch {
	case !ok:
		return now.Sub(l.began) >= turn(id)
	case now.Sub(last.at) >= lookEvery:
		return true
	case isFinal(last.err):
		return now.Sub(last.at) >= refusedFor
	}
	return last.err != nil
}

// turn is when a server has its turn among those that nothing is known of.
func turn(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return time.Duration(h.Sum32()%uint32(lookEvery/time.Second)) * time.Second
}

// refusal is what was refused for good a short while ago, when the server lacked the same; nil: ask.
func (l *looks) refusal(id, owed string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.last[id]; isFinal(last.err) && last.owed == owed && now.Sub(last.at) < refusedFor {
		return last.err
	}
	return nil
}

// isFinal reports whether asking again soon has no point.
func isFinal(err error) bool {
	kind := provider.KindOf(err)
	return err != nil && (kind == provider.Denied || kind == provider.Invalid || kind == provider.Exhausted)
}
