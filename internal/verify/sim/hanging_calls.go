package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

// hangProfile says whether calls hang.
type hangProfile struct {
	// hangs: some calls do not return before their caller's deadline, and the caller does not learn the effect: none, the
	// complete effect at once, or the complete effect later.
	hangs bool
}

func (h *hangProfile) draw(r *rand.Rand) { h.hangs = r.IntN(5) == 0 }

// The callers' deadlines: the binaries' deadlines for requests to API servers, and the
// deadlines of decorate.Deadline for reading and for changing calls to the infrastructure.
// The simulator has no waiting threads, so the gates apply the deadlines.
const (
	apiTime   = 75 * time.Second
	readTime  = time.Minute
	writeTime = 5 * time.Minute
)

// longestPass is the longest pass without an error: one call hung, and the pass also stopped twice.
const longestPass = writeTime + 2*longestPause

// hangPercent is the percentage of calls that hang.
const hangPercent = 2

// hang is a call for which a pass waits.
type hang struct {
	until time.Time
	// had: a call of the pass has hung. At most one call of a pass hangs.
	had bool
}

// hangs reports whether the call of the running task hangs now. If so, the rest of the world continues until the caller's
// deadline, which is limit later. The call has no effect, or has the effect of `now`, or has the effect of `later` after the
// deadline.
func (p *process) hangs(what string, limit time.Duration, now, later func()) bool {
	w, t := p.w, p.running
	if !w.profile.hangs || t.hang.had || !w.chance(hangPercent) || w.calm {
		return false
	}
	t.hang = hang{until: w.now.Add(limit), had: true}
	if m := w.o.Mutation; m != nil && m.Endless {
		t.hang.until = epoch.Add(1000 * time.Hour)
	}
	w.tracef(p.name(), "%s HANGS", what)
	result := w.roll(3)
	if result == 0 {
		now()
	}
	for t.hanging() {
		if !t.on.pause() || p.deposed != nil {
			panic(killed{})
		}
	}
	if t.saw != nil {
		t.saw.overtaken = true
	}
	if result == 1 {
		later()
	}
	return true
}

// hanging reports whether the task waits for a hanging call.
func (t *task) hanging() bool { return t.by.w.now.Before(t.hang.until) }

// nextHang is the first deadline of a hanging call before t.
func (w *World) nextHang(t time.Time) (next time.Time, some bool) {
	for _, p := range w.procs {
		for _, task := range p.tasks {
			if u := task.hang.until; task.hanging() && u.Before(t) && (!some || u.Before(next)) {
				next, some = u, true
			}
		}
	}
	return next, some
}

// endless looks for passes that take longer than any pass may.
func (w *World) endless() {
	for _, p := range w.procs {
		for _, t := range p.tasks {
			if d := w.now.Sub(t.started); p.deposed == nil && t.hanging() && d > longestPass {
				w.broken(judge.PassEnds, "%s: %s has waited for a call for %v", p.name(), t.key, d)
			}
		}
	}
}

// longest is how long a pass may stop between two calls or during one.
func (w *World) longest() time.Duration {
	if w.profile.hangs {
		return longestPause + writeTime
	}
	return longestPause
}

// errHung is the caller's error after its deadline.
var errHung = fmt.Errorf("%w (while awaiting headers)", context.DeadlineExceeded)

// hungWrite is a write to an API server that hangs: it has no effect, or takes effect without a reply, or takes
// effect after the caller's deadline.
func (p *process) hungWrite(s *store.Store, c store.Call, do func() error) bool {
	w, before, sent := p.w, p.running.before, max(1, p.w.judge.Changes())
	return p.hangs(c.Verb+" "+c.Kind.Kind+" "+c.Key.Name, apiTime, func() {
		_ = p.answered(c, p.judgedCall(s, c, before, 0, do), "the call that hangs took effect: ")
	}, func() {
		w.sendLate(p, func() {
			_ = p.answered(c, p.judgedCall(s, c, before, sent, do), "LATE, arrives only now: ")
		}, longestLate)
	})
}

// hungCall is a call to the cloud that hangs.
func (p *process) hungCall(c cloud.Call, changes bool, effect func() error) error {
	limit := readTime
	if changes {
		limit = writeTime
	}
	now, later := func() {}, func() {}
	if changes {
		now = func() { p.w.tracef(p.name(), "the call that hangs took effect: %s", outcome(effect())) }
	}
	if changes && p.w.profile.cloud.Lag > 0 {
		later = func() { p.lateCall(c, effect) }
	}
	if !p.hangs("cloud: "+c.Verb+" "+c.Ref.Name, limit, now, later) {
		return nil
	}
	return &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: called off, its outcome is not known: %w", c.Verb, errHung)}
}
