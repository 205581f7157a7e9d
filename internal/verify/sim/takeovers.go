package sim

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// takeoverProfile is a world in which users delete a machine while another process takes over in the middle of a
// pass for it.
type takeoverProfile struct {
	// takeovers: that happens often. Only settings have it. Seeds do not draw it, so that their worlds do not change.
	takeovers bool
}

// takeOverMidPass deletes a machine in the middle of a pass for it, and makes another process the leader.
func (w *World) takeOverMidPass() {
	var passes []*task
	for _, p := range w.leading() {
		if p.role == machineRole {
			passes = append(passes, p.tasks...)
		}
	}
	t, ok := pick(w, passes)
	if !ok {
		return
	}
	p := t.by
	if m := p.machineOf(t); m != nil && m.GetDeletionTimestamp() == nil {
		w.deleteObject(m)
		w.does("deletes machine %s in the middle of a pass", m.GetName())
	}
	w.expireLease(p)
	w.tracef(p.name(), "IS DEPOSED with %d passes under way", len(p.tasks))
	w.start(p.role, p.adapter, w.roll(1+int(w.profile.viewLag/time.Second)))
}

// machineOf returns the machine that the pass is for, or nil if it does not exist any more.
func (p *process) machineOf(t *task) client.Object {
	return p.w.store.Lookup(p.adapter.machine, t.key.NamespacedName)
}
