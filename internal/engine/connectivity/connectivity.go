// Package connectivity decides how well a process sees the two clusters that it works for, and what follows from that.
//
// Two things follow. When a cluster has not answered for too long, the process freezes what needs that cluster ([State.Blocked]). And timers
// count only the time that the process has watched ([State.Remaining]): a timer stands still from the last look that saw everything
// to the next such look, and begins no sooner than the process began to look. So no machine fails for what happened unseen.
//
// Timers begin at times in API objects, which the clock of the API server has written: the wall clock, here. Somebody may set that clock, and
// it runs on while the virtual machine of this process is suspended. Each look says how far the wall clock is ahead of a clock that nobody
// sets ([Probe].Ahead), and the time that the wall clock has skipped counts as not watched.
//
// The package reads no clock and asks no server: looks are arguments. The zero [State] never looks, and takes all time as watched.
package connectivity

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Cluster is one of those that a process looks at.
type Cluster int

// The clusters: the one that holds the objects, and the one that machines join.
// They may be the same.
const (
	Control Cluster = iota
	Target
	clusters
)

func (c Cluster) String() string { return [...]string{"control", "target"}[c] }

// Answer is what came of a question.
type Answer string

// The answers.
const (
	// Reachable: the API server said what there is, be it nothing.
	Reachable Answer = "Seen"
	// Denied: it answered and did not say. It is up, so that nothing freezes;
	// what we know may be out of date, so that timers stand still.
	Denied Answer = "Denied"
	// Unreachable: no answer, or one that it cannot serve.
	Unreachable Answer = "Down"
)

// Settle is how long nobody's time runs out after sight was lost and came back:
// kubelets renew their leases every 10 s, and nodes that are silent for 40 s
// are declared lost.
const Settle = time.Minute

// Policy says when looking counts as not seeing.
type Policy struct {
	// Timeout is how long a cluster may leave us without an answer.
	Timeout time.Duration
	// Interval is that between two looks. Of looks that are more than three
	// intervals apart nothing is known in between: the process was asleep.
	Interval time.Duration
}

// Probe is one look at every cluster.
type Probe struct {
	// At is when the questions were sent, by the wall clock: what was true then was
	// seen.
	At      time.Time
	Answers map[Cluster]Answer
	// Ahead is how much more time has passed since looking began by the wall clock
	// than by one that nobody sets; negative when the wall clock was set back.
	Ahead time.Duration
}

// State is what is known by the looks so far. It is a value: a later look makes
// another.
type State struct {
	policy Policy
	// started is when looking began, begun when everything was seen first, last
	// when it was seen last; broken says that a look after last did not see.
	started, begun, last time.Time
	broken               bool
	// looked is the last look, whatever came of it, by the wall clock, and steady by
	// one that nobody sets: the same as the wall clock when looking began.
	looked, steady time.Time
	// ahead is [Probe].Ahead as far as the times here allow for it: all others are by
	// the wall clock.
	ahead time.Duration
	// gaps are the times without sight between begun and last, in order.
	gaps     []gap
	clusters [clusters]connection
	// recovered is when the last freeze ended.
	recovered time.Time
}

// gap is a time without sight, between two looks that saw.
type gap struct{ from, to time.Time }

// connection is what is known of one cluster.
type connection struct {
	probed bool
	// answered is when it answered last, by the clock that nobody sets; zero: never.
	answered time.Time
	answer   Answer
}

// Source tells what is known by now. It is what shells are given.
type Source interface{ State() State }

// Of is the state that s tells; nil never looks.
func Of(s Source) State {
	if s == nil {
		return State{}
	}
	return s.State()
}

// Equal reports whether two states know the same.
func (s State) Equal(o State) bool { return reflect.DeepEqual(s, o) }

// Begin returns the state before the first look at the given clusters.
func Begin(at time.Time, p Policy, of ...Cluster) State {
	s := State{policy: p, started: at.Round(0)}
	for _, c := range of {
		s.clusters[c].probed = true
	}
	return s
}

// After returns the state after another look. A cluster without an answer in it
// is down.
func (s State) After(r Probe) State {
	r.At = r.At.Round(0)
	s = s.setBack(r)
	s.looked, s.steady = r.At, r.At.Add(-r.Ahead)
	was, all := s.frozen(r.At), true
	for c := range s.clusters {
		e := &s.clusters[c]
		if !e.probed {
			continue
		}
		if e.answer = r.Answers[Cluster(c)]; e.answer == "" {
			e.answer = Unreachable
		}
		if e.answer != Unreachable {
			e.answered = s.steady
		}
		all = all && e.answer == Reachable
	}
	if was && !s.frozen(r.At) {
		s.recovered = r.At
	}
	if !all {
		s.broken = true
		return s
	}
	return s.connected(r)
}

// connected takes down a look that saw everything. Of time that the wall clock skipped,
// as much is taken out as was skipped: many small steps count as one.
func (s State) connected(r Probe) State {
	skipped := r.Ahead - s.ahead
	switch {
	case s.begun.IsZero():
		s.begun, s.ahead = r.At, r.Ahead
	case skipped > s.asleep():
		from := latest(earliest(s.last, r.At.Add(-skipped)), s.Since())
		s.gaps, s.ahead = bounded(append(slices.Clone(s.gaps), gap{from, r.At})), r.Ahead
	case s.broken || r.At.Sub(s.last) > s.asleep():
		s.gaps = bounded(append(slices.Clone(s.gaps), gap{s.last, r.At}))
	}
	s.last, s.broken = r.At, false
	return s
}

// asleep is the longest time between two looks of which something is known, and
// the largest difference between two clocks that nobody minds.
func (s State) asleep() time.Duration { return 3 * s.policy.Interval }

// setBack takes down that the wall clock was set back: what was seen an hour ago
// has the hour before in it from then on. Timers that began before that have to
// wait until the clock is there again; none ends too early.
func (s State) setBack(r Probe) State {
	d := r.Ahead - s.ahead
	if s.begun.IsZero() || d >= -s.asleep() {
		return s
	}
	s.ahead = r.Ahead
	times := []*time.Time{&s.started, &s.begun, &s.last, &s.recovered}
	s.gaps = slices.Clone(s.gaps)
	for n := range s.gaps {
		times = append(times, &s.gaps[n].from, &s.gaps[n].to)
	}
	for _, t := range times {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	return s
}

// mostGaps bounds the memory of a process that is up for years.
const mostGaps = 100

// bounded makes one of the two oldest of too many gaps. What was seen between
// them does not count any more, which is on the safe side.
func bounded(gaps []gap) []gap {
	if len(gaps) > mostGaps {
		gaps[1].from = gaps[0].from
		gaps = gaps[1:]
	}
	return gaps
}

// Elapsed is how much of the time between from and to was watched.
func (s State) Elapsed(from, to time.Time) time.Duration {
	if s.started.IsZero() {
		return to.Sub(from)
	}
	if s.begun.IsZero() {
		return 0
	}
	from, to = latest(from.Round(0), s.begun), earliest(to.Round(0), s.last)
	seen := to.Sub(from)
	for _, g := range s.gaps {
		seen -= max(earliest(to, g.to).Sub(latest(from, g.from)), 0)
	}
	return max(seen, 0)
}

// Remaining is how long a timer has still to run that began at from; it is over when
// that is not positive. Once sight was lost, no timer ends sooner than [Settle],
// or its own timeout if that is shorter, after sight came back. That holds for one that
// had run out before, too: until sight is back, nobody knows what came of it meanwhile.
func (s State) Remaining(from time.Time, timeout time.Duration, now time.Time) time.Duration {
	left := timeout - s.Elapsed(from, now)
	if s.started.IsZero() {
		return left
	}
	return max(left, s.SettlesIn(now)-max(Settle-timeout, 0))
}

// Again is when to look again at a timer that has so long to run; zero when it is
// over. It counts nothing between two looks at the clusters, so that what is left of
// it at the end may stay as it is for a while: that is not asked for over and over.
func Again(left time.Duration) time.Duration {
	if left <= 0 {
		return 0
	}
	return max(left, time.Second)
}

// SettlesIn is how long it takes until everything has been seen for [Settle]; not
// positive when it has. None of that has passed while the last look did not see
// everything: one cluster may have come back just when the other went.
func (s State) SettlesIn(now time.Time) time.Duration {
	if s.broken {
		return Settle
	}
	return Settle - s.Elapsed(s.Since(), now)
}

// Past reports whether a time has come that is written down somewhere and
// stays. One that came unseen counts when sight has been back for [Settle]. Whether
// it comes unseen is not known before the next look.
func (s State) Past(deadline, now time.Time) bool {
	switch {
	case now.Before(deadline):
		return false
	case s.started.IsZero():
		return true
	case !s.Connected() || now.Round(0).Sub(s.last) > s.asleep():
		return false
	}
	return deadline.After(s.Since()) || s.SettlesIn(now) <= 0
}

// Since is since when everything has been seen without a gap; zero when nothing
// was seen yet.
func (s State) Since() time.Time {
	if n := len(s.gaps); n > 0 {
		return s.gaps[n-1].to
	}
	return s.begun
}

// Connected reports whether the last look saw everything.
func (s State) Connected() bool { return s.started.IsZero() || !s.begun.IsZero() && !s.broken }

// Recovered is when the last freeze ended, zero when there was none.
func (s State) Recovered() time.Time { return s.recovered }

// Answer is the last one of a cluster; empty when it is not looked at, or was
// not yet.
func (s State) Answer(c Cluster) Answer { return s.clusters[c].answer }

// Blocked says why an object must not be acted upon now; empty: it may. An object
// under deletion waits for the control cluster only. What its deletion needs to
// know of the other one, it asks there, and waits where that does not answer;
// where it needs nothing (nothing is left to drain, or nobody wants that), the
// cluster that the machines join may be gone for good.
func (s State) Blocked(now time.Time, deleting bool) string {
	for c, e := range s.clusters {
		if Cluster(c) == Target && deleting {
			continue
		}
		if why := s.disconnected(Cluster(c), e, now); why != "" {
			return why
		}
	}
	return ""
}

// Frozen says which cluster has not answered for too long, or has not been
// asked yet; empty when all have.
func (s State) Frozen(now time.Time) string { return s.Blocked(now, false) }

// Again is when to ask again whether an object is still held.
func (s State) Again() time.Duration { return max(s.policy.Interval, time.Second) }

// disconnected says why a cluster is not to be relied on; empty when it is.
func (s State) disconnected(c Cluster, e connection, now time.Time) string {
	switch {
	case !e.probed:
		return ""
	case e.answered.IsZero() && e.answer == "":
		return fmt.Sprintf("the API server of the %s cluster has not been asked yet", c)
	case e.answered.IsZero():
		return fmt.Sprintf("the API server of the %s cluster has not answered since %s", c, s.started.UTC().Format(time.RFC3339))
	case s.silent(e, now):
		return fmt.Sprintf("the API server of the %s cluster has not answered since %s", c, s.wall(e.answered).UTC().Format(time.RFC3339))
	}
	return ""
}

// silent reports whether a cluster has not answered for longer than the
// timeout. One that answered last time has until the next look; one that a look
// found silent is so until the next, also when the wall clock is set back before.
func (s State) silent(e connection, now time.Time) bool {
	patience := s.policy.Timeout
	if e.answer != Unreachable {
		patience += s.asleep()
	}
	return s.steady.Sub(e.answered)+max(now.Round(0).Sub(s.looked), 0) > patience
}

// wall is a time of the clock that nobody sets by the wall clock of the last look.
func (s State) wall(steady time.Time) time.Time { return steady.Add(s.looked.Sub(s.steady)) }

// frozen reports whether a cluster that has answered before does not any more.
func (s State) frozen(now time.Time) bool {
	return slices.ContainsFunc(s.clusters[:], func(e connection) bool { return e.probed && !e.answered.IsZero() && s.silent(e, now) })
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
