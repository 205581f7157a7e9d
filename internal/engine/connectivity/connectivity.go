// Package connectivity decides how well a process sees the two clusters that it works for, and the
// consequences.
//
// There are two consequences. When a cluster has not answered for too long, the process freezes all actions
// that need that cluster ([State.Blocked]). And timers count only the time in which the process has seen both
// clusters ([State.Remaining]): a timer stops at the last successful probe and continues at the next one, and
// starts no sooner than the process did. So no machine fails because of a time that the process did not see.
//
// Timers start at times in API objects. Those times are from the clock of the API server, the wall clock
// here. An administrator may set that clock, and it continues while the virtual machine of this process is
// suspended. Each probe says how far the wall clock is ahead of a clock that cannot be set ([Probe].Ahead);
// time that the wall clock has skipped does not count as watched.
//
// The package reads no clock and sends no request: probes are arguments. The zero [State] never probes, and
// counts all time as watched.
package connectivity

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Cluster is one of the clusters that a process probes.
type Cluster int

// The clusters: the one with the API objects, and the one that machines join. They may be the same.
const (
	Control Cluster = iota
	Target
	clusters
)

func (c Cluster) String() string { return [...]string{"control", "target"}[c] }

// Answer is the result of probing one cluster.
type Answer string

// The answers.
const (
	// Reachable: the API server answered the request, perhaps with an empty list.
	Reachable Answer = "Seen"
	// Denied: it answered with a refusal. The server is up, so nothing freezes; known facts may be out of
	// date, so timers stop.
	Denied Answer = "Denied"
	// Unreachable: no answer, or an answer that the server cannot serve.
	Unreachable Answer = "Down"
)

// Settle is how long every timer is kept from ending after a connection was lost and restored: kubelets renew
// their leases every 10 s, and nodes that are silent for 40 s are declared lost.
const Settle = time.Minute

// Policy says when a connection counts as lost.
type Policy struct {
	// Timeout is how long a cluster may leave probes unanswered.
	Timeout time.Duration
	// Interval is the time between two probes. If two probes are more than three intervals apart, the process
	// was asleep, and the time between them was not seen.
	Interval time.Duration
}

// Probe is one probe of every cluster.
type Probe struct {
	// At is when the requests were sent, by the wall clock: a successful probe has seen the state of that
	// time.
	At      time.Time
	Answers map[Cluster]Answer
	// Ahead is how much more time has passed since the first probe by the wall clock than by the steady
	// clock, which cannot be set; negative if the wall clock was set back.
	Ahead time.Duration
}

// State is the knowledge from the probes so far. It is a value: a later probe returns a new one.
type State struct {
	policy Policy
	// started is when probing began, begun the first successful probe, last the latest one; broken says that
	// a later probe has failed.
	started, begun, last time.Time
	broken               bool
	// looked is the time of the latest probe, successful or not, by the wall clock, and steady by the steady
	// clock. Both were equal when probing began.
	looked, steady time.Time
	// ahead is the part of [Probe].Ahead that the times here already include: all other times are by the wall
	// clock.
	ahead time.Duration
	// gaps are the times without a connection between begun and last, in order.
	gaps     []gap
	clusters [clusters]connection
	// recovered is when the last freeze ended.
	recovered time.Time
}

// gap is a time without a connection, between two successful probes.
type gap struct{ from, to time.Time }

// connection is the knowledge about one cluster.
type connection struct {
	probed bool
	// answered is when it answered last, by the steady clock; zero: never.
	answered time.Time
	answer   Answer
}

// Source returns the current state. Controllers get one.
type Source interface{ State() State }

// Of returns the state of s. For nil it returns the zero State, which never probes.
func Of(s Source) State {
	if s == nil {
		return State{}
	}
	return s.State()
}

// Equal reports whether two states are equal.
func (s State) Equal(o State) bool { return reflect.DeepEqual(s, o) }

// Begin returns the state before the first probe of the given clusters.
func Begin(at time.Time, p Policy, of ...Cluster) State {
	s := State{policy: p, started: at.Round(0)}
	for _, c := range of {
		s.clusters[c].probed = true
	}
	return s
}

// After returns the state after another probe. A cluster without an answer in it is down.
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

// connected records a successful probe. If the wall clock has skipped time, that much time does not count as
// watched; many small steps count as one.
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

// asleep is the longest time between two probes that counts as seen, and the largest accepted difference
// between the two clocks.
func (s State) asleep() time.Duration { return 3 * s.policy.Interval }

// setBack records that the wall clock was set back. Known times move with it. Timers that began before that
// have to wait until the clock reaches that time again; none ends too early.
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

// mostGaps bounds the memory of a process that runs for years.
const mostGaps = 100

// bounded merges the two oldest gaps if there are too many. The time between them no longer counts as
// watched, which is on the safe side.
func bounded(gaps []gap) []gap {
	if len(gaps) > mostGaps {
		gaps[1].from = gaps[0].from
		gaps = gaps[1:]
	}
	return gaps
}

// Elapsed returns how much of the time between from and to was watched.
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

// Remaining returns how long a timer that began at from still has to run; the timer is over if the result is
// not positive. After a lost connection no timer ends sooner than [Settle], or its own timeout if that is
// shorter, after the connection is restored. That also holds for a timer that had run out before: until then
// it is unknown what has happened meanwhile.
func (s State) Remaining(from time.Time, timeout time.Duration, now time.Time) time.Duration {
	left := timeout - s.Elapsed(from, now)
	if s.started.IsZero() {
		return left
	}
	return max(left, s.SettlesIn(now)-max(Settle-timeout, 0))
}

// Again returns when to check a timer again that has left to run; zero if it is over. Between two probes no
// time is counted, so at the end the value of left may stay the same for a while: Again is at least a second
// then.
func Again(left time.Duration) time.Duration {
	if left <= 0 {
		return 0
	}
	return max(left, time.Second)
}

// SettlesIn returns how long until both clusters have been seen for [Settle]; not positive if they have. That
// time does not begin while the latest probe failed: one cluster may have come back just when the other was
// lost.
func (s State) SettlesIn(now time.Time) time.Duration {
	if s.broken {
		return Settle
	}
	return Settle - s.Elapsed(s.Since(), now)
}

// Past reports whether a stored deadline has passed. A deadline that passed without a connection counts when
// the connection has been restored for [Settle]. Whether it passes without a connection is unknown before the
// next probe.
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

// Since returns since when all clusters have been seen without a gap; zero before the first successful probe.
func (s State) Since() time.Time {
	if n := len(s.gaps); n > 0 {
		return s.gaps[n-1].to
	}
	return s.begun
}

// Connected reports whether the latest probe was successful.
func (s State) Connected() bool { return s.started.IsZero() || !s.begun.IsZero() && !s.broken }

// Recovered returns when the last freeze ended; zero: there was no freeze.
func (s State) Recovered() time.Time { return s.recovered }

// Answer returns the latest answer of a cluster; empty if it is not probed, or not yet.
func (s State) Answer(c Cluster) Answer { return s.clusters[c].answer }

// Blocked returns why the controller must not act on an object now; empty: it may. An object under deletion
// waits for the control cluster only. For facts about the other cluster its deletion asks that cluster, and
// waits if it does not answer. If the deletion needs no such fact (nothing is left to drain, or draining is
// disabled), the cluster that the machines join may have been deleted.
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

// Frozen says which cluster has not answered for too long, or has not been probed yet; empty if all have
// answered.
func (s State) Frozen(now time.Time) string { return s.Blocked(now, false) }

// Again returns when to check again whether an object is still blocked.
func (s State) Again() time.Duration { return max(s.policy.Interval, time.Second) }

// disconnected returns why a cluster counts as disconnected; empty if it is connected.
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

// silent reports whether a cluster has not answered for longer than the timeout. A cluster that answered the
// latest probe has until the next one. A cluster that a probe found silent stays so until the next probe,
// also if the wall clock is set back before.
func (s State) silent(e connection, now time.Time) bool {
	patience := s.policy.Timeout
	if e.answer != Unreachable {
		patience += s.asleep()
	}
	return s.steady.Sub(e.answered)+max(now.Round(0).Sub(s.looked), 0) > patience
}

// wall converts a time of the steady clock to the wall clock of the latest probe.
func (s State) wall(steady time.Time) time.Time { return steady.Add(s.looked.Sub(s.steady)) }

// frozen reports whether a cluster that has answered before has stopped answering.
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
