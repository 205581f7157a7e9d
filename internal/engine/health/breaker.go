package health

import (
	"fmt"
	"math"
	"time"
)

// Mode is what the breaker's word is worth.
type Mode string

// The modes.
const (
	// Report tells what it would have stopped.
	Report Mode = "report"
	// Enforce stops it.
	Enforce Mode = "enforce"
	// Off asks nobody.
	Off Mode = "off"
)

// Breaker keeps remedies from making an outage worse.
type Breaker struct {
	Mode Mode
	// Rate is how many remedies may begin within an hour: a share of the
	// machines, and at least RateMin.
	Rate    Limit
	RateMin int
	// A group is in a storm when at least StormMin of its machines are sick, and
	// these are at least StormShare percent of it.
	StormShare, StormMin int
	// Cooldown is how long after a storm nothing of its group is remedied.
	Cooldown time.Duration
	// Backoff is for how long an unhealthy machine is left that was made in the
	// place of one that failed; it doubles with each further one, to MaxBackoff.
	Backoff, MaxBackoff time.Duration
}

// DefaultBreaker reports. Of a fleet of 30, 6 are remedied within an hour, of
// one of 5, 3. The share is that at which Kubernetes itself stops evicting the
// pods of a zone.
func DefaultBreaker() Breaker {
	return Breaker{
		Mode: Report, Rate: Limit{set: true, number: 20, percent: true, text: "20%"}, RateMin: 3,
		StormShare: 55, StormMin: 3, Cooldown: 10 * time.Minute, Backoff: time.Minute, MaxBackoff: time.Hour,
	}
}

// rate is how many of total machines may be remedied within an hour.
func (b Breaker) rate(total int) int {
	if !b.Rate.percent {
		return b.Rate.Of(total)
	}
	return max(b.RateMin, b.Rate.Of(total))
}

// backoff is how long a machine is left alone in whose place so many failed
// before: 1 min, 2 min, 4 min and so on to an hour.
func (b Breaker) backoff(failed int) time.Duration {
	if failed <= 0 || b.Backoff <= 0 {
		return 0
	}
	d := float64(b.Backoff) * math.Pow(2, float64(failed-1))
	return time.Duration(min(d, float64(max(b.Backoff, b.MaxBackoff))))
}

// Connectivity is how far the nodes can be seen.
type Connectivity struct {
	// Blind says why they cannot be seen, as far as the caller knows; empty when
	// they can.
	Blind string
	// Nodes is how many nodes are known at all.
	Nodes int
	// Heard is when any of them was last heard of; zero: nobody keeps it.
	Heard time.Time
	// Since is since when they are seen, where that is only a moment ago: most
	// verdicts wait. Zero: for long enough.
	Since time.Time
	// Again is when to ask again where they are not seen, or were not for long;
	// zero: in half a minute.
	Again time.Time
	// Cluster is what is known of the cluster that answers.
	Cluster Cluster
}

// silence is how long a fleet of nodes cannot be silent: each kubelet reports at
// least every 5 minutes.
const silence = 11 * time.Minute

// crowd is how many nodes there have to be for their silence to be telling.
const crowd = 3

// blind says why nothing can be believed about nodes; empty when it can. Linked
// is how many machines have a node recorded. It is our own sight that is
// doubted first: that nobody is seen any more has one cause more often than
// many.
func (s Connectivity) blind(now time.Time, linked int) string {
	switch {
	case s.Blind != "":
		return s.Blind
	case s.Nodes == 0 && linked > 1:
		return fmt.Sprintf("not one node is known, and %d machines have one", linked)
	case s.Nodes >= crowd && !s.Heard.IsZero() && now.Sub(s.Heard) > silence:
		return fmt.Sprintf("not one of %d nodes has been heard of since %s", s.Nodes, stamp(s.Heard))
	}
	return ""
}

// hold is why the breaker would leave a machine alone, and until when; that is
// zero where no time ends it.
type hold struct {
	why   string
	until time.Time
}

// holds asks the breaker about one machine. One whose instance is taken back is
// let go: to hold it would only keep its pods on the node until the end.
func (r *round) holds(b *Judged) (h hold, held bool) {
	br := r.w.Check.Breaker
	if b.Verdict.Reclaimed {
		return hold{}, false
	}
	for _, s := range r.memory.Storms {
		if b.Verdict.Gone || !belongs(&b.Target, s.Group) {
			continue
		}
		if s.Over.IsZero() {
			return hold{why: fmt.Sprintf("%d of %d machines of %s are sick", s.Sick, s.Total, s.Group)}, true
		}
		end := s.Over.Add(br.Cooldown)
		return hold{why: s.spared(end), until: end}, true
	}
	if n := r.memory.chain(r.now, &b.Target); n > 0 {
		if end := b.Since.Add(br.backoff(n)); r.now.Before(end) {
			return hold{why: fmt.Sprintf("%d failed in its place before, it is left until %s", n, stamp(end)), until: end}, true
		}
	}
	if r.spent >= r.rate {
		return hold{why: fmt.Sprintf("%d were remedied within the hour, which is as many as may be", r.spent), until: r.rateEnd}, true
	}
	return hold{}, false
}
