package decorate

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// order numbers the writes and listings of a process: of two, the one that
// began later has the higher number. Clocks are too coarse for this.
type order int64

// writes remembers, by UID, when the infrastructure was last changed. It is
// safe for concurrent use.
type writes struct {
	clock provider.Clock
	keep  time.Duration

	mu    sync.Mutex
	last  order
	marks map[string]mark
	swept time.Time
}

// mark is the last write for a UID.
type mark struct {
	under int // writes under way
	ended order
	at    time.Time
}

// newWrites returns a record that may forget what ended more than keep ago:
// no listing as old as that is used.
func newWrites(clock provider.Clock, keep time.Duration) *writes {
	return &writes{clock: clock, keep: keep, marks: map[string]mark{}}
}

// now returns the number of something that begins now.
func (w *writes) now() order {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	return w.last
}

// begin notes the beginning of a write for the UIDs; the function returned notes
// its end. A write whose reply is lost counts as ended with its call.
func (w *writes) begin(uids ...string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uid := range uids {
		m := w.marks[uid]
		m.under++
		w.marks[uid] = m
	}
	return func() {
		for _, uid := range uids {
			w.end(uid)
		}
	}
}

func (w *writes) end(uid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	m := w.marks[uid]
	m.under--
	m.ended, m.at = w.last, w.clock.Now()
	w.marks[uid] = m
	w.sweep(m.at)
}

// sweep forgets old marks, once per keep. Those of infrastructures that lag are
// kept a hundred times as long: their lag is not known here.
func (w *writes) sweep(now time.Time) {
	if now.Sub(w.swept) < w.keep {
		return
	}
	w.swept = now
	maps.DeleteFunc(w.marks, func(_ string, m mark) bool { return m.under == 0 && now.Sub(m.at) > 100*w.keep })
}

// before reports whether every write for uid had ended, and had become visible
// to reads that run behind by lag, when l began.
func (w *writes) before(uid string, l *listing, lag time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.marks[uid]
	if !ok {
		return true
	}
	return m.under == 0 && m.ended < l.began && (lag == 0 || l.at.Sub(m.at) >= lag)
}

// around makes calls of capabilities count as writes.
func (w *writes) around(ctx context.Context, c Call, do func(context.Context) error) error {
	if c.Ref.UID != "" && changes[c.Verb] {
		defer w.begin(c.Ref.UID)()
	}
	return do(ctx)
}
