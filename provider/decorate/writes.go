package decorate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// order numbers the writes and listings of a process: the one that began later has the higher number.
// Clocks are too coarse for this.
type order int64

// writes records, by UID, when the infrastructure was last changed. It is safe for concurrent use.
type writes struct {
	clock provider.Clock
	keep  time.Duration

	mu    sync.Mutex
	last  order
	marks map[string]mark
	swept time.Time
}

// mark records the writes for a UID.
type mark struct {
	under int // writes in progress
	ended order
	at    time.Time // the end of the last one
	// blind is the end of the last write whose effect no listing shows.
	blind time.Time
	// effects are those of the other writes, one for each instance.
	effects []effect
}

// effect is the evidence of a write that a listing of a UID shows.
type effect struct {
	// id is that of a listed instance; an effect with the ID every has no ID and applies to all listed
	// instances.
	id string
	// leaving: the instances were deleted and are Stopping or Terminated.
	leaving bool
	at      time.Time
}

// every is the ID of an effect on all instances of a UID.
const every = ""

// made is the effect of a Create that returned i.
func made(i provider.Instance) []effect {
	if i.ID == "" {
		return nil
	}
	return []effect{{id: i.ID}}
}

// leaving returns the effects of a Delete of instances, and with a UID also of everything else that was
// created for it. A Delete without given instances has no visible effect.
func leaving(uid string, instances []provider.Instance) (out []effect) {
	for _, i := range instances {
		if i.ID == "" {
			return nil
		}
		out = append(out, effect{id: i.ID, leaving: true})
	}
	if uid != "" && len(out) > 0 {
		out = append(out, effect{id: every, leaving: true})
	}
	return out
}

// in reports whether the listed instances of a UID show the effect. Only an instance that is listed proves
// anything.
func (e effect) in(listed []provider.Instance) bool {
	shown := func(i provider.Instance) bool {
		return !e.leaving || i.State == provider.Stopping || i.State == provider.Terminated
	}
	if e.id == every {
		return !slices.ContainsFunc(listed, func(i provider.Instance) bool { return !shown(i) })
	}
	return slices.ContainsFunc(listed, func(i provider.Instance) bool { return i.ID == e.id && shown(i) })
}

// newWrites returns a record that may forget writes that ended more than keep ago: no listing of that age
// is used.
func newWrites(clock provider.Clock, keep time.Duration) *writes {
	return &writes{clock: clock, keep: keep, marks: map[string]mark{}}
}

// now returns the number of an operation that begins now.
func (w *writes) now() order {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	return w.last
}

// begin records the beginning of a write for the UIDs; the returned function records its end, its error
// and, if known, its effects in a listing. A write that failed, or whose reply is lost, may have had any
// effect.
func (w *writes) begin(uids ...string) (end func(err error, effects ...effect)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uid := range uids {
		m := w.marks[uid]
		m.under++
		w.marks[uid] = m
	}
	return func(err error, effects ...effect) {
		for _, uid := range uids {
			w.end(uid, err, effects)
		}
	}
}

func (w *writes) end(uid string, err error, effects []effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	m := w.marks[uid]
	m.under--
	if _, not := errors.AsType[uncalled](err); !not {
		w.last++
		m.ended, m.at = w.last, now
		m.note(err, effects, now)
	}
	w.marks[uid] = m
	w.sweep(now)
}

func (m *mark) note(err error, effects []effect, now time.Time) {
	if err != nil || len(effects) == 0 {
		m.blind = now
		return
	}
	for _, e := range effects {
		e.at = now
		m.effects = append(slices.DeleteFunc(slices.Clone(m.effects), func(o effect) bool { return o.id == e.id }), e)
	}
}

// sweep forgets old marks, once per keep. Those of infrastructures that lag are kept a hundred times as
// long: their lag is not known here.
func (w *writes) sweep(now time.Time) {
	if now.Sub(w.swept) < w.keep {
		return
	}
	w.swept = now
	maps.DeleteFunc(w.marks, func(_ string, m mark) bool { return m.under == 0 && now.Sub(m.at) > 100*w.keep })
}

// goesOn reports whether a Delete for uid only continues an earlier one: each given instance is under
// deletion, because this process deleted it. Such a Delete does not change the listings.
func (w *writes) goesOn(uid string, instances []provider.Instance) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := func(i provider.Instance) bool {
		return i.State == provider.Stopping &&
			slices.ContainsFunc(w.marks[uid].effects, func(e effect) bool { return e.leaving && e.id == i.ID })
	}
	return len(instances) > 0 && !slices.ContainsFunc(instances, func(i provider.Instance) bool { return !asked(i) })
}

// before reports whether every write for uid had ended when l began, and l includes them all. With a read
// lag, they ended that long before, or l shows them. An unfinished listing may still show them.
func (w *writes) before(uid string, l *listing, lag time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.marks[uid]
	if !ok {
		return true
	}
	return m.under == 0 && m.ended < l.began && (lag == 0 || m.seen(uid, l, lag))
}

func (m mark) seen(uid string, l *listing, lag time.Duration) bool {
	hidden := func(at time.Time) bool { return l.at.Sub(at) < lag }
	if hidden(m.blind) {
		return false
	}
	return !l.done() || !slices.ContainsFunc(m.effects, func(e effect) bool { return hidden(e.at) && !e.in(l.byUID[uid]) })
}

// around counts calls of capabilities as writes.
func (w *writes) around(ctx context.Context, c Call, do func(context.Context) error) (err error) {
	if c.Ref.UID != "" && changes[c.Verb] {
		end := w.begin(c.Ref.UID)
		defer func() { end(err) }()
	}
	return do(ctx)
}

// uncalled is the error of a call that did not happen.
type uncalled struct{ error }

func (u uncalled) Unwrap() error { return u.error }
