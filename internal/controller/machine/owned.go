package machine

import (
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// want is what the machine asks of its node. Which capacity it offers is in the
// class: while that cannot be read, capacity stays as it is.
func (p *pass[M]) want() node.Want {
	w := p.Dialect.Want(p.m, p.infra.class)
	if p.world.Session.Err != nil {
		w.CapacityKey = ""
	}
	if w.AppliedKey != "" {
		w.Owned = node.ReadOwned(p.m.GetAnnotations())
	}
	return w
}

// recordOwned keeps in the machine what it has put on its node, or is going to put
// there: with the finalizer, before there is a node, and once the node is in
// step. A machine that was taken over, and has nothing on its node that a kubelet
// may not touch, is spared the write.
func (p *pass[M]) recordOwned() {
	w := p.want()
	if w.AppliedKey == "" || p.policy.Targetless || !p.view.Deleted.IsZero() || !p.world.Node.Looked {
		return
	}
	joined := p.world.Node.Object != nil || p.view.HadNode()
	if joined && (p.world.Node.Object == nil || p.world.Node.Stale) {
		return
	}
	o := node.OwnedBy(w, w.Owned)
	if w.Owned == nil && (joined && !o.Guarded() || o.Empty()) {
		return
	}
	dialect.SetAnnotation(p.m, dialect.OnNodeAnnotation, o.String())
}
