package sim

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// OneByOne is about the timeouts that machines bring along: an outage that makes
// all of a group unhealthy gets them replaced one after the other.
const OneByOne = "no machine is given up for its health while another of its group is on its way in or out"

// moves reports whether a machine is on its way in or out: what failed and has
// an owner is about to go, what has none may stay.
func (w *World) moves(m client.Object) bool {
	v := w.tells.view(m)
	switch v.Stage {
	case lifecycle.StageRunning, lifecycle.StageLost, lifecycle.StageUpdateFailed:
		return m.GetDeletionTimestamp() != nil
	case lifecycle.StageFailed:
		return v.Owned && v.Keep.Until.IsZero()
	}
	return true
}

// moving are the machines that the process saw on their way in or out.
func (p *process) moving() map[types.UID]bool {
	w, out := p.w, map[types.UID]bool{}
	if !w.is.frail {
		return out
	}
	for _, m := range p.view(w.tells.machine).All() {
		if w.moves(m) {
			out[m.GetUID()] = true
		}
	}
	return out
}

// checkLone judges that a machine is given up because its node was lost for too
// long. Another counts that the pass saw on its way, and that still is.
func (p *process) checkLone(old, now client.Object, before snapshot) {
	w := p.w
	group := w.tells.group(now)
	if !w.is.frail || group == "" || p.deposed != nil || w.tells.view(old).Stage != lifecycle.StageLost || w.tells.view(now).Stage != lifecycle.StageFailed {
		return
	}
	for _, m := range w.store.All(w.tells.machine) {
		if m.GetUID() != now.GetUID() && w.tells.group(m) == group && before.moving[m.GetUID()] && w.moves(m) {
			w.broken(OneByOne, "%s gives up machine %s while %s is %s", p.name(), now.GetName(), m.GetName(), w.tells.view(m).Stage)
		}
	}
}
