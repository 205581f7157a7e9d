package machinedeployment

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// lateness is how long after it was sent a write without an answer may still happen: an API server aborts a
// request after one minute.
const lateness = time.Minute

// lateSize is a size that a set was to get from a version on, and gets as soon as the write without an
// answer happens.
type lateSize struct {
	version string
	n       int
}

// unsureSize enters that s may still get the size.
func (h executor[D, S]) unsureSize(s S, n int) {
	if h.sizes == nil {
		h.sizes = map[types.UID]lateSize{}
	}
	h.sizes[s.GetUID()] = lateSize{s.GetResourceVersion(), n}
	h.late = h.Clock.Now().Add(lateness)
}

// pending reports whether a write without an answer may still happen that is no longer in the plan: it
// would add machines to the planned ones, or remove some.
func (p *pass[D, S]) pending() bool {
	left := p.late.Sub(p.now)
	switch {
	case p.facts.Deleting && !p.plan.Finished():
		return false
	case left <= 0:
		for _, name := range p.expectations.UnknownCreations() {
			p.expectations.CreationKnown(name)
		}
		clear(p.sizes)
		return false
	case !p.pendingSet() && !p.pendingSize():
		return false
	}
	p.again(left)
	return true
}

// pendingSet reports whether that write is the creation of a set.
func (p *pass[D, S]) pendingSet() bool {
	names := p.expectations.UnknownCreations()
	if len(names) == 0 {
		return false
	}
	w := p.plan.Create()
	return w == nil || len(names) > 1 || p.lens.Sets().New(p.object, *w).GetName() != names[0]
}

// pendingSize reports whether that write is the size of a set that no client has written since.
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
