package health

import (
	"fmt"
	"math"
	"time"
)

// Mode says whether the breaker's decisions are enforced.
type Mode string

// The modes.
const (
	// Report reports what the breaker would have stopped.
	Report Mode = "report"
	// Enforce stops it.
	Enforce Mode = "enforce"
	// Off disables the breaker.
	Off Mode = "off"
)

// Breaker keeps remedies from making an outage worse.
type Breaker struct {
	Mode Mode
	// Rate is how many remedies may begin within an hour: a share of the machines, and at least RateMin.
	Rate    Limit
	RateMin int
	// A group is in a storm if at least StormMin of its machines are sick, and they are at least StormShare
	// percent of the group.
	StormShare, StormMin int
	// Cooldown is how long after a storm its group is left alone.
	Cooldown time.Duration
	// Backoff is how long an unhealthy machine is left alone if it replaced a machine that failed; it doubles
	// with each further failure, up to MaxBackoff.
	Backoff, MaxBackoff time.Duration
}

// DefaultBreaker only reports. Of a fleet of 30 machines it allows 6 remedies within an hour, of a fleet of 5
// it allows 3. StormShare is the share at which Kubernetes itself stops evicting the pods of a zone.
func DefaultBreaker() Breaker {
	return Breaker{
		Mode: Report, Rate: Limit{set: true, number: 20, percent: true, text: "20%"}, RateMin: 3,
		StormShare: 55, StormMin: 3, Cooldown: 10 * time.Minute, Backoff: time.Minute, MaxBackoff: time.Hour,
	}
}

// rate returns how many of total machines may be remediated within an hour.
func (b Breaker) rate(total int) int {
	if !b.Rate.percent {
		return b.Rate.Of(total)
	}
	return max(b.RateMin, b.Rate.Of(total))
}

// backoff returns how long a machine is left alone after so many of its predecessors failed: 1 min, 2 min, 4
// min and so on up to an hour.
func (b Breaker) backoff(failed int) time.Duration {
	if failed <= 0 || b.Backoff <= 0 {
		return 0
	}
	d := float64(b.Backoff) * math.Pow(2, float64(failed-1))
	return time.Duration(min(d, float64(max(b.Backoff, b.MaxBackoff))))
}

// Connectivity says how well the nodes can be observed.
type Connectivity struct {
	// Blind says why they cannot be observed, as far as the caller knows; empty if they can.
	Blind string
	// Nodes is the number of known nodes.
	Nodes int
	// Heard is when any of them reported last; zero: not recorded.
	Heard time.Time
	// Since is when the connection was restored, if that is recent: most verdicts wait. Zero: long ago.
	Since time.Time
	// Again is when to check again if nodes are not observed, or were not until recently; zero: in half a
	// minute.
	Again time.Time
	// Cluster has the facts about the cluster that answers.
	Cluster Cluster
}

// silence is longer than all nodes of a healthy fleet can be silent: each kubelet reports at least every 5
// minutes.
const silence = 11 * time.Minute

// crowd is the minimum number of nodes whose silence counts.
const crowd = 3

// blind returns why facts about nodes cannot be trusted; empty if they can. Linked is how many machines have
// a recorded node. If no node reports any more, the likely cause is our own connection and not every node.
func (s Connectivity) blind(now time.Time, linked int) string {
	switch {
	case s.Blind != "":
		return s.Blind
	case s.Nodes == 0 && linked > 1:
		return fmt.Sprintf("no node is known, and %d machines have one", linked)
	case s.Nodes >= crowd && !s.Heard.IsZero() && now.Sub(s.Heard) > silence:
		return fmt.Sprintf("none of %d nodes has reported since %s", s.Nodes, stamp(s.Heard))
	}
	return ""
}

// hold is why the breaker leaves a machine alone, and until when; a zero time means without a limit.
type hold struct {
	why   string
	until time.Time
}

// holds returns the breaker's objection for one machine. A machine whose instance is reclaimed passes:
// holding it would only keep its pods on the node until the end.
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
			return hold{why: fmt.Sprintf("%d of its predecessors failed, it is left alone until %s", n, stamp(end)), until: end}, true
		}
	}
	if r.spent >= r.rate {
		return hold{why: fmt.Sprintf("%d were remediated within the hour, which is the limit", r.spent), until: r.rateEnd}, true
	}
	return hold{}, false
}
