package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// joinLimit is the time within which a machine has to get its instance, or its node. Each API sets it ([JoinPolicy].Timeout).
type joinLimit struct {
	// left is negative if the time has passed.
	left time.Duration
	// unlimited: the machine waits forever.
	unlimited bool
}

// creating is the limit for the creation of the instance: the machine's age.
func (q input) creating() joinLimit { return q.limit(q.m.Created) }

// joining is the limit for the node. It begins with the creation of the machine, or with a later request for its instance: a machine may
// wait long for a controller, for its class or for capacity, and a new instance needs the whole time.
func (q input) joining() joinLimit {
	since := q.m.Created
	if open := q.m.Recorded.Requests.Open(); open != nil && open.At.After(since) {
		since = open.At
	}
	return q.limit(since)
}

func (q input) limit(since time.Time) joinLimit {
	if q.p.Join.Timeout <= 0 {
		return joinLimit{unlimited: true}
	}
	return joinLimit{left: q.left(since, q.p.Join.Timeout)}
}

func (l joinLimit) passed() bool { return !l.unlimited && l.left < 0 }

// wait is until when the limit has passed; zero without a limit.
func (l joinLimit) wait() time.Duration {
	if l.unlimited {
		return 0
	}
	return max(l.left, 0) + time.Second
}

// atMost shortens a wait that would last past the limit.
func (l joinLimit) atMost(wait time.Duration) time.Duration {
	if l.unlimited || l.passed() {
		return wait
	}
	return min(wait, l.wait())
}

// ready reports whether the machine's node exists and is ready. Then an instance runs, even if its creation or its lookup failed.
func (n Node) ready() bool {
	return Ready(n.Object).Status == corev1.ConditionTrue
}
