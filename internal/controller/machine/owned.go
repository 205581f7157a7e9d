package machine

import (
	"github.com/millwright-dev/millwright/internal/dialect"
)

// recordOwned records in the machine what it has put on its node, or is going to put there: with the
// finalizer, before there is a node, and once the node is up to date. A machine that was taken over, and
// whose node has only fields that a kubelet may set, needs no such write.
func (o object[M]) recordOwned() {
	w := o.want()
	if w.AppliedKey == "" || o.policy.Targetless || !o.view.Deleted.IsZero() || !o.world.Node.Looked {
		return
	}
	joined := o.world.Node.Object != nil || o.view.HadNode()
	if joined && (o.world.Node.Object == nil || o.world.Node.Stale) {
		return
	}
	put := w.Puts()
	if w.Owned == nil && (joined && !put.Guarded() || put.Empty()) {
		return
	}
	dialect.SetAnnotation(o.m, dialect.OnNodeAnnotation, put.String())
}
