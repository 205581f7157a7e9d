package replay

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

// What the ancestors' clients usually ask for.
const (
	conditionTimeout = 5 * time.Minute
	startupTimeout   = 10 * time.Minute
	creationTimeout  = 20 * time.Minute
	healthTimeout    = 10 * time.Minute
)

// allAtOnce is the rule of the ancestor with health checks: it looks at all machines; if at most the allowed
// number is unhealthy, it deletes those that have been so for too long. Deleted machines do not count, even
// without a replacement.
type allAtOnce struct{ most health.Limit }

func (allAtOnce) dark(*world) {}

func (r allAtOnce) look(w *world) {
	var sick []*machine
	healthy := 0
	for _, m := range w.machines {
		fine, remedy := m.checked(w.now)
		if fine && m.deleted == never {
			healthy++
		}
		if remedy {
			sick = append(sick, m)
		}
	}
	if total := len(w.machines); total-healthy > r.most.Of(total) {
		return
	}
	for _, m := range sick {
		w.remove(m)
	}
}

// checked is the table of the ancestor: whether a machine is healthy, and
// whether it is to be remedied.
func (m *machine) checked(now time.Duration) (healthy, remedy bool) {
	switch {
	case m.gone:
		return false, true
	case !m.linked && now < m.updated():
		return false, false // nothing has been recorded
	case !m.linked:
		return false, m.updated()+startupTimeout < now
	case m.ready != "True":
		return false, m.since+conditionTimeout < now
	}
	return true, false
}

// oneAtATime is the rule of the ancestor with timeouts on machines: one that is
// not healthy is Unknown, and fails after a time, if no other machine of its
// deployment is in any other state than Unknown and Running. Those that do not
// join fail without that. A failed machine is replaced at once.
type oneAtATime struct {
	// unknown is since when machines are.
	unknown map[*machine]time.Duration
	// running are those that joined once.
	running map[*machine]bool
	// unseen says that the API server was not reached, thawed when it was again.
	unseen bool
	thawed time.Duration
}

// pause is how long nothing is looked at after the API server is back.
const pause = 30 * time.Second

func newOneAtATime() *oneAtATime {
	return &oneAtATime{unknown: map[*machine]time.Duration{}, running: map[*machine]bool{}, thawed: -pause}
}

func (r *oneAtATime) dark(*world) { r.unseen = true }

func (r *oneAtATime) look(w *world) {
	if r.unseen {
		r.unseen, r.thawed = false, w.now
		clear(r.unknown)
	}
	if w.now-r.thawed < pause {
		return
	}
	for _, m := range w.machines {
		if m.deleted == never && r.fails(w, m) {
			w.remove(m)
		}
	}
}

func (r *oneAtATime) fails(w *world, m *machine) bool {
	switch {
	case m.gone:
		return true
	case !r.running[m] && (!m.linked || m.ready != "True"):
		return m.created+creationTimeout < w.now
	case m.ready == "True":
		r.running[m] = true
		delete(r.unknown, m)
		return false
	}
	since, ok := r.unknown[m]
	if !ok {
		since, r.unknown[m] = w.now, w.now
	}
	return since+healthTimeout < w.now && !r.busy(w, m.group)
}

// busy reports whether a machine of the deployment is coming or going.
func (r *oneAtATime) busy(w *world, g *Group) bool {
	for _, m := range w.machines {
		if m.group == g && (m.deleted != never || !r.running[m]) {
			return true
		}
	}
	return false
}
