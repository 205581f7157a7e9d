package machinedeployment

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// lateness is for how long after it was sent a write without an answer may
// still happen: an API server gives a request up after one minute.
const lateness = time.Minute

// lateSize is one that a set was to have from a version on, and has as soon as the
// write that got no answer happens.
type lateSize struct {
	version string
	n       int
}

// unsureSize enters that s may yet get the size.
func (h hands[D, S]) unsureSize(s S, n int) {
	if h.sizes == nil {
		h.sizes = map[types.UID]lateSize{}
	}
	h.sizes[s.GetUID()] = lateSize{s.GetResourceVersion(), n}
	h.late = h.Clock.Now().Add(lateness)
}

// pending reports whether something may still happen that got no answer and that the
// plan does not ask for, because something else is wanted since: machines would come on
// top of those planned, or go.
func (p *pass[D, S]) pending() bool {
	left := p.late.Sub(p.now)
	switch {
	case p.facts.Deleting && !p.plan.Finished():
		return false
	case left <= 0:
		for _, name := range p.ledger.UnknownCreations() {
			p.ledger.CreationKnown(name)
		}
		clear(p.sizes)
		return false
	case !p.pendingSet() && !p.pendingSize():
		return false
	}
	p.again(left)
	return true
}

// pendingSet reports whether that is the creation of a set.
func (p *pass[D, S]) pendingSet() bool {
	names := p.ledger.UnknownCreations()
	if len(names) == 0 {
		return false
	}
	w := p.plan.Create()
	return w == nil || len(names) > 1 || p.lens.Sets().New(p.object, *w).GetName() != names[0]
}

// pendingSize reports whether that is the size of a set: nobody has written it since.
func (p *pass[D, S]) pendingSize() bool {
	for uid, late := range p.sizes {
		again := func(w rollout.SetWant) bool { return w.UID == uid && w.Replicas == late.n }
		i, there := p.set(uid)
		if there && p.sets[i].GetResourceVersion() == late.version && !slices.ContainsFunc(p.plan.Sets(), again) {
			return true
		}
	}
	return false
}
