package sim

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/sight"
	"github.com/millwright-dev/millwright/internal/sim/store"
)

// outage is a time in which none of the controllers reaches an API server. What
// is on the wire when it begins arrives.
type outage struct {
	of       *store.Store
	from, to time.Time
	// kubelets: they do not reach it either, and are taken for lost by whoever
	// does.
	kubelets bool
}

func (o outage) at(t time.Time) bool { return !t.Before(o.from) && t.Before(o.to) }

// shortestOutage is longer than the time between two looks: what is over sooner
// cannot be known.
const shortestOutage = 10

// looks are the defaults of the binaries.
var looks = sight.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}

var errUnreachable = errors.New("dial tcp: connect: connection refused")

// cutOff makes an API server unreachable.
func (w *World) cutOff() {
	if len(w.outages) > 0 && w.now.Before(w.outages[len(w.outages)-1].to) {
		return
	}
	o := outage{of: w.target, from: w.now, kubelets: w.chance(50)}
	if w.chance(30) {
		o.of, o.kubelets = w.store, o.kubelets && w.store == w.target
	}
	o.to = w.now.Add(time.Duration(w.between(shortestOutage, []int{60, 300, 1800}[w.roll(3)])) * time.Second)
	w.outages = append(w.outages, o)
	w.tracef("network", "the API server of the cluster %s is OUT OF REACH for %v, kubelets %v", w.clusterOf(o.of), o.to.Sub(o.from), o.kubelets)
}

func (w *World) clusterOf(s *store.Store) sight.Cluster {
	if s == w.store {
		return sight.Control
	}
	return sight.Target
}

// out reports whether the controllers do not reach the API server at the time.
func (w *World) out(s *store.Store, at time.Time) bool {
	if n := len(w.outages); n > 0 {
		return w.outages[n-1].of == s && w.outages[n-1].at(at)
	}
	return false
}

// severed reports whether kubelets do not reach their API server now.
func (w *World) severed() bool {
	n := len(w.outages)
	return n > 0 && w.outages[n-1].kubelets && w.outages[n-1].at(w.now)
}

// reconnect ends the outage that there may be.
func (w *World) reconnect() {
	if n := len(w.outages); n > 0 && w.now.Before(w.outages[n-1].to) {
		w.outages[n-1].to = w.now
	}
}

// State implements [sight.Source].
func (p *process) State() sight.State { return p.seen }

// eyes are what the controllers of p know their sight by; nil where it is
// perfect.
func (p *process) eyes() sight.Source {
	if m := p.w.o.Mutation; !p.w.is.outages || m != nil && m.Sightless {
		return nil
	}
	return p
}

// opens begins to look.
func (p *process) opens() {
	of := []sight.Cluster{sight.Control}
	if p.w.target != p.w.store {
		of = append(of, sight.Target)
	}
	p.seen, p.nextLook = sight.Begin(p.Now(), looks, of...), p.w.now
	p.look(p.w.now)
}

// look makes the looks that are due by then.
func (p *process) look(by time.Time) {
	if !p.w.is.outages {
		return
	}
	for ; !p.nextLook.After(by); p.nextLook = p.nextLook.Add(looks.Interval) {
		answers := map[sight.Cluster]sight.Answer{}
		for _, s := range []*store.Store{p.w.store, p.w.target} {
			answers[p.w.clusterOf(s)] = sight.Seen
			if p.w.out(s, p.nextLook) {
				answers[p.w.clusterOf(s)] = sight.Down
			}
		}
		p.seen = p.seen.After(sight.Round{At: p.nextLook.Add(p.skew), Answers: answers})
	}
}

// watched is how much of the time since then all API servers were within reach.
// An outage that fits between two looks is none: nobody can know of it.
func (w *World) watched(since time.Time) time.Duration {
	d := w.now.Sub(since)
	for _, o := range w.outages {
		from, to := o.from, o.to
		if to.After(w.now) {
			to = w.now
		}
		if to.Sub(from) < looks.Interval {
			continue
		}
		if from.Before(since) {
			from = since
		}
		d -= max(0, to.Sub(from))
	}
	return d
}

// blind reports whether one of the API servers has been out of reach for so
// long that every pass which began since must know it. Of one cluster with two
// roles, or of an object on its way out, only the machines' own matters.
func (w *World) blind(leaving bool) bool {
	n := len(w.outages)
	if n == 0 || !w.outages[n-1].at(w.now) || leaving && w.outages[n-1].of != w.store {
		return false
	}
	return w.now.Sub(w.outages[n-1].from) > looks.Timeout+4*looks.Interval+longestPause
}

// checkSight judges that a machine is given up: not before it was seen to be
// unwell for as long as it may be. A kubelet that does not reach its API server
// is none that has gone.
func (w *World) checkSight(old, now client.Object) {
	was, is := w.tells.view(old), w.tells.view(now)
	if len(w.outages) == 0 || is.Stage != lifecycle.StageFailed || len(w.cloud.Existing(is.UID)) == 0 {
		return
	}
	policy := w.tells.policy(old)
	since, timeout := was.StageSince, policy.HealthTimeout
	switch was.Stage {
	case lifecycle.StageLost:
	case lifecycle.StageJoining:
		since, timeout = was.Created, policy.JoinTimeout
	default:
		return
	}
	// Since when is what another clock may have said.
	if seen := w.watched(since); timeout > 0 && seen < timeout-time.Second-2*w.is.skew {
		w.broken(SeenOnly, "machine %s, which was %s since %s, was given up after %v in sight, and has %v", old.GetName(), was.Stage, since.Sub(epoch), seen, timeout)
	}
}

// checkStill judges what sets do with their machines while a cluster is out of
// reach. One that is deleted goes on to delete them.
func (p *process) checkStill(old, now client.Object) {
	m := now
	if m == nil {
		m = old
	}
	if s := p.w.setOf(m); s == nil || s.GetDeletionTimestamp() == nil || old == nil {
		p.w.broken(StillWhenBlind, "%s makes or deletes machine %s", p.name(), m.GetName())
	}
}
