package sim

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// outage is a time in which no controller reaches an API server. Requests that are on the wire at its beginning
// arrive.
type outage struct {
	of       *store.Store
	from, to time.Time
	// kubelets: the kubelets do not reach the API server either, and controllers that reach it consider their nodes lost.
	kubelets bool
	// denies: the API server answers, and denies every request.
	denies bool
}

func (o outage) at(t time.Time) bool { return !t.Before(o.from) && t.Before(o.to) }

// shortestOutage is longer than the time between two probes, because no process can notice a shorter outage.
const shortestOutage = 10

// looks is the policy of the probes, as in the binaries.
var looks = connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}

var errUnreachable = errors.New("dial tcp: connect: connection refused")

// cutOff makes an API server unreachable.
func (w *World) cutOff() {
	if len(w.outages) > 0 && w.now.Before(w.outages[len(w.outages)-1].to) {
		return
	}
	o := outage{of: w.target, from: w.now, kubelets: w.chance(50), denies: w.profile.denials}
	if w.chance(30) {
		o.of, o.kubelets = w.store, o.kubelets && w.store == w.target
	}
	o.to = w.now.Add(time.Duration(w.between(shortestOutage, []int{60, 300, 1800}[w.roll(3)])) * time.Second)
	w.outages = append(w.outages, o)
	w.tracef("network", "the API server of the cluster %s is OUT OF REACH for %v, kubelets %v", w.clusterOf(o.of), o.to.Sub(o.from), o.kubelets)
}

func (w *World) clusterOf(s *store.Store) connectivity.Cluster {
	if s == w.store {
		return connectivity.Control
	}
	return connectivity.Target
}

// out reports whether controllers cannot reach the API server at the time.
func (w *World) out(s *store.Store, at time.Time) bool { return w.outageOf(s, at) != nil }

// outageOf is the outage of the API server at the time; nil if it has no outage.
func (w *World) outageOf(s *store.Store, at time.Time) *outage {
	if n := len(w.outages); n > 0 && w.outages[n-1].of == s && w.outages[n-1].at(at) {
		return &w.outages[n-1]
	}
	return nil
}

// failure is the error of a call during the outage.
func (o outage) failure(c store.Call) error {
	if o.denies {
		return apierrors.NewForbidden(schema.GroupResource{Resource: c.Kind.Kind}, c.Key.Name, errors.New("the authorizer does not answer"))
	}
	return errUnreachable
}

// answer is the result of a probe during the outage.
func (o outage) answer() connectivity.Answer {
	if o.denies {
		return connectivity.Denied
	}
	return connectivity.Unreachable
}

// severed reports whether the kubelets cannot reach their API server now.
func (w *World) severed() bool {
	n := len(w.outages)
	return n > 0 && w.outages[n-1].kubelets && w.outages[n-1].at(w.now)
}

// reconnect ends the present outage.
func (w *World) reconnect() {
	if n := len(w.outages); n > 0 && w.now.Before(w.outages[n-1].to) {
		w.outages[n-1].to = w.now
	}
}

// State implements [connectivity.Source].
func (p *process) State() connectivity.State { return p.seen }

// connectivity is the controllers' source of connectivity; nil in worlds without outages.
func (p *process) connectivity() connectivity.Source {
	if m := p.w.o.Mutation; !p.w.looks() || m != nil && m.Unprobed {
		return nil
	}
	return p
}

// opens begins the probes.
func (p *process) opens() {
	of := []connectivity.Cluster{connectivity.Control}
	if p.w.target != p.w.store {
		of = append(of, connectivity.Target)
	}
	p.seen, p.nextLook = connectivity.Begin(p.Now(), looks, of...), p.w.now
	p.look(p.w.now)
}

// look makes the probes that are due at the time.
func (p *process) look(by time.Time) {
	if !p.w.looks() {
		return
	}
	for ; !p.nextLook.After(by); p.nextLook = p.nextLook.Add(looks.Interval) {
		answers := map[connectivity.Cluster]connectivity.Answer{}
		for _, s := range []*store.Store{p.w.store, p.w.target} {
			answers[p.w.clusterOf(s)] = connectivity.Reachable
			if o := p.w.outageOf(s, p.nextLook); o != nil {
				answers[p.w.clusterOf(s)] = o.answer()
			}
		}
		since := p.w.now.Sub(p.nextLook)
		_, ahead := p.clock.Read()
		p.seen = p.seen.After(connectivity.Probe{At: p.Now().Add(-since), Ahead: ahead, Answers: answers})
	}
}
